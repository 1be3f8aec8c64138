"""What all adapters of Codex share: how they are recognised, their ``/goal`` command, their signs of a turn.

Owns the version borders of the family; which dialect a version speaks is in the mapper that is for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.proxy.goal.command import is_control_word
from goalproxy.proxy.goal.control import ACTIONS, Action
from goalproxy.proxy.goal.report import Unreadable, read_report

from .base import Agent, Call, GoalReported, Mapper, Prompt, Request, TurnMarked, View, at, has
from .versions import version

KIND = "codex"
NAME = "@agentclientprotocol/codex-acp"
ZED_NAMES = frozenset({"codex-acp", "@zed-industries/codex-acp"})

_ANSWERS_EVERY_PROMPT = (1, 13)
"""Adapters before this take a prompt during a turn of the goal's own into that turn, and never answer it."""
_EVENTS_FROM_THE_START = (2, 3, 0)
"""Adapters before this drop every goal event until the first prompt of the process."""


def is_codex(agent: Agent) -> bool:
    """Whether the agent is an adapter of the present line, of whatever version."""
    return agent.name == NAME


def within(agent: Agent, first: tuple[int, ...], below: tuple[int, ...]) -> bool:
    """Whether the agent is a Codex adapter with ``first <= version < below``."""
    return is_codex(agent) and first <= version(agent) < below


def loses_prompts(agent: Agent) -> bool:
    """Whether an adapter never answers a prompt that comes during a turn of the goal's own."""
    return is_codex(agent) and version(agent) < _ANSWERS_EVERY_PROMPT


def turn_marks(update: dict[str, Any]) -> Iterable[TurnMarked]:
    """Read ``_meta.codex.threadStatus``, which brackets every turn, autonomous ones too."""
    kind = at(update, "_meta", "codex", "threadStatus", "type")
    if isinstance(kind, str):
        yield TurnMarked(kind == "active")


def reported(holder: Any, *path: str) -> Iterable[GoalReported]:
    """Read a goal at a path, if there is one or an explicit null."""
    if not has(holder, *path):
        return
    try:
        yield GoalReported(read_report(at(holder, *path)))
    except Unreadable:
        return


class CodexMapper(Mapper):
    """The base of the Codex mappers: all four actions, by a control method where there is one, else by ``/goal``."""

    @property
    def actions(self) -> tuple[Action, ...]:
        return ACTIONS

    @property
    def objective_limit(self) -> int | None:
        return 4000

    @property
    def understands_command(self) -> bool | None:
        return True

    @property
    def loses_prompts(self) -> bool:
        return loses_prompts(self.agent)

    @property
    def command_stands_alone(self) -> bool:
        return True

    @property
    def control_method(self) -> str:
        """The control method of these versions; empty if there is none."""
        return ""

    @property
    def control_actions(self) -> tuple[Action, ...]:
        """The actions that the control method takes."""
        return ()

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        starts_work = action in ("set", "resume")
        unheard = starts_work and not view.prompted and version(self.agent) < _EVENTS_FROM_THE_START
        words_fail = action == "set" and is_control_word(objective)
        if action in self.control_actions and (words_fail or not unheard):
            params = {"sessionId": view.session_id, "action": action}
            return Request(self.control_method, {**params, "objective": objective} if action == "set" else params)
        if words_fail:
            return None
        return Prompt(f"/goal {objective if action == 'set' else action}")
