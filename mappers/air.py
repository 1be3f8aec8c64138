"""Goals under ``_meta.jetbrains.air.goal``: adapters that publish goals to one vendor's editor only.

So that they publish at all, the proxy declares that editor's capability towards agents whose command line (or
``--agent-kind``) names Codex, and takes out again what it brings for a client that did not declare it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.proxy.goal.control import Action

from .base import Agent, Signal, View, at
from .codex import CodexMapper, is_codex, reported, turn_marks
from .versions import numbers, version

_FIRST = (2,)


def declared_to(text: str | None) -> bool:
    """Whether AIR has to be declared to a Codex of a version; None, not known, is taken for the newest.

    Adapters of version 1 publish to everybody, and AIR makes some of them leave out what other clients need.
    """
    return text is None or numbers(text) >= _FIRST


class Air(CodexMapper):
    """Maps ``_meta.jetbrains.air.goal`` of Codex adapters; their control method serves every client."""

    dialect = "AIR"
    versions = "codex-acp 2.0.0 and later"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if is_codex(agent) and version(agent) >= _FIRST:
            return f"codex-acp {agent.version} publishes goals to AIR clients only"
        return None

    @property
    def control_method(self) -> str:
        method = at(self.agent.meta, "jetbrains", "air", "goal", "controlMethod")
        return method if isinstance(method, str) else "_session/goal"

    @property
    def control_actions(self) -> tuple[Action, ...]:
        return self.actions

    @property
    def hides_air(self) -> bool:
        return True

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        yield from reported(update, "_meta", "jetbrains", "air", "goal")
        yield from turn_marks(update)
