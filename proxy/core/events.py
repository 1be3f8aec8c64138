"""What can happen, as the shell tells it to the engine.

``now`` is Unix time in milliseconds: the engine has no clock.
"""

from __future__ import annotations

from msgspec import Struct

from goalproxy.proxy.wire.envelope import Envelope


class FromClient(Struct, frozen=True):
    """A line came from the client, with its newline if it had one."""

    line: bytes
    envelope: Envelope
    now: int


class FromAgent(Struct, frozen=True):
    """A line came from the agent, with its newline if it had one."""

    line: bytes
    envelope: Envelope
    now: int


class TimerFired(Struct, frozen=True):
    """A timer that the engine set has run out."""

    key: str
    now: int


class LogRead(Struct, frozen=True):
    """The agent's log of a session was read.

    ``lines`` are the new ones that the mapper's mark is in, ``found`` whether there is such a log at all, ``history``
    whether this is the first look, from the log's beginning.
    """

    session_id: str
    lines: list[bytes]
    found: bool
    history: bool
    now: int


class AgentGone(Struct, frozen=True):
    """The agent's output has ended; nothing will come from it any more."""

    now: int


Event = FromClient | FromAgent | TimerFired | LogRead | AgentGone
"""A line that no peek could read, or that is none of the engine's concern, never becomes an event: it is relayed."""
