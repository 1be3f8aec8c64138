"""The state of one connection between a client and an agent, and the small verbs with which every decision is written.

The decisions themselves are in the modules beside this one, one subject each; ``engine`` picks the one for an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from goalproxy.mappers.base import Agent, GoalReported, Mapper
from goalproxy.proxy.goal.changes import Change
from goalproxy.proxy.goal.control import Refusal
from goalproxy.proxy.goal.tracker import Tracker
from goalproxy.proxy.wire import acp, jsonrpc
from goalproxy.proxy.wire.envelope import Id, IdKey

from .actions import Action, Record, Relay, Rewrite, ToAgent, ToClient
from .driver import Limits
from .facts import Fact, GoalChanged, GoalsStand, Owner
from .ids import Ids
from .session import Claim, PendingControl, Question, Session, Turn, WaitingRound


class ToolServer(Struct, frozen=True):
    """How an agent reaches the proxy's tools: over HTTP at an address, or over stdio by a command."""

    url: str
    command: tuple[str, ...]


class Policy(Struct, frozen=True):
    """What the operator chose.

    ``goals`` says who may own a goal, ``check`` is the command that verifies completion. ``tools`` starts the server of
    the model's tools, if it does not run yet, and says how to reach it.

    ``declares_air`` says whether the agent is one that publishes goals to AIR clients only; it has to be known before
    the agent has said who it is.
    """

    on_cancel: Literal["pause", "turn"] = "pause"
    declares_air: bool = False
    goals: Literal["auto", "native", "emulated", "off"] = "auto"
    on_prompt: Literal["interrupt", "queue"] = "interrupt"
    turns: Literal["detached", "held"] = "detached"
    check: str | None = None
    limits: Limits = Limits()
    tools: Callable[[], ToolServer] | None = None


def owner_of(goals: str, mapper: Mapper) -> Owner | None:
    """Who keeps the goals of an agent, by the operator's choice of ``goals``; None for nobody."""
    if goals == "off":
        return None
    if goals != "emulated" and mapper.keeps_goals:
        return "native"
    return None if goals == "native" else "emulated"


class Awaited(Struct, frozen=True):
    """A request of the client's, relayed to the agent, whose response matters.

    ``session_id`` is empty where only the response will name the session. ``origin`` is the session that is forked.
    Of a request that opens a session and was given the proxy's tools, ``token`` is their secret and ``original`` the
    line as the client sent it. One that was sent again without the tools has the client's id in ``client_id``.
    """

    method: str
    session_id: str = ""
    token: str = ""
    original: bytes = b""
    client_id: Id | UnsetType = UNSET
    directory: str = ""
    preserve: bool = False
    origin: str = ""


