"""What can happen to a goal, as facts for whoever counts."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .status import Status

Outcome = Literal["complete", "blocked", "limited", "cleared", "replaced", "ended_unknown"]


class GoalStarted(Struct, frozen=True):
    """A goal that did not exist before."""


class GoalRestored(Struct, frozen=True):
    """A goal that already existed when the proxy first heard of it."""


class GoalStopped(Struct, frozen=True):
    """A goal came to a stop. One that is resumed later can stop again.

    ``created_at`` (Unix milliseconds), ``rounds`` and ``tokens`` are the goal's, None where they are not known; a round
    in which it stopped tells its tokens at its end only, by a GoalSpent.
    """

    outcome: Outcome
    created_at: int | None = None
    rounds: int | None = None
    tokens: int | None = None


class GoalSpent(Struct, frozen=True):
    """The tokens of a goal that had come to a stop in a round, now that the round is over."""

    outcome: Outcome
    tokens: int


class StatusChanged(Struct, frozen=True):
    """The status of a session's goal; None for no goal."""

    before: Status | None
    after: Status | None


class RoundStarted(Struct, frozen=True):
    """The agent began a stretch of work for the goal."""


class TokensUsed(Struct, frozen=True):
    """Tokens that the agent says it used for the goal since its last word."""

    tokens: int


class TimeUsed(Struct, frozen=True):
    """Seconds that the agent says it worked for the goal since its last word."""

    seconds: int


class CostUsed(Struct, frozen=True):
    """What the agent says that work for the goal has cost since its last word, in a currency (ISO 4217)."""

    amount: float
    currency: str


class LateReport(Struct, frozen=True):
    """A report about a goal that has been replaced, or from before a command; it was ignored."""


class UnknownStatus(Struct, frozen=True):
    """A status word that nobody knows; the goal was published as paused."""


Change = (
    GoalStarted
    | GoalRestored
    | GoalStopped
    | GoalSpent
    | StatusChanged
    | RoundStarted
    | TokensUsed
    | TimeUsed
    | CostUsed
    | LateReport
    | UnknownStatus
)
