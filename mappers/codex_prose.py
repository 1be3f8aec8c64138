"""Goals as prose: Codex adapters that told of goals only in text, whole chunks of which are exact.

Only the model can make a goal there: there is no command and no control method, so goals are seen and not steered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from goalproxy.proxy.goal.report import read_report

from .base import Agent, GoalReported, Mapper, Signal, View, at
from .codex import ZED_NAMES, loses_prompts, turn_marks, within

_UPDATED = re.compile(
    r"Goal updated \((active|paused|blocked|usage limited|budget limited|complete)\):[ \n](.+)", re.DOTALL
)
_CLEARED = "Goal cleared."


class CodexProse(Mapper):
    """Reads ``Goal updated (active): X`` and ``Goal cleared.`` where these are a chunk's whole text."""

    dialect = "Codex prose"
    versions = "codex-acp 1.0.0 to 1.0.1, Zed's codex-acp"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if agent.name in ZED_NAMES:
            return "Zed's codex-acp tells of goals in text only"
        if within(agent, (1,), (1, 0, 2)):
            return f"codex-acp {agent.version} tells of goals in text only"
        return None

    @property
    def understands_command(self) -> bool | None:
        return False

    @property
    def loses_prompts(self) -> bool:
        return loses_prompts(self.agent)

    @property
    def update_kinds(self) -> frozenset[str]:
        return frozenset({"agent_message_chunk"})

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        yield from turn_marks(update)
        text = at(update, "content", "text")
        if update.get("sessionUpdate") != "agent_message_chunk" or not isinstance(text, str) or "messageId" in update:
            return
        match = _UPDATED.fullmatch(text)
        if match:
            yield GoalReported(read_report({"status": match[1], "objective": match[2]}))
        elif text == _CLEARED:
            yield GoalReported(None)
