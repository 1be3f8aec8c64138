"""Goals under ``_meta.codex.goal``: Codex adapters before the neutral extension.

Statuses are Codex's own, times are seconds. The update is left as it is, since clients of that time read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.proxy.goal.control import Action

from .base import Agent, Signal, View
from .codex import CodexMapper, reported, turn_marks, within
from .versions import version

_FIRST_WITH_CONTROL = (1, 1, 4)


class CodexMeta(CodexMapper):
    """Maps ``_meta.codex.goal``; pauses and clears by the old control method where there is one."""

    dialect = "Codex _meta.codex.goal"
    versions = "codex-acp 1.0.2 to 1.1.9"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if within(agent, (1, 0, 2), (1, 1, 10)):
            return f"codex-acp {agent.version} publishes goals under _meta.codex.goal"
        return None

    @property
    def control_method(self) -> str:
        return "_codex/session/goal_control"

    @property
    def control_actions(self) -> tuple[Action, ...]:
        return ("pause", "clear") if version(self.agent) >= _FIRST_WITH_CONTROL else ()

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        yield from reported(update, "_meta", "codex", "goal")
        yield from turn_marks(update)
