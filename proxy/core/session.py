"""One ACP session as the proxy sees it: what the client knows of it, its turns, its goal."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, UnsetType

from goalproxy.mappers.base import View
from goalproxy.proxy.goal.control import Control
from goalproxy.proxy.goal.tracker import Tracker
from goalproxy.proxy.wire.envelope import Id, IdKey


class Turn(Struct):
    """A prompt that the client sent and that has not ended yet.

    ``generation`` is that of the goal command in it, None for an ordinary prompt. ``answered`` is True once a version 2
    agent has accepted the prompt; the turn goes on until the session is idle.
    """

    generation: int | None = None
    answered: bool = False


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


class Question(Struct, frozen=True):
    """A request of the proxy's own for the goal of a session."""

    session_id: str


class Session:
    """State of one session; ``id`` is the agent's."""

    __slots__ = (
        "commands_seen",
        "gone",
        "has_command",
        "heard",
        "held",
        "id",
        "lapsing",
        "log_found",
        "memory",
        "origin",
        "own",
        "prompted",
        "running",
        "tracker",
        "turns",
        "visible",
        "watched",
    )

    def __init__(self, ident: str, last_time: int = 0) -> None:
        self.id = ident
        self.tracker = Tracker(last_time)
        self.visible = False
        """Whether the client has the response that made the session known to it."""
        self.turns: dict[IdKey, Turn] = {}
        self.running = False
        """Whether the agent says that it works."""
        self.prompted = False
        """Whether any prompt went to the session since the agent started."""
        self.commands_seen = False
        self.has_command = False
        """Whether the agent's own list of commands has ``goal``."""
        self.origin = ""
        """The session that this one is a fork of, until the fork's own log is found."""
        self.own: set[str] = set()
        """Ids of requests of the proxy's own that started work, and that the agent has not answered yet."""
        self.memory: dict[str, Any] = {}
        """The mapper's own."""
        self.log_found = False
        """Whether the agent's log of the session was found, when it was last looked for."""
        self.lapsing: list[int] = []
        """Generations of commands whose turn is over, and whose fate the agent's log has to tell."""
        self.gone = False
        """Whether the agent said that its goal is gone and not how, so that its log has to be asked."""
        self.held: list[Held] = []
        """Prompts of the client's that wait for the agent to be idle."""
        self.heard = 0
        """When the agent last said anything in the session, in Unix milliseconds, where that is watched."""
        self.watched = False
        """Whether a timer watches for its silence."""

    @property
    def view(self) -> View:
        """The session as a mapper may see it."""
        goal = self.tracker.shown
        objective = goal.objective if goal is not None else ""
        return View(self.id, self.prompted, self.busy, self.tracker.last_report, self.log_found, objective, self.memory)

    @property
    def busy(self) -> bool:
        """Whether a turn runs, by the client's prompts, by the agent's word, or by a request of the proxy's own."""
        return self.running or bool(self.turns) or bool(self.own)

    @property
    def ordinary_prompt(self) -> bool:
        """Whether a prompt that is no goal command is open, so that the agent's work is the client's turn."""
        return any(turn.generation is None for turn in self.turns.values())
