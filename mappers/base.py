"""What a mapper is: the dialect in which one family of agents speaks about goals.

A mapper is pure. It reads goals and turns out of updates, and says what to send for a control. It never keeps the state
of a session, and never sees a message that is not its agent's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from goalproxy.proxy.goal.command import Command
from goalproxy.proxy.goal.control import Action
from goalproxy.proxy.goal.report import Report


class Agent(Struct, frozen=True):
    """All that is known of an agent when its mapper is chosen, after its ``initialize`` result.

    ``name`` and ``version`` come from ``agentInfo`` (version 2: ``info``), empty if it does not say. ``meta`` is the
    ``_meta`` of the result, ``protocol`` the version of ACP that is spoken from then on. ``capabilities`` is
    ``agentCapabilities`` (version 2: ``capabilities``).
    """

    name: str
    version: str
    meta: dict[str, Any]
    protocol: int = 1
    capabilities: dict[str, Any] = {}

    @classmethod
    def of(cls, result: dict[str, Any]) -> Agent:
        """Read the result of ``initialize``; what has the wrong type counts as absent."""
        info, meta = result.get("agentInfo") or result.get("info"), result.get("_meta")
        name, version, protocol = at(info, "name"), at(info, "version"), result.get("protocolVersion")
        capabilities = result.get("agentCapabilities") or result.get("capabilities")
        return cls(
            name if isinstance(name, str) else "",
            version if isinstance(version, str) else "",
            meta if isinstance(meta, dict) else {},
            protocol if isinstance(protocol, int) else 1,
            capabilities if isinstance(capabilities, dict) else {},
        )


class View(Struct):
    """What a mapper may know of a session when it reads or writes for it.

    ``report`` is the agent's last word about the goal, ``log_found`` says whether its log of the session was found.
    ``objective`` is that of the goal as it is shown.
    ``memory`` is the mapper's own, to read and to write: what one message says and a later one needs.
    """

    session_id: str
    prompted: bool = False
    busy: bool = False
    report: Report | None = None
    log_found: bool = False
    objective: str = ""
    memory: dict[str, Any] = field(default_factory=dict)


class GoalReported(Struct, frozen=True):
    """The agent said what its goal is; None says that there is none.

    ``ended`` says how a goal that is gone has ended: some agents say no more than that it is gone.
    """

    report: Report | None
    ended: Literal["cleared", "ended_unknown"] = "cleared"


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
    def loses_prompts(self) -> bool:
        """Whether a prompt during work that no prompt asked for is never answered: the work has to end first."""
        return False

    @property
    def own_words(self) -> frozenset[str]:
        """The words after ``/goal`` that the agent itself understands; ``set`` stands for an objective."""
        return frozenset({"set", "pause", "resume", "clear"})

    @property
    def no_control(self) -> str:
        """A sentence for people on why actions are missing; empty if there is nothing to say."""
        return ""

    @property
    def update_kinds(self) -> frozenset[str]:
        """The kinds of updates that have to be read, besides those that every agent's are read for."""
        return frozenset()

    @property
    def notifications(self) -> frozenset[str]:
        """The notifications of the agent's own that have to be read."""
        return frozenset()

    @property
    def mark(self) -> bytes | None:
        """Text that every other message that has to be read contains; such agents write their keys unescaped."""
        return None

    @property
    def log_mark(self) -> bytes | None:
        """Text that every line about goals in the agent's log of a session contains; None if it keeps no log."""
        return None

    @property
    def silence(self) -> int | None:
        """Milliseconds without a sign of work after which an active goal may have stopped unsaid; None if never."""
        return None

    @property
    def hides_air(self) -> bool:
        """Whether ``_meta.jetbrains`` reaches the client only because the proxy asked for it."""
        return False

    @property
    def replaces_air(self) -> bool:
        """Whether the agent's goal for AIR clients is replaced, too."""
        return False

    @property
    def replaced_keys(self) -> tuple[str, ...]:
        """The path in an update at which the agent's goal stands where the neutral one will stand."""
        return ()

    def understand(self, command: Command) -> Command:
        """What the agent takes a ``/goal`` command to mean, where it is not what its grammar says."""
        return command

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        """What an update says about goals and turns, in order. Never raises."""
        return ()

    def read_notification(self, method: str, params: dict[str, Any], view: View) -> Iterable[Signal]:
        """What a notification of the agent's own says. Never raises."""
        return ()

    def read_log(self, entry: dict[str, Any], view: View) -> Iterable[Signal]:
        """What a line of the agent's log says. Never raises."""
        return ()

    def read_answer(self, result: dict[str, Any], view: View) -> Iterable[Signal]:
        """What the answer to ``question`` or to a control says. Never raises."""
        return ()

    def question(self, session_id: str) -> Request | None:
        """The request by which the agent tells its goal; None if there is none."""
        return None

    def begin(self, action: Action, objective: str, view: View) -> None:
        """A control or a command is on its way to the agent; what comes next may have to be read in its light."""

    def undo(self, view: View) -> None:
        """What had begun last came to nothing."""

    def may_work(self, view: View) -> bool:
        """Whether the agent may be at work for its goal although no prompt is open and it says nothing of work."""
        return False

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        """What to send for a control that is among ``actions``; None if it cannot be said in this dialect."""
        return None

    def again(self, action: Action, objective: str, error: dict[str, Any], view: View) -> Call | None:
        """What to send, once, after the agent refused a control with an error; None if the refusal stands."""
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