class Connection:
    """Everything the engine remembers."""

    def __init__(
        self, policy: Policy, choose: Callable[[Agent], Mapper], token: str, secret: Callable[[], str]
    ) -> None:
        self.policy = policy
        self.secret = secret
        self.choose = choose
        self.ids = Ids(token)
        self.mapper: Mapper | None = None
        self.agent: Agent | None = None
        self.takes_http_tools = False
        """Whether the agent said that it takes MCP servers over HTTP."""
        self.tokens: dict[str, Session | None] = {}
        """The secrets of injected tool servers, with their sessions once these are known."""
        self.listed: set[str] = set()
        """Those of these secrets with which the agent has asked for the proxy's tools."""
        self.checks: dict[str, Claim] = {}
        """The check that runs for each session, by what it was started for: the goal's id and its objective."""
        self.draining = False
        """Whether no round may begin any more, since the proxy is about to end."""
        self.drained = False
        """Whether that is so, and was told."""
        self.rounds = 0
        """How many rounds run."""
        self.protocol = 1
        self.client_is_air = False
        self.sessions: dict[str, Session] = {}
        self.last_times: dict[str, int] = {}
        """The last time that was published for each session that is over; it may be opened again."""
        self.stand = GoalsStand()
        """How the active goals are, as it was last told."""
        self.opened = 0
        """How many sessions the client has open, as it was last told."""
        self.awaiting: dict[IdKey, Awaited | PendingControl | Question | WaitingRound] = {}
        self.actions: list[Action] = []
        self.now = 0
        self.came = b""
        """The line that came in."""

    @property
    def is_v2(self) -> bool:
        """Whether the connection speaks version 2 of the protocol, or a later one."""
        return acp.is_v2(self.protocol)

    @property
    def goals(self) -> Mapper | None:
        """The mapper, if the agent keeps goals, and may."""
        if self.mapper is None or owner_of(self.policy.goals, self.mapper) != "native":
            return None
        return self.mapper

    @property
    def emulates(self) -> bool:
        """Whether the proxy owns the goals of this agent."""
        return self.mapper is not None and owner_of(self.policy.goals, self.mapper) == "emulated"

    @property
    def log_mark(self) -> bytes | None:
        """Text that every line about goals in the agent's log of a session contains; None if no log is read."""
        return self.goals.log_mark if self.goals is not None else None

    @property
    def strips_air(self) -> bool:
        """Whether ``_meta.jetbrains`` has to be taken out of what the agent sends."""
        return self.mapper is not None and self.mapper.hides_air and not self.client_is_air

    def session(self, ident: str) -> Session:
        """The session with an id, a new one if there is none."""
        if ident not in self.sessions:
            self.sessions[ident] = Session(ident, Tracker(self.last_times.pop(ident, 0)))
        return self.sessions[ident]

    def known_session(self, ident: str) -> Session:
        """A session that the client knows. Raises Refusal."""
        session = self.sessions.get(ident)
        if session is None or not (session.visible or session.opened):
            raise Refusal(f"Unknown session: {ident}")
        return session

    def open_turn(self, session: Session, key: IdKey, generation: int | None = None) -> None:
        """A prompt of the client's goes to the agent; ``generation`` is that of the goal command in it."""
        self.awaiting[key] = Awaited(acp.PROMPT, session.id)
        session.turns[key] = Turn(generation)
        session.prompted = True

    def do(self, *actions: Action) -> None:
        """Want something done, after everything wanted before."""
        self.actions.extend(actions)

    def forward(self, line: bytes) -> None:
        """Forward this for the line that came in: as it came, if it is the same."""
        self.do(Relay() if line == self.came else Rewrite(line))

    def record(self, fact: Fact) -> None:
        """Tell the observers a fact."""
        self.do(Record(fact))

    def record_changes(self, changes: Iterable[Change], owner: Owner = "native") -> None:
        """Tell the observers what happened to a goal."""
        for change in changes:
            self.record(GoalChanged(owner, change, self.now))

    def take(self, session: Session, signal: GoalReported) -> None:
        """Enter a statement of the agent about its goal into the session's book."""
        self.record_changes(session.tracker.report(signal.report, self.now, signal.ended))
        session.idle_since = None

    def answer(self, ident: Id | UnsetType, result: dict[str, Any]) -> None:
        """Answer a request of the client; nothing if it was a notification."""
        if not isinstance(ident, UnsetType):
            self.do(ToClient(jsonrpc.result(ident, result)))

    def answer_error(self, ident: Id | UnsetType, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the client with an error; nothing if it was a notification."""
        if not isinstance(ident, UnsetType):
            self.do(ToClient(jsonrpc.error(ident, code, message, data)))

    def update(self, session_id: str, update: dict[str, Any]) -> None:
        """Inject a ``session/update`` towards the client."""
        self.do(ToClient(jsonrpc.notification(acp.UPDATE, {"sessionId": session_id, "update": update})))

    def request(self, method: str, params: dict[str, Any]) -> str:
        """Inject a request towards the agent; returns its id."""
        ident = self.ids.make(self.awaiting)
        self.do(ToAgent(jsonrpc.request(ident, method, params)))
        return ident

    def note_listed(self, token: str) -> None:
        """The agent has asked for the tools, or used one."""
        if token in self.tokens:
            self.listed.add(token)

    def forget_token(self, token: str) -> None:
        """The tools that were offered with a secret are nobody's."""
        self.tokens.pop(token, None)
        self.listed.discard(token)

    def forget_tools(self, session: Session) -> None:
        """The model's tools are no longer this session's."""
        self.tokens = {token: owner for token, owner in self.tokens.items() if owner is not session}
        self.listed &= self.tokens.keys()

    def publish(self, session: Session) -> None:
        """Inject the session's goal towards the client, if the client knows the session and does not know this yet."""
        if not session.visible or session.agent_owns:
            return
        goal = session.book.publication(self.now)
        if goal is UNSET:
            return
        meta: dict[str, Any] = {"goal": goal}
        if self.client_is_air and self.mapper is not None and not self.mapper.hides_air:
            meta["jetbrains"] = {"air": {"version": 1, "goal": goal}}
        self.update(session.id, {"sessionUpdate": acp.SESSION_INFO, "_meta": meta})
