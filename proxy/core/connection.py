"""The state of one connection between a client and an agent, and the small verbs with which every decision is written.

The decisions themselves are in the modules beside this one, one subject each; ``engine`` picks the one for an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from goalproxy.mappers.base import Agent, GoalReported, Mapper
from goalproxy.proxy.goal.changes import Change
from goalproxy.proxy.wire import acp, jsonrpc
from goalproxy.proxy.wire.envelope import Id, IdKey

from .actions import Action, Record, ToAgent, ToClient
from .facts import Fact, GoalChanged
from .ids import Ids
from .session import PendingControl, Question, Session


class Policy(Struct, frozen=True):
    """What the operator chose.

    ``declares_air`` says whether the agent is one that publishes goals to AIR clients only; it has to be known before
    the agent has said who it is.
    """

    on_cancel: Literal["pause", "turn"] = "pause"
    declares_air: bool = False


class Awaited(Struct, frozen=True):
    """A request of the client's, relayed to the agent, whose response matters.

    ``session_id`` is empty where only the response will name the session. ``origin`` is the session that is forked.
    """

    method: str
    session_id: str = ""
    origin: str = ""


class Connection:
    """Everything the engine remembers."""

    def __init__(self, policy: Policy, choose: Callable[[Agent], Mapper], token: str) -> None:
        self.policy = policy
        self.choose = choose
        self.ids = Ids(token)
        self.mapper: Mapper | None = None
        self.protocol = 1
        self.client_is_air = False
        self.sessions: dict[str, Session] = {}
        self.last_times: dict[str, int] = {}
        """The last time that was published for each session that is over; it may be opened again."""
        self.awaiting: dict[IdKey, Awaited | PendingControl | Question] = {}
        self.actions: list[Action] = []
        self.now = 0

    @property
    def is_v2(self) -> bool:
        """Whether the connection speaks version 2 of the protocol, or a later one."""
        return acp.is_v2(self.protocol)

    @property
    def goals(self) -> Mapper | None:
        """The mapper, if the agent keeps goals."""
        return self.mapper if self.mapper is not None and self.mapper.keeps_goals else None

    @property
    def strips_air(self) -> bool:
        """Whether ``_meta.jetbrains`` has to be taken out of what the agent sends."""
        return self.mapper is not None and self.mapper.hides_air and not self.client_is_air

    def session(self, ident: str) -> Session:
        """The session with an id, a new one if there is none."""
        if ident not in self.sessions:
            self.sessions[ident] = Session(ident, self.last_times.pop(ident, 0))
        return self.sessions[ident]

    def do(self, *actions: Action) -> None:
        """Want something done, after everything wanted before."""
        self.actions.extend(actions)

    def record(self, fact: Fact) -> None:
        """Tell the observers a fact."""
        self.do(Record(fact))

    def record_changes(self, changes: Iterable[Change]) -> None:
        """Tell the observers what happened to a goal that the agent keeps."""
        for change in changes:
            self.record(GoalChanged("native", change))

    def take(self, session: Session, signal: GoalReported) -> None:
        """Enter a statement of the agent about its goal into the session's book."""
        self.record_changes(session.tracker.report(signal.report, self.now, signal.ended))

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

    def publish(self, session: Session) -> None:
        """Inject the session's goal towards the client, if the client knows the session and does not know this yet."""
        if not session.visible:
            return
        goal = session.tracker.publication(self.now)
        if goal is UNSET:
            return
        meta: dict[str, Any] = {"goal": goal}
        if self.client_is_air and self.mapper is not None and not self.mapper.hides_air:
            meta["jetbrains"] = {"air": {"version": 1, "goal": goal}}
        self.update(session.id, {"sessionUpdate": acp.SESSION_INFO, "_meta": meta})
