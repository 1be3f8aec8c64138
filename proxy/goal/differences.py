"""What happened to a goal, told from what it was before and what it is now."""

from __future__ import annotations

from .changes import Change, GoalRestored, GoalStarted, GoalStopped, Outcome, StatusChanged
from .snapshot import Goal
from .status import LIVE


def between(before: Goal | None, after: Goal | None, *, is_new: bool, restored: bool, ended: Outcome) -> list[Change]:
    """The changes from one state to the next; ``ended`` is the outcome of a goal that is gone."""
    changes: list[Change] = []
    if before is not None and before.status in LIVE and (after is None or is_new):
        changes.append(stopped(before, ended if after is None else "replaced"))
    if is_new:
        changes.append(GoalRestored() if restored else GoalStarted())
    old, new = before.status if before else None, after.status if after else None
    if after is not None and new in ("complete", "blocked", "limited") and not restored and (is_new or new != old):
        changes.append(stopped(after, new))
    if old != new:
        changes.append(StatusChanged(old, new))
    return changes


def stopped(goal: Goal, outcome: Outcome) -> GoalStopped:
    """A goal came to a stop, with what is known of it."""
    return GoalStopped(outcome, goal.created_at if goal.dated else None, goal.iterations, goal.tokens_used)
