"""A world around the engine: a client, an agent without goals, a store, timers and checks, and what must always hold.

Nothing here decides what happens; ``test_interleavings`` does. Each line that goes out is checked as it arrives.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from goalproxy.mappers import choose
from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import Event, FromAgent, FromClient, GoalLoaded
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.wire.envelope import IdKey, peek

OPENING = ("session/new", "session/load", "session/resume")
ENDING = ("session/close", "session/delete")
OURS = "goalproxy-"
Message = dict[str, Any]


@dataclass
class Request:
    """A request that somebody waits for an answer to; ``passed`` says that the agent got it.

    A prompt of version 2 is over when it is ``accepted`` and the agent was ``idle`` after it got it, in any order.
    """

    method: str
    session: str
    ident: Any
    line: bytes
    accepted: bool = False
    idle: bool = False
    passed: bool = False

    @property
    def is_round(self) -> bool:
        """Whether the proxy sent it."""
        return isinstance(self.ident, str) and self.ident.startswith(OURS)


@dataclass
class Life:
    """What has to hold of one session: ``may_run`` says that nobody has stopped its goal."""

    may_run: bool = False
    stored: OwnedGoal | None = None
    published: Message | None = None
    created: int = 0
    goal_id: str = ""
    turns: list[Request] = field(default_factory=list)
    is_open: bool = False
    token: str = ""
    passed: set[tuple[str, str]] = field(default_factory=set)
    running: bool = False


class World:
    """One engine, and everybody around it."""

    def __init__(self, policy: Policy, protocol: int) -> None:
        self.policy, self.protocol = policy, protocol
        self.now = 1_790_000_000_000
        self.lives = {"s": Life(), "t": Life()}
        self.revisions: dict[str, int] = {}
        self.secrets = 0
        self.begin()

    def begin(self) -> None:
        """A new process of the proxy and of the agent; only the store has stayed."""
        self.engine = Engine(self.policy, choose, "x", self._secret)
        self.refused = False
        self.client: dict[IdKey, Request] = {}
        self.agent: dict[IdKey, Request] = {}
        self.asked: list[Message] = []
        self.timers: list[tuple[str, int]] = []
        self.old_timers: list[str] = []
        self.checks: list[tuple[str, str, str]] = []
        self.calls: dict[int, str] = {}
        self.answers: dict[int, Message] = {}
        self.next: deque[Event] = deque()
        for life in self.lives.values():
            life.turns, life.is_open, life.may_run, life.published, life.running = [], False, False, None, False

    def _secret(self) -> str:
        self.secrets += 1
        return f"secret-{self.secrets}"

    @property
    def is_v2(self) -> bool:
        """The version of the protocol."""
        return self.protocol == 2

    def pending(self, session: str, methods: tuple[str, ...]) -> bool:
        """Whether the agent has still to answer such a request for a session."""
        return any(request.session == session and request.method in methods for request in self.agent.values())

    # Who sends

    def from_client(self, message: Message) -> None:
        """The client sends a line."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        envelope = peek(line)
        assert envelope is not None
        if "method" in message and envelope.key is not None:
            self.client[envelope.key] = Request(message["method"], envelope.session_id, message["id"], line)
        if self.engine.concerns_client(envelope):
            self._perform(self.engine.handle(FromClient(line, envelope, self.now)), "client", line)
        else:
            self._perform([act.Relay()], "client", line)
        self._go_on()

    def from_agent(self, message: Message) -> None:
        """The agent sends a line."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        envelope, mark = peek(line), self.engine.mark
        assert envelope is not None
        if self.engine.concerns_agent(envelope) or (mark is not None and mark in line):
            self._perform(self.engine.handle(FromAgent(line, envelope, self.now)), "agent", line)
        else:
            self._perform([act.Relay()], "agent", line)
        self._go_on()

    def happens(self, event: Event) -> None:
        """Something happens that is no line."""
        self.next.append(event)
        self._go_on()

    def _go_on(self) -> None:
        while self.next:
            self._perform(self.engine.handle(self.next.popleft()), "", b"")

    # What comes of it

    def _perform(self, actions: list[act.Action], who: str, came: bytes) -> None:
        answers = 0
        for action in actions:
            if isinstance(action, act.Relay | act.Rewrite | act.Swallow):
                answers += 1
                if not isinstance(action, act.Swallow):
                    line = action.line if isinstance(action, act.Rewrite) else came
                    self._agent_gets(line) if who == "client" else self._client_gets(line, own=False)
            elif isinstance(action, act.ToClient):
                self._client_gets(action.line, own=True)
            elif isinstance(action, act.ToAgent):
                self._agent_gets(action.line)
            else:
                self._serve(action)
        assert answers == bool(who), "a line that came in is relayed, rewritten or swallowed, once"

    def _serve(self, action: act.Action) -> None:
        if isinstance(action, act.SetTimer):
            self.timers.append((action.key, self.now + action.after))
        elif isinstance(action, act.StoreGoal):
            goal = action.goal
            if goal is not None:
                assert goal.revision > self.revisions.get(goal.id, 0), "a stored revision rises"
                self.revisions[goal.id] = goal.revision
            self.lives[action.session_id].stored = goal
        elif isinstance(action, act.LoadGoal):
            life = self.lives[action.session_id]
            life.may_run = action.armed
            self.next.append(GoalLoaded(action.session_id, life.stored, action.armed, self.now))
        elif isinstance(action, act.RunCheck):
            goal = self.lives[action.session_id].stored
            assert goal is not None, "a check is for a goal"
            assert action.session_id not in {check[0] for check in self.checks}, "one check runs at a time"
            self.checks.append((action.session_id, goal.id, goal.objective))
        elif isinstance(action, act.AnswerTool):
            assert self.calls.pop(action.call) is not None
            self.answers[action.call] = {**action.body, "failed": action.failed}

    def _agent_gets(self, line: bytes) -> None:
        envelope, message = peek(line), json.loads(line)
        assert envelope is not None
        if envelope.key is None or not envelope.method:
            if envelope.method == "$/cancel_request":
                assert message["params"]["requestId"] is not None
            return
        request = Request(envelope.method, envelope.session_id, message["id"], line)
        assert envelope.key not in self.agent, "an id towards the agent stands for one open request"
        self.agent[envelope.key] = request
        if envelope.method == "session/prompt":
            self._prompted(envelope.key, request)

    def _prompted(self, key: IdKey, request: Request) -> None:
        life = self.lives[request.session]
        if request.is_round:
            assert not life.turns, "a round begins when nothing else runs"
            assert not life.running, "a round begins when the agent is idle"
            assert life.may_run, "no round begins after the goal was stopped"
            assert life.stored is not None, "a round is for a goal"
            assert life.stored.status == "active", "a round is for a goal that is active"
            assert not self.pending(request.session, ENDING), "no round begins in a session that is being closed"
            assert life.is_open, "no round begins before the session is open, nor after it was closed"
        else:
            sent = self.client.get(key)
            assert sent is not None, "what the proxy has answered is not sent to the agent any more"
            assert not sent.passed, "a prompt is sent once"
            assert request.line == sent.line, "a prompt is sent as the same bytes"
            assert not any(turn.is_round for turn in life.turns), "a prompt waits for the end of the round"
            sent.passed = True
        if life.is_open:
            life.turns.append(request)

    def _client_gets(self, line: bytes, *, own: bool) -> None:
        envelope, message = peek(line), json.loads(line)
        assert envelope is not None
        if envelope.method == "session/request_permission":
            self.asked.append(message)
        elif envelope.method:
            self._published(message, own=own)
        else:
            assert envelope.key in self.client, "an answer is for a request that the client waits for"
            request = self.client.pop(envelope.key)
            self.refused = envelope.failed
            assert not (own and request.passed), "what the agent got, the agent answers"

    def _published(self, message: Message, *, own: bool) -> None:
        update = message["params"]["update"]
        if not own or "goal" not in update.get("_meta", {}):
            return
        life = self.lives[message["params"]["sessionId"]]
        assert life.is_open, "nothing is published for a session that is not open"
        goal, before, stored = update["_meta"]["goal"], life.published, life.stored
        life.published = goal
        if goal is None or stored is None:
            assert goal is None, "what is gone from the store is not published"
            assert stored is None, "a stored goal is not published as gone"
            return
        assert goal == as_published(stored, goal["updatedAt"]), "what is published was stored before"
        assert goal["createdAt"] >= life.created, "a newer goal has a later time"
        if before is not None:
            assert goal["updatedAt"] > before["updatedAt"]
            if before["createdAt"] == goal["createdAt"]:
                for counter in ("iterations", "tokensUsed", "timeUsedSeconds"):
                    assert goal.get(counter, 0) >= before.get(counter, 0), "a counter does not fall"
        is_other = goal["createdAt"] > life.created
        assert is_other == (stored.id != life.goal_id), "each goal has a time of its own"
        if stored.status == "complete" and self.policy.check is not None:
            assert (stored.id, stored.objective) in life.passed, "what is complete was checked"
        life.created, life.goal_id = goal["createdAt"], stored.id


def as_published(goal: OwnedGoal, updated_at: int) -> Message:
    """The snapshot of a stored goal."""
    known = {"iterations": goal.rounds, "lastReason": goal.reason, "tokensUsed": goal.tokens}
    return {
        "objective": goal.objective,
        "status": goal.status,
        "createdAt": goal.created_at,
        "updatedAt": updated_at,
        "controlMethod": "_session/goal",
        "tokenBudget": goal.token_budget,
        "timeUsedSeconds": goal.active_ms // 1000,
        **{key: value for key, value in known.items() if value is not None},
    }
