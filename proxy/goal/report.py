"""What an agent says about a goal, read from whatever shape it uses, and repaired."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from .status import Status, means_budget, means_gone, read_status

_FIRST_MILLISECOND = 10**12
"""Unix times below this are seconds: in milliseconds they would lie before 2001-09-09."""
_REASON_LENGTH = 500
_TOO_LARGE = 2**63
"""Numbers from which on nothing was counted: who adds them up, or stores them, may not be able to."""


class Unreadable(ValueError):
    """The value is no goal and no ``null``; it says nothing."""


class Report(Struct, frozen=True):
    """One statement of an agent about its goal.

    Times are Unix milliseconds. None means that the agent did not say it; a ``token_budget`` of None that it said that
    there is none. ``status_known`` is False when the agent's word was not understood (``status`` is then ``paused``).
    """

    objective: str
    status: Status
    status_known: bool = True
    budget_spent: bool = False
    created_at: int | None = None
    updated_at: int | None = None
    iterations: int | None = None
    last_reason: str | None = None
    token_budget: int | UnsetType | None = UNSET
    tokens_used: int | None = None
    time_used_seconds: int | None = None
    reference: tuple[str, int] | None = None
    """The agent's own id and revision of the goal, where its controls ask for them."""


def read_report(value: Any) -> Report | None:
    """Read a goal object in any dialect that shares the neutral field names; None means that there is no goal.

    Raises Unreadable for anything else.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unreadable("a goal is an object or null")
    word, objective = value.get("status"), value.get("objective")
    if means_gone(word):
        return None
    if not isinstance(objective, str) or not objective.strip():
        raise Unreadable("a goal has an objective")
    status = read_status(word)
    budget = value.get("tokenBudget", UNSET)
    used = count(value.get("tokensUsed"))
    return Report(
        objective=objective,
        status=status or "paused",
        status_known=status is not None,
        budget_spent=means_budget(word) or (status == "limited" and _is_spent(used, budget)),
        created_at=_milliseconds(value.get("createdAt")),
        updated_at=_milliseconds(value.get("updatedAt")),
        iterations=count(value.get("iterations")),
        last_reason=one_line(value.get("lastReason")),
        token_budget=None if budget is None else count(budget) or UNSET,
        tokens_used=used,
        time_used_seconds=count(value.get("timeUsedSeconds")),
    )


def one_line(text: Any) -> str | None:
    """A reason as one bounded line; None for anything that is no text."""
    if not isinstance(text, str) or not text.strip():
        return None
    return " ".join(text.split())[:_REASON_LENGTH]


def _is_spent(used: int | None, budget: Any) -> bool:
    return used is not None and bool(count(budget)) and used >= (count(budget) or 0)


def count(value: Any) -> int | None:
    """Read a non-negative integer that is not absurdly large; None for anything else.

    A float that is whole counts, true does not.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOO_LARGE else None


def _milliseconds(value: Any) -> int | None:
    if isinstance(value, float) and value >= 0 and value != float("inf"):
        value = int(value if value >= _FIRST_MILLISECOND else value * 1000)
    time = count(value)
    if not time:
        return None
    return time if time >= _FIRST_MILLISECOND else time * 1000
