"""Goals of DSH: seen in the results of its model's own goal tools, and steered by nobody over ACP.

DSH says nothing of its goals on the wire but what its model's tools answer. Its rounds run outside any prompt and are
not marked; a model error leaves a goal active and without a driver, and nobody is told. So a silence of the agent is
told for what it is, and no control is offered: ACP has none that would be true.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from goalproxy.proxy.goal.report import Report, Unreadable, count, read_report

from .base import Agent, GoalReported, Mapper, Signal, View, at, has

_TOOLS = frozenset({"create_goal", "get_goal", "update_goal"})
_CALLS = "calls"
_DISARMED = "The goal is not armed: DSH goes on with it when the user asks its model to."
_SILENCE = 120_000


class Dsh(Mapper):
    """Reads the results of ``create_goal``, ``get_goal`` and ``update_goal``."""

    dialect = "DSH goal tools"
    versions = "DSH 0.1.5 and later"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        # Before 0.1.5 it told nothing of goals. All call themselves 0.0.1; the older ones offered none of these.
        tells = "mcpCapabilities" in agent.capabilities or "sessionCapabilities" in agent.capabilities
        if agent.name == "deepseek-harness-acp" and tells:
            return "DSH tells of goals in the results of its model's tools"
        return None

    @property
    def understands_command(self) -> bool | None:
        return False

    @property
    def no_control(self) -> str:
        return "DSH offers no control of goals over ACP; ask its model in a prompt."

    @property
    def update_kinds(self) -> frozenset[str]:
        # All of them: that the agent says anything is the only sign of its work.
        return frozenset(
            {"tool_call", "tool_call_update", "agent_message_chunk", "agent_thought_chunk", "usage_update"}
        )

    @property
    def silence(self) -> int | None:
        return _SILENCE

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        kind, ident = update.get("sessionUpdate"), update.get("toolCallId")
        calls: set[object] = view.memory.setdefault(_CALLS, set())
        if kind == "tool_call" and update.get("title") in _TOOLS and isinstance(ident, str):
            calls.add(ident)
        elif kind == "tool_call_update" and ident in calls and update.get("status") in ("completed", "failed"):
            calls.discard(ident)
            if update["status"] == "completed":
                yield from _result(update.get("content"))


def _result(content: Any) -> Iterable[GoalReported]:
    """Read the JSON text that a goal tool answers with."""
    text = at(content[0], "content", "text") if isinstance(content, list) and content else None
    try:
        result = json.loads(text) if isinstance(text, str) else None
        if has(result, "goal"):
            yield GoalReported(_report(at(result, "goal"), at(result, "activation")))
    except (ValueError, RecursionError, Unreadable):
        return


def _report(goal: Any, activation: Any) -> Report | None:
    """Read DSH's names; a goal that is active and not armed does no work, and is told as paused. Raises Unreadable."""
    if not isinstance(goal, dict):
        return read_report(goal)
    idle = goal.get("phase") == "active" and activation == "disarmed"
    report = read_report(
        {
            "objective": goal.get("objective"),
            "status": "paused" if idle else goal.get("phase"),
            "iterations": goal.get("roundsStarted"),
            "lastReason": _DISARMED if idle else at(goal, "blockedReason", "message"),
        }
    )
    ident, revision = goal.get("id"), count(goal.get("revision"))
    named = isinstance(ident, str) and report is not None
    return replace(report, reference=(ident, revision or 0)) if named and report is not None else report
