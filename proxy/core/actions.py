"""What the engine wants done, in order.

Exactly one of Relay, Rewrite and Swallow answers a line that came in; the others may stand before and after it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from goalproxy.proxy.goal.owned import OwnedGoal

from .facts import Fact


class Relay(Struct, frozen=True):
    """Forward the line that came in, as the same bytes."""


class Rewrite(Struct, frozen=True):
    """Forward this line in place of the one that came in."""

    line: bytes


class Swallow(Struct, frozen=True):
    """Forward nothing for the line that came in."""


class ToClient(Struct, frozen=True):
    """Inject a line of the proxy's own towards the client."""

    line: bytes


class ToAgent(Struct, frozen=True):
    """Inject a line of the proxy's own towards the agent."""

    line: bytes


class SetTimer(Struct, frozen=True):
    """Send a TimerFired with this key after so many milliseconds."""

    key: str
    after: int


class FollowLog(Struct, frozen=True):
    """Follow the agent's log of a session: send a LogRead for new lines that ``mark`` is in.

    ``history`` asks for the lines that are there already, too; otherwise following begins at the log's present end.
    """

    session_id: str
    mark: bytes
    history: bool


class ReadLog(Struct, frozen=True):
    """Look at a followed log now, and send a LogRead even if there is nothing new."""

    session_id: str


class LeaveLog(Struct, frozen=True):
    """Do not look at the log any more, until it is to be followed again; what comes meanwhile is read then.

    With ``forget`` the session is over, and nothing of its log has to be remembered.
    """

    session_id: str
    forget: bool = False


class StoreGoal(Struct, frozen=True):
    """Store what became of a session's goal; None: it is gone. It is stored before anything after this is done."""

    session_id: str
    goal: OwnedGoal | None


class LoadGoal(Struct, frozen=True):
    """Look a session's goal up in the store, and send a GoalLoaded, with ``armed`` as it is here."""

    session_id: str
    armed: bool


class RunCheck(Struct, frozen=True):
    """Run the operator's check in a directory, and send a CheckDone."""

    session_id: str
    directory: str


class AnswerTool(Struct, frozen=True):
    """Answer a tool call of the model's."""

    call: int
    body: dict[str, Any]
    failed: bool


class Drained(Struct, frozen=True):
    """No round and no check runs any more, and none will: the proxy may end without cutting off any work of its own."""


class Record(Struct, frozen=True):
    """Tell the observers a fact."""

    fact: Fact


Action = (
    Relay
    | Rewrite
    | Swallow
    | ToClient
    | ToAgent
    | SetTimer
    | FollowLog
    | ReadLog
    | LeaveLog
    | StoreGoal
    | LoadGoal
    | RunCheck
    | AnswerTool
    | Drained
    | Record
)
