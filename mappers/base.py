"""What a mapper is: the dialect in which one family of agents speaks about goals.

A mapper is pure. It reads goals and turns out of updates, and says what to send for a control. It never keeps the state
of a session, and never sees a message that is not its agent's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

from goalproxy.proxy.goal.control import Action
from goalproxy.proxy.goal.report import Report


class Agent(Struct, frozen=True):
    """All that is known of an agent when its mapper is chosen, after its ``initialize`` result.

    ``name`` and ``version`` come from ``agentInfo`` (version 2: ``info``), empty if it does not say. ``meta`` is the
    ``_meta`` of the result.
    """

    name: str
    version: str
    meta: dict[str, Any]

    @classmethod
    def of(cls, result: dict[str, Any]) -> Agent:
        """Read the result of ``initialize``; what has the wrong type counts as absent."""
        info, meta = result.get("agentInfo") or result.get("info"), result.get("_meta")
        name, version = at(info, "name"), at(info, "version")
        return cls(
            name if isinstance(name, str) else "",
            version if isinstance(version, str) else "",
            meta if isinstance(meta, dict) else {},
        )


class GoalReported(Struct, frozen=True):
    """The agent said what its goal is; None says that there is none."""

    report: Report | None


class TurnMarked(Struct, frozen=True):
    """The agent said that it began or stopped to work."""

    running: bool


Signal = GoalReported | TurnMarked


class Request(Struct, frozen=True):
    """A control goes to the agent as a request."""

    method: str
    params: dict[str, Any]


class Prompt(Struct, frozen=True):
    """A control goes to the agent as a prompt, since it knows no other way."""

    text: str


Call = Request | Prompt


class Mapper:
    """The base of every mapper, and the behaviour of an agent without goals.

    Class attributes state what the dialect is; instances belong to one agent.
    """

    dialect: ClassVar[str] = ""
    """The dialect's name, for people."""
    versions: ClassVar[str] = ""
    """The agents and versions that it is for, for people."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        """Why this mapper is the one for an agent, as a clause for people; None if it is not."""
        raise NotImplementedError

    @property
    def keeps_goals(self) -> bool:
        """Whether the agent keeps goals of its own that the proxy can see."""
        return True

    @property
    def actions(self) -> tuple[Action, ...]:
        """The controls that work for this agent through this proxy."""
        return ()

    @property
    def objective_limit(self) -> int | None:
        """The number of characters that the agent takes in an objective; None if it names no limit."""
        return None

    @property
    def understands_command(self) -> bool | None:
        """Whether the agent itself understands ``/goal``; None if its list of commands tells."""
        return None

    @property
    def command_stands_alone(self) -> bool:
        """Whether the agent finds ``/goal`` in the first block only, and drops the blocks beside it."""
        return False

    @property
    def reads_messages(self) -> bool:
        """Whether goals are read out of the agent's text, so that every chunk of it has to be looked at."""
        return False

    @property
    def hides_air(self) -> bool:
        """Whether ``_meta.jetbrains`` reaches the client only because the proxy asked for it."""
        return False

    @property
    def replaced_keys(self) -> tuple[str, ...]:
        """The path in an update at which the agent's goal stands where the neutral one will stand."""
        return ()

    def read(self, update: dict[str, Any]) -> Iterable[Signal]:
        """What an update says about goals and turns, in order. Never raises."""
        return ()

    def call(self, action: Action, session_id: str, objective: str, *, prompted: bool) -> Call | None:
        """What to send for a control that is among ``actions``.

        ``prompted`` says whether the session had a prompt since the agent started. None if the objective cannot be said
        in this dialect.
        """
        return None


def at(value: Any, *path: str) -> Any:
    """The value at a path of keys, or None where something on the way is absent or no object."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def has(value: Any, *path: str) -> bool:
    """Whether the last key of a path is there, whatever its value, null too."""
    holder = at(value, *path[:-1])
    return isinstance(holder, dict) and path[-1] in holder
