"""A goal that the proxy keeps itself, for an agent that keeps none.

Durable state only: whether the proxy may act on a goal (whether it is *armed*) belongs to the process, is never stored,
and is the driver's to know. Every change raises the revision and is a record of the complete state after it.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from .status import Status

Operation = Literal["edit", "pause", "resume", "complete", "block", "limit", "clear"]

TRANSITIONS: Final[dict[tuple[Status, Operation], Status | None]] = {
    ("active", "edit"): "active",
    ("active", "pause"): "paused",
    ("active", "resume"): "active",
    ("active", "complete"): "complete",
    ("active", "block"): "blocked",
    ("active", "limit"): "limited",
    ("active", "clear"): None,
    ("paused", "edit"): "paused",
    ("paused", "pause"): "paused",
    ("paused", "resume"): "active",
    ("paused", "complete"): "complete",
    ("paused", "clear"): None,
    ("blocked", "edit"): "blocked",
    ("blocked", "pause"): "paused",
    ("blocked", "resume"): "active",
    ("blocked", "complete"): "complete",
    ("blocked", "clear"): None,
    ("limited", "edit"): "limited",
    ("limited", "pause"): "paused",
    ("limited", "resume"): "active",
    ("limited", "complete"): "complete",
    ("limited", "clear"): None,
    ("complete", "clear"): None,
}
"""From which status which operation leads where; None is no goal. What is not here is refused. ``set`` always works: it
makes another goal."""


def transitions_page() -> str:
    """The table of transitions as a page of the docs."""
    statuses = list(dict.fromkeys(status for status, _ in TRANSITIONS))
    operations = list(dict.fromkeys(operation for _, operation in TRANSITIONS))
    lines = [
        "# Transitions",
        "",
        "Written by `make docs` from `proxy/goal/owned.py`. What an operation makes of a goal that goalproxy keeps.",
        "A row is a status. A dash is refused; `set` always works, and makes another goal.",
        "",
        f"| status | {' | '.join(operations)} |",
        f"|---|{'---|' * len(operations)}",
    ]
    for status in statuses:
        cells = [TRANSITIONS.get((status, operation), "-") or "no goal" for operation in operations]
        lines.append(f"| {status} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


class Refused(ValueError):
    """An operation that cannot be; ``code`` is one of a fixed list, the text a sentence. Nothing has changed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _reason(before: str | None, given: str | None, operation: Operation) -> str | None:
    """Why a goal is as it is after an operation: what went wrong before is no reason for being complete."""
    if operation == "edit" or (given is None and operation != "complete"):
        return before
    return given


class OwnedGoal(Struct, frozen=True):
    """The complete durable state of a goal.

    ``rounds`` counts those that really started, over the goal's life. ``tokens`` are those that its rounds used, as
    the agent reported them, None if it never did. ``active_ms`` is the time in status active, up to ``updated_at``.
    ``code`` says for programs why a goal is not active, ``reason`` for people. Times are Unix milliseconds.
    """

    id: str
    revision: int
    objective: str
    status: Status
    created_at: int
    updated_at: int
    max_rounds: int
    rounds: int = 0
    tokens: int | None = None
    token_budget: int | None = None
    time_budget: int | None = None
    active_ms: int = 0
    code: str | None = None
    reason: str | None = None

    def moved(
        self, operation: Operation, now: int, *, code: str | None = None, reason: str | None = None
    ) -> OwnedGoal | None:
        """The goal after an operation; None if it is gone. Raises Refused."""
        self.check(operation)
        status = TRANSITIONS[self.status, operation]
        if status is None:
            return None
        kept = operation == "edit"
        return self._changed(
            now,
            status=status,
            code=self.code if kept else code,
            reason=_reason(self.reason, reason, operation),
        )

    def check(self, operation: Operation) -> None:
        """Raise Refused for an operation that cannot be."""
        if (self.status, operation) not in TRANSITIONS:
            raise Refused("invalid-transition", f"A goal that is {self.status} cannot be changed by {operation}.")

    def edited(self, now: int, objective: str | None, max_rounds: int | None) -> OwnedGoal:
        """The goal with another objective or another number of rounds; its counters stay."""
        goal = self.moved("edit", now)
        assert goal is not None  # noqa: S101 - no edit makes a goal vanish
        return replace(goal, objective=objective or self.objective, max_rounds=max_rounds or self.max_rounds)

    def raised(self, now: int, *, token_budget: int | None, time_budget: int | None, max_rounds: int) -> OwnedGoal:
        """The goal with other limits; what it has used stays."""
        return self._changed(now, token_budget=token_budget, time_budget=time_budget, max_rounds=max_rounds)

    def reopened(self, now: int) -> OwnedGoal:
        """The goal after a time in which nobody kept it: that time was not spent on it."""
        return replace(self, revision=self.revision + 1, updated_at=max(now, self.updated_at))

    def started_round(self, now: int) -> OwnedGoal:
        """The goal after a round of it has started."""
        return self._changed(now, rounds=self.rounds + 1)

    def used(self, now: int, tokens: int | None, reason: str | None) -> OwnedGoal:
        """The goal after a round, with what it used (None: the agent does not say) and why it goes on."""
        total = self.tokens if tokens is None else (self.tokens or 0) + tokens
        return self._changed(now, tokens=total, reason=reason if reason is not None else self.reason)

    def active_seconds(self, now: int) -> int:
        """Whole seconds in status active, up to now."""
        running = max(0, now - self.updated_at) if self.status == "active" else 0
        return (self.active_ms + running) // 1000

    def exceeded(self, now: int) -> tuple[str, str] | None:
        """The code and the sentence of a limit that is reached, if one is."""
        if self.rounds >= self.max_rounds:
            return "round-limit", f"The goal has reached its limit of {self.max_rounds} rounds."
        if self.token_budget is not None and (self.tokens or 0) >= self.token_budget:
            return "token-budget", f"The goal has used its budget of {self.token_budget} tokens."
        if self.time_budget is not None and self.active_seconds(now) >= self.time_budget:
            return "time-budget", f"The goal has used its budget of {self.time_budget} seconds."
        return None

    def _changed(self, now: int, **fields: object) -> OwnedGoal:
        """The next revision. Running time is folded at every change, so that it is never lost and never falls."""
        now = max(now, self.updated_at)
        running = now - self.updated_at if self.status == "active" else 0
        return replace(self, revision=self.revision + 1, updated_at=now, active_ms=self.active_ms + running, **fields)
