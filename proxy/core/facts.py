"""What the proxy found out, for metrics and logs. No fact carries text of a prompt, an objective or a session id."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from goalproxy.proxy.goal.changes import Change

Owner = Literal["native", "emulated"]
ControlResult = Literal["ok", "invalid", "refused", "late_error"]


class AgentIdentified(Struct, frozen=True):
    """The agent answered ``initialize``.

    ``dialect`` is the chosen mapper's, ``why`` the reason for the choice, as a clause.
    """

    name: str
    version: str
    protocol: int
    dialect: str
    why: str


class GoalChanged(Struct, frozen=True):
    """Something happened to the goal of a session, at a time in Unix milliseconds."""

    owner: Owner
    change: Change
    at: int


class SessionsOpen(Struct, frozen=True):
    """How many sessions the client has open, where that has changed."""

    number: int


class GoalsStand(Struct, frozen=True):
    """How the active goals of all sessions are, where that has changed; None where no goal tells.

    ``most_rounds`` and ``budget_used`` (0 to 1) are the largest of them. ``idle_since`` is the time, in Unix
    milliseconds, since when nothing is known to work for the one that has waited longest.
    """

    most_rounds: int | None = None
    budget_used: float | None = None
    idle_since: int | None = None


class ControlAnswered(Struct, frozen=True):
    """A control request of the client came to a result. ``action`` is ``unknown`` for a word that is none."""

    action: str
    result: ControlResult


class CommandSeen(Struct, frozen=True):
    """A ``/goal`` command of the client, and whether the agent or the proxy answers it."""

    word: str
    answered_by: Literal["agent", "proxy"]


class RoundEnded(Struct, frozen=True):
    """A round of a goal that the proxy owns is over. ``outcome`` is a stop reason, ``error`` or ``other``.

    ``open_calls`` is how many tool calls of it had not ended.
    """

    outcome: str
    milliseconds: int
    open_calls: int = 0


class RoundSpoke(Struct, frozen=True):
    """The agent's first message or tool call in a round of a goal that the proxy owns, so long after its start."""

    milliseconds: int


class RoundTokens(Struct, frozen=True):
    """The tokens of a round of a goal that the proxy owns, by kind as the agent tells them; kinds can overlap."""

    kinds: dict[str, int]


class BackedOff(Struct, frozen=True):
    """The round of a goal that the proxy owns that begins has waited longer than the least interval, by so much."""

    milliseconds: int


class OwnedGoalStopped(Struct, frozen=True):
    """A goal that the proxy owns is active no more; ``code`` says why, or is the status if there is no more to say."""

    code: str


class ToolAnswered(Struct, frozen=True):
    """A tool call of the model's was answered; ``result`` is ``ok`` or the code of the refusal."""

    tool: str
    result: str


class CheckRan(Struct, frozen=True):
    """The operator's check has run, and took so long."""

    passed: bool
    milliseconds: int


class NotRewritten(Struct, frozen=True):
    """A message that should have been changed has a shape that cannot be; it was relayed as it is."""

    method: str


class AgentEnded(Struct, frozen=True):
    """Nothing will come from the agent any more."""


class AgentExited(Struct, frozen=True):
    """The agent's process is over; see the catalogue of metrics for the outcomes."""

    outcome: Literal["ended", "stopped", "failed", "killed"]


OwnedFact = RoundEnded | RoundSpoke | RoundTokens | BackedOff | OwnedGoalStopped | ToolAnswered | CheckRan
"""What is told of goals that the proxy owns, beside ``GoalChanged``."""

AgentFact = AgentIdentified | AgentEnded | AgentExited

Fact = GoalChanged | GoalsStand | SessionsOpen | ControlAnswered | CommandSeen | NotRewritten | OwnedFact | AgentFact
