"""The goal as every client sees it."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from goalproxy.proxy.wire.extension import CONTROL_METHOD

from .status import Status


class Goal(Struct, frozen=True):
    """The published state of a goal; identity is the session and ``created_at`` (Unix milliseconds).

    None, and UNSET for the budget, mean "not known", and are left out on the wire. Two fields are not published:
    ``budget_spent``, since a goal that its own budget stopped cannot be resumed where the budget cannot be raised, and
    ``dated``, which is False where ``created_at`` is only when the goal was first heard of.
    """

    objective: str
    status: Status
    created_at: int
    iterations: int | None = None
    last_reason: str | None = None
    token_budget: int | UnsetType | None = UNSET
    tokens_used: int | None = None
    time_used_seconds: int | None = None
    budget_spent: bool = False
    dated: bool = True


def to_wire(goal: Goal, updated_at: int) -> dict[str, Any]:
    """The value of ``session_info_update._meta.goal``; ``updated_at`` is in Unix milliseconds."""
    optional = {
        "iterations": goal.iterations,
        "lastReason": goal.last_reason,
        "tokensUsed": goal.tokens_used,
        "timeUsedSeconds": goal.time_used_seconds,
    }
    return {
        "objective": goal.objective,
        "status": goal.status,
        "createdAt": goal.created_at,
        "updatedAt": updated_at,
        "controlMethod": CONTROL_METHOD,
        **({} if goal.token_budget is UNSET else {"tokenBudget": goal.token_budget}),
        **{key: value for key, value in optional.items() if value is not None},
    }


def describe(goal: Goal | None) -> str:
    """A short report for a person who typed ``/goal``."""
    if goal is None:
        return "No goal is set. Set one with: /goal <objective>"
    lines = [f"Goal ({goal.status}): {goal.objective}"]
    if goal.iterations is not None:
        lines.append(f"Rounds seen: {goal.iterations}")
    if goal.tokens_used is not None:
        budget = f" of {goal.token_budget}" if isinstance(goal.token_budget, int) else ""
        lines.append(f"Tokens last reported: {goal.tokens_used}{budget}")
    if goal.time_used_seconds is not None:
        lines.append(f"Working time last reported: {goal.time_used_seconds} s")
    if goal.last_reason:
        lines.append(f"Last reason: {goal.last_reason}")
    lines.append("Control it with: /goal pause, /goal resume, /goal clear")
    return "\n".join(lines)
