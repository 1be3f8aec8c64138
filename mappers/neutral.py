"""Goals in the neutral extension, as the agent itself advertises it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.proxy.goal.control import ACTIONS, Action

from .base import Agent, Call, Mapper, Request, Signal, View, at
from .codex import CodexMapper, is_codex, reported, turn_marks


def advertised_actions(agent: Agent) -> tuple[Action, ...]:
    """The actions in ``_meta.goal``, in the order of the extension; words that are none are left out."""
    listed = at(agent.meta, "goal", "actions")
    return tuple(action for action in ACTIONS if isinstance(listed, list) and action in listed)


def advertised_method(agent: Agent) -> str:
    """The control method in ``_meta.goal``; empty if it names none."""
    method = at(agent.meta, "goal", "controlMethod")
    return method if isinstance(method, str) else ""


class CodexNeutral(CodexMapper):
    """Codex adapters that publish ``_meta.goal`` to everybody; the first of them had no ``set``."""

    dialect = "neutral, by Codex"
    versions = "codex-acp 1.1.10 to 1.x"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if is_codex(agent) and advertised_method(agent):
            return f"codex-acp {agent.version} advertises _meta.goal"
        return None

    @property
    def control_method(self) -> str:
        return advertised_method(self.agent)

    @property
    def control_actions(self) -> tuple[Action, ...]:
        return advertised_actions(self.agent)

    @property
    def replaced_keys(self) -> tuple[str, ...]:
        return ("_meta", "goal")

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        yield from reported(update, "_meta", "goal")
        yield from turn_marks(update)


class Neutral(Mapper):
    """Any other agent that advertises ``_meta.goal``: what it lists works, and nothing else is assumed."""

    dialect = "neutral"
    versions = "any agent that advertises _meta.goal"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        return "the agent advertises _meta.goal" if advertised_method(agent) else None

    @property
    def actions(self) -> tuple[Action, ...]:
        return advertised_actions(self.agent)

    @property
    def replaced_keys(self) -> tuple[str, ...]:
        return ("_meta", "goal")

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        return reported(update, "_meta", "goal")

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        params = {"sessionId": view.session_id, "action": action}
        params = {**params, "objective": objective} if action == "set" else params
        return Request(advertised_method(self.agent), params)
