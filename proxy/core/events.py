"""What can happen, as the shell tells it to the engine.

``now`` is Unix time in milliseconds: the engine has no clock.
"""

from __future__ import annotations

from msgspec import Struct

from goalproxy.proxy.goal.owned import OwnedGoal
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


class GoalLoaded(Struct, frozen=True):
    """What the store has for a session that was opened again; ``armed`` says that the goal may go on by itself."""

    session_id: str
    goal: OwnedGoal | None
    armed: bool
    now: int


class CheckDone(Struct, frozen=True):
    """The operator's check has run; ``reason`` is the end of what it printed, or why it did not pass."""

    session_id: str
    passed: bool
    reason: str
    now: int
    milliseconds: int = 0


class ToolsListed(Struct, frozen=True):
    """The agent asks which tools of the proxy's there are; ``token`` names the session."""

    token: str
    now: int


class ToolCalled(Struct, frozen=True):
    """The model calls a tool of the proxy's. ``token`` names the session, ``call`` what waits for the answer."""

    token: str
    name: str
    arguments: object
    call: int
    now: int


class Drain(Struct, frozen=True):
    """The proxy is about to end: nothing of its own is to begin. ``at_once`` says that what runs has to stop, too."""

    at_once: bool
    now: int


class AgentGone(Struct, frozen=True):
    """The agent's output has ended; nothing will come from it any more."""

    now: int


Event = (
    FromClient
    | FromAgent
    | TimerFired
    | LogRead
    | GoalLoaded
    | CheckDone
    | ToolsListed
    | ToolCalled
    | Drain
    | AgentGone
)
"""A line that no peek could read, or that is none of the engine's concern, never becomes an event: it is relayed."""
