"""What the client of one session was told of its goal, and when."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from .snapshot import Goal, to_wire


class Publisher:
    """Makes each snapshot once, with times that strictly rise, though the clock may not.

    ``last_time`` is the last time that was published for the session, in Unix milliseconds.
    """

    def __init__(self, last_time: int = 0) -> None:
        self.last_time = last_time
        self._published: Goal | UnsetType | None = UNSET

    def next_time(self, now: int) -> int:
        """A time that nothing published for the session has."""
        return max(now, self.last_time + 1)

    def publication(self, goal: Goal | None, time: int) -> dict[str, Any] | UnsetType | None:
        """The snapshot to publish, None for "no goal", UNSET if the client has been told already.

        ``time`` is when the goal became what it is; it is moved where that is needed.
        """
        if goal == self._published:
            return UNSET
        self._published = goal
        self.last_time = max(self.next_time(time), 0 if goal is None else goal.created_at)
        return None if goal is None else to_wire(goal, self.last_time)

    def forget(self) -> None:
        """Whatever the client was told, it has lost: publish again."""
        self._published = UNSET
