"""The relay path: two threads that block on reading, one a direction, and the engine between them.

A run of lines that concern nobody goes out in one write, as the same bytes. A line that concerns the engine is handled
under the lock, and what comes of it is queued before the lock is let go, so that both peers see one order.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import AgentGone, Event, FromAgent, FromClient, LogRead, TimerFired
from goalproxy.proxy.core.facts import Fact
from goalproxy.proxy.wire.envelope import Envelope, peek, peek_all
from goalproxy.proxy.wire.ndjson import Block, LineBuffer, lines

from .clock import now
from .goal_services import GoalServices
from .log_follower import LogFollower
from .outlet import Outlet
from .pipes import PIPE_SIZE
from .timers import Timers
from .traffic import Direction, Traffic, Treatment

_CHUNK = PIPE_SIZE // 2
"""Half of what a pipe holds: whoever fills it can go on while this half is looked at."""

_Answer = TypeVar("_Answer")
Trace = Callable[[Direction, Treatment, bytes], None]


class _Way(NamedTuple):
    """One direction: where its lines go, how they are counted, which concern the engine, and as which event.

    ``mark`` gives text that makes any line concern the engine, or None.
    """

    direction: Direction
    outlet: Outlet
    concerns: Callable[[Envelope], bool]
    mark: Callable[[], bytes | None]
    event: type[FromClient | FromAgent]


class Relay:
    """Moves lines between a client and an agent.

    Each of ``observers`` is called with each fact, one at a time. ``trace`` is called with each message, its direction
    and its treatment, if it is set, which can be at any time; that is slow.
    """

    def __init__(
        self,
        engine: Engine,
        client: Outlet,
        agent: Outlet,
        services: GoalServices,
        traffic: Traffic,
    ) -> None:
        self.observers: list[Callable[[Fact], None]] = []
        self._engine = engine
        self._traffic = traffic
        self.trace: Trace | None = None
        self.drained = threading.Event()
        """Set once the engine says that it is drained."""
        self._services = services
        self._next: deque[Event] = deque()
        self._client, self._agent = client, agent
        self._lock = threading.Lock()
        self._timers = Timers(self._on_timer)
        self._logs = LogFollower(self._on_log)
        self._up = _Way("client_to_agent", agent, engine.concerns_client, lambda: None, FromClient)
        self._down = _Way("agent_to_client", client, engine.concerns_agent, lambda: engine.mark, FromAgent)

    def pump_client(self, source: int) -> None:
        """Read the client until its end, and pass the end on."""
        self._pump(source, self._up)
        self._agent.close()

    def pump_agent(self, source: int) -> None:
        """Read the agent until its end; then nobody waits for it any more."""
        self._pump(source, self._down)
        with self._lock:
            self._take(AgentGone(now()))
        self._client.flush()

    def _pump(self, source: int, way: _Way) -> None:
        buffer = LineBuffer()
        while not way.outlet.broken:
            chunk = _read(source)
            if not chunk:
                break
            came = time.monotonic()
            for block in buffer.feed(chunk):
                self._forward(block, way)
                way.outlet.flush()
            self._traffic.took(way.direction, time.monotonic() - came)
        rest = buffer.finish()
        if rest:
            self._forward(rest, way)
            way.outlet.flush()
        if way.outlet.broken:
            os.close(source)  # Nobody reads on: whoever writes finds that out, as it would without the proxy.

    def _forward(self, block: Block, way: _Way) -> None:
        """Relay a block of lines, stopping at each that concerns the engine."""
        envelopes = peek_all(block)
        if envelopes is None:
            parts = lines(bytes(block))
            self._sift(parts, list(map(peek, parts)), way)
        elif self.trace is None and self._is_quiet(block, envelopes, way):
            way.outlet.put(block)
            self._traffic.count(way.direction, "relayed", len(envelopes), len(block))
        else:
            self._sift(lines(bytes(block)), envelopes, way)

    def _is_quiet(self, block: Block, envelopes: list[Envelope], way: _Way) -> bool:
        """Whether a block is seen at once to concern nobody."""
        mark = way.mark()
        return not any(map(way.concerns, envelopes)) and (mark is None or mark not in block)

    def _sift(self, parts: list[bytes], envelopes: Sequence[Envelope | None], way: _Way) -> None:
        """Relay a block line by line."""
        start = 0
        for index, (part, envelope) in enumerate(zip(parts, envelopes, strict=True)):
            if envelope is None:
                self._miss(part, way)
            elif way.concerns(envelope) or ((mark := way.mark()) is not None and mark in part):
                self._pass_on(parts[start:index], way)
                self._handle(part, envelope, way)
                start = index + 1
        self._pass_on(parts[start:], way)

    def _pass_on(self, parts: list[bytes], way: _Way) -> None:
        """Relay lines that concern nobody."""
        if not parts:
            return
        run = parts[0] if len(parts) == 1 else b"".join(parts)
        way.outlet.put(run)
        self._traffic.count(way.direction, "relayed", len(parts), len(run))
        trace = self.trace
        if trace is not None:
            for part in parts:
                trace(way.direction, "relayed", part)

    def _miss(self, part: bytes, way: _Way) -> None:
        """Count a line that is no message, unless it is empty."""
        if not part.isspace():
            self._traffic.malformed(way.direction)

    def _handle(self, line: bytes, envelope: Envelope, way: _Way) -> None:
        with self._lock:
            self._perform(self._engine.handle(way.event(line, envelope, now())), way, line)
            while self._next:
                self._take(self._next.popleft())

    def _on_log(self, session_id: str, lines: list[bytes], *, found: bool, history: bool) -> None:
        self.take(LogRead(session_id, lines, found, history, now()))

    def _on_timer(self, key: str) -> None:
        self.take(TimerFired(key, now()))

    def take(self, event: Event) -> None:
        """Take what happened elsewhere to the engine, from any thread."""
        with self._lock:
            self._take(event)

    def ask(self, question: Callable[[Engine], _Answer]) -> _Answer:
        """What the engine answers between two events."""
        with self._lock:
            return question(self._engine)

    def lives(self, seconds: float) -> bool:
        """Whether the engine is free for an event within so many seconds."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._lock.release()
        return True

    def tell_last(self, fact: Fact, patience: float) -> None:
        """Tell the observers the last fact there is, from any thread.

        It is told after so many seconds at most: who has the engine then waits for a peer that does not read.
        """
        got = self._lock.acquire(timeout=patience)
        self._record(fact)
        if got:
            self._lock.release()

    def _record(self, fact: Fact) -> None:
        for observe in self.observers:
            observe(fact)

    def _take(self, event: Event) -> None:
        self._next.append(event)
        while self._next:
            self._perform(self._engine.handle(self._next.popleft()), None, b"")

    def _perform(self, actions: list[act.Action], way: _Way | None, line: bytes) -> None:
        """Do what the engine wants, in order. ``way`` and ``line`` are those of the line that came in, if one did."""
        for action in actions:
            if isinstance(action, act.Relay | act.Rewrite | act.Swallow):
                if way is not None:
                    self._answer_line(action, way, line)
            elif isinstance(action, act.ToClient | act.ToAgent):
                self._inject(action.line, self._down if isinstance(action, act.ToClient) else self._up, way)
            else:
                self._serve(action)

    def _serve(self, action: act.Action) -> None:
        if isinstance(action, act.Record):
            self._record(action.fact)
        elif isinstance(action, act.SetTimer):
            self._timers.set(action.key, action.after)
        elif isinstance(action, act.FollowLog | act.ReadLog | act.LeaveLog):
            self._logs.serve(action)
        elif isinstance(action, act.Drained):
            self.drained.set()
        elif isinstance(action, act.StoreGoal | act.LoadGoal | act.RunCheck | act.AnswerTool):
            follows = self._services.serve(action)
            if follows is not None:
                self._next.append(follows)

    def _answer_line(self, action: act.Relay | act.Rewrite | act.Swallow, way: _Way, line: bytes) -> None:
        treatment: Treatment = "swallowed"
        if isinstance(action, act.Relay):
            way.outlet.put(line)
            treatment = "relayed"
        elif isinstance(action, act.Rewrite):
            way.outlet.put(action.line)
            treatment = "rewritten"
        self._count(way, treatment, line)

    def _count(self, way: _Way, treatment: Treatment, line: bytes) -> None:
        self._traffic.count(way.direction, treatment, 1, len(line))
        trace = self.trace
        if trace is not None:
            trace(way.direction, treatment, line)

    def _inject(self, line: bytes, towards: _Way, way: _Way | None) -> None:
        towards.outlet.put(line)
        self._count(towards, "injected", line)
        if way is not towards:
            towards.outlet.nudge()


def _read(source: int) -> bytes:
    """What a peer sent, nothing at its end."""
    while True:
        try:
            return os.read(source, _CHUNK)
        except BlockingIOError:  # Whoever started the proxy shares the descriptor, and made it so.
            select.select([source], [], [])
        except OSError:
            return b""
