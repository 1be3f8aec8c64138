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


class Record(Struct, frozen=True):
    """Tell the observers a fact."""

    fact: Fact


Action = Relay | Rewrite | Swallow | ToClient | ToAgent | SetTimer | Record
