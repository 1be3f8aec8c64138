"""What the engine wants done, in order.

Exactly one of Relay, Rewrite and Swallow answers a line that came in; the others may stand before and after it.
"""

from __future__ import annotations

from msgspec import Struct

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
    """Do not look at the log any more, until it is to be followed again; what comes meanwhile is read then."""

    session_id: str


class Record(Struct, frozen=True):
    """Tell the observers a fact."""

    fact: Fact


Action = Relay | Rewrite | Swallow | ToClient | ToAgent | SetTimer | FollowLog | ReadLog | LeaveLog | Record
