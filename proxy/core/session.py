"""One ACP session as the proxy sees it: what the client knows of it, its turns, its goal."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, UnsetType

from goalproxy.mappers.base import View
from goalproxy.proxy.goal.control import Control
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.goal.tracker import Tracker
from goalproxy.proxy.goal.usage import UsageMeter
from goalproxy.proxy.wire.envelope import Id, IdKey

from .driver import Driver
from .round import Round


class Turn(Struct):
    """A prompt that the client sent and that has not ended yet.

    ``generation`` is that of the goal command in it, None for an ordinary prompt. In version 2 a turn is over when the
    agent has ``answered``, which accepts the prompt, and is ``idle``, in whatever order it says so. ``ran`` says that
    it has begun to work since.
    """

    generation: int | None = None
    answered: bool = False
    idle: bool = False
    ran: bool = False


class PendingControl(Struct):
    """A control on its way through the agent.

    ``client_id`` is the id of the client's request, UNSET when nobody waits: the client was answered, or the proxy
    acted by itself. ``reply`` is what that request gets. ``is_prompt`` says that the control went as a prompt.
    """

    session: Session
    control: Control
    generation: int
    agent_id: str
    client_id: Id | UnsetType
    reply: dict[str, Any]
    is_prompt: bool
    retried: bool = False


class Held(Struct, frozen=True):
    """A prompt of the client's that waits for the agent to be idle, as it came."""

    key: IdKey
    id: Id | UnsetType
    line: bytes


class WaitingRound(Struct, frozen=True):
    """A round that was sent to the agent and is not answered."""

    session_id: str
    round: Round


class Question(Struct, frozen=True):
    """A request of the proxy's own for the goal of a session."""

    session_id: str


class Claim(Struct, frozen=True):
    """The model's word that a goal is complete, and why it thinks so."""

    goal_id: str
    objective: str
    reason: str | None

    def is_about(self, goal: OwnedGoal) -> bool:
        """Whether a goal is still the one that was meant, with the objective that it had then."""
        return (self.goal_id, self.objective) == (goal.id, goal.objective)


class Session(Struct, eq=False):
    """State of one session; ``id`` is the agent's."""

    id: str
    tracker: Tracker
    visible: bool = False
    """Whether the client may be told of it: not before the response that opens it, nor while it is opened again."""
    opened: bool = False
    """Whether the client knows it."""
    began_here: bool = False
    """Whether the session was new when the client got to know it."""
    costs: dict[str, float] = {}
    """The sum that the agent last told for the session, by currency."""
    turns: dict[IdKey, Turn] = {}
    running: bool = False
    """Whether the agent says that it works."""
    prompted: bool = False
    """Whether any prompt went to the session since the agent started."""
    commands_seen: bool = False
    has_command: bool = False
    """Whether the agent's own list of commands has ``goal``."""
    origin: str = ""
    """The session that this one is a fork of, until the fork's own log is found."""
    own: set[str] = set()
    """Ids of requests of the proxy's own that started work, and that the agent has not answered yet."""
    memory: dict[str, Any] = {}
    """The mapper's own."""
    log_found: bool = False
    """Whether the agent's log of the session was found, when it was last looked for."""
    lapsing: list[int] = []
    """Generations of commands whose turn is over, and whose fate the agent's log has to tell."""
    gone: bool = False
    """Whether the agent said that its goal is gone and not how, so that its log has to be asked."""
    driver: Driver | None = None
    """The goal, where the proxy owns it."""
    open_prompts: list[Id | UnsetType] = []
    """Prompts that set a goal and stay open until it stops, where the operator wants that."""
    claim: Claim | None = None
    """The goal that is said to be reached, while the operator's check has to tell."""
    agent_owns: bool = False
    """Whether the agent turned out to keep the session's goal itself, so that the proxy keeps out of it."""
    stored: OwnedGoal | None = None
    """The goal as it was stored last."""
    directory: str = ""
    """The session's working directory, where the client named one."""
    tool_names: list[str] = []
    """How the model may find the tools of the proxy; empty if it has none."""
    tool_titles: frozenset[str] = frozenset()
    """The names under which the agent may tell of them."""
    meter: UsageMeter | None = None
    """Reads what the agent says that a prompt used."""
    held: list[Held] = []
    """Prompts of the client's that wait for the agent to be idle."""
    heard: int = 0
    """When the agent last said anything in the session, in Unix milliseconds, where that is watched."""
    idle_since: int | None = None
    """Since when nothing is known to work for the goal, while it is active; Unix milliseconds."""
    watched: bool = False
    """Whether a timer watches for its silence."""

    @property
    def book(self) -> Tracker | Driver:
        """The goal, whoever owns it."""
        return self.tracker if self.driver is None else self.driver

    @property
    def view(self) -> View:
        """The session as a mapper may see it."""
        goal = self.tracker.shown
        objective = goal.objective if goal is not None else ""
        return View(self.id, self.prompted, self.busy, self.tracker.last_report, self.log_found, objective, self.memory)

    @property
    def busy(self) -> bool:
        """Whether a turn runs: a prompt of the client's, a round, or work that the agent tells of or was asked for."""
        own = bool(self.own) or (self.driver is not None and self.driver.round is not None)
        return self.running or bool(self.turns) or own

    def is_working(self) -> None:
        """The agent says that it works: what it said before of being idle was not about the prompts that are open."""
        for turn in self.turns.values():
            turn.idle, turn.ran = False, turn.ran or not self.running
        self.running = True

    def is_idle(self) -> list[IdKey]:
        """The agent says that it is idle; the prompts whose turn is over with that."""
        self.running = False
        for turn in self.turns.values():
            turn.idle = True
        return [key for key, turn in self.turns.items() if turn.answered]

    @property
    def checking(self) -> bool:
        """Whether the operator's check has to tell if the goal, as it is now, is reached."""
        goal = self.driver.goal if self.driver is not None else None
        return goal is not None and self.claim is not None and self.claim.is_about(goal)

    @property
    def ordinary_prompt(self) -> bool:
        """Whether a prompt that is no goal command is open, so that the agent's work is the client's turn."""
        return any(turn.generation is None for turn in self.turns.values())
