"""Replay a recording of a client and an agent through the engine, on a clock of its own.

The recordings were made without the proxy. The client's lines and the agent's come in the recorded order; the engine
decides about each, and its timers fire when the recorded time reaches them. Where the engine keeps a request of the
client's and sends one of its own in its place, the recorded response is delivered under the id of the engine's; where
it keeps one without asking the agent, that response never existed and is left out. Everything else that the agent
said stays, also what it would not have said to the engine's wording: it is an agent that does as it likes.

What the engine asks of the world beside the wire is answered here, too. The log of Claude's session is played from a
recorded one where there is one (see ``session_log``); otherwise the agent is one on another machine, whose log nobody
sees. Qwen, asked for its goal after a session was loaded, answers with the last state that it told.

One line is made up. Asked by its control method before the first prompt, codex-acp up to 2.2.2 takes a goal and
publishes nothing; so the engine asks by a prompt instead, and to a prompt these versions publish the goal at once.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from goalproxy.mappers import choose
from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import AgentGone, Event, FromAgent, FromClient, LogRead, TimerFired
from goalproxy.proxy.wire.envelope import Envelope, peek
from goalproxy.proxy.wire.extension import CONTROL_METHODS

from .session_log import LOG_OF, Entry, Following, SessionLog, schedule

TRANSCRIPTS = Path(__file__).parent / "transcripts"
TOKEN = "0f1e2d3c"
"""The random part of the engine's ids, so that a leak of one is seen."""

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
ENDING = frozenset({"session/close", "session/delete"})
QWEN_QUESTION = "qwen/control/session/goal/get"

_DIRECTIONS: dict[str, Literal["client", "agent"]] = {
    "c>a": "client",
    "c2a": "client",
    "a>c": "agent",
    "a2c": "agent",
    "a2c-raw": "agent",
}
_SOME_DAY = 1_795_990_000_000
_FIRST_MILLISECOND = 10**12

Json = dict[str, Any]


class Wire(NamedTuple):
    """A recording and how it is replayed.

    ``as_plain`` takes AIR out of what the client declares, ``local`` plays the log of Claude's session beside it.
    """

    name: str
    as_plain: bool = False
    local: bool = False

    def label(self) -> str:
        """The name of a test."""
        return self.name + "-plain" * self.as_plain + "-log" * self.local


class Line(NamedTuple):
    """A recorded line: when (Unix milliseconds), by whom, and the line."""

    at: int
    by: Literal["client", "agent"]
    line: bytes


class Got(NamedTuple):
    """A line that a peer got.

    ``how`` is the treatment, ``origin`` the place of the recorded line that it came of (-1 if it came of a timer or of
    the log), ``at`` the time in Unix milliseconds, and ``after`` the place of the last recorded line before it.
    """

    line: bytes
    how: Literal["relayed", "rewritten", "injected"]
    origin: int
    at: int
    after: int

    @property
    def message(self) -> Json:
        """The line decoded; empty if it is not one JSON object."""
        return decode(self.line)


def decode(line: bytes) -> Json:
    """A line decoded; empty if it is not one JSON object."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def encode(message: Any) -> bytes:
    """A message as agents write it: compact, and not escaped."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def ident(message: Json) -> str:
    """The id of a message with its type."""
    return json.dumps(message["id"])


def is_request(message: Json) -> bool:
    """Whether a message wants an answer."""
    return "method" in message and "id" in message


def is_control(message: Json) -> bool:
    """Whether a message of the client asks for a change of a goal by a control method."""
    return message.get("method") in CONTROL_METHODS


def is_response(message: Json) -> bool:
    """Whether a message is an answer."""
    return "method" not in message and "id" in message


def at(value: Any, *path: str) -> Any:
    """The value at a path of keys, None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def snapshots(message: Json) -> Iterator[tuple[str, Json | None]]:
    """The session and the goal of an update that says something of a goal in the neutral extension."""
    update = at(message, "params", "update")
    meta = at(update, "_meta")
    if at(update, "sessionUpdate") == "session_info_update" and isinstance(meta, dict) and "goal" in meta:
        yield message["params"]["sessionId"], meta["goal"]


def wires() -> list[str]:
    """The recordings of a client and an agent; the others are of other protocols."""
    paths = [path for room in ("codex", "claude", "others") for path in sorted((TRANSCRIPTS / room).glob("*.jsonl"))]
    others = ("app-server", "raw-sdk")
    return [
        path.relative_to(TRANSCRIPTS).as_posix().removesuffix(".jsonl")
        for path in paths
        if not path.name.startswith(others) and not path.name.endswith(".mcp.jsonl")
    ]


def is_air(name: str) -> bool:
    """Whether a Codex recording was made with a client that declares AIR."""
    return name.startswith("codex/") and "air" in name.partition("+")[2].partition(".")[0]


def load(name: str, *, as_plain: bool = False) -> list[list[Line]]:
    """The lines of a recording, one list for each process of the agent.

    ``as_plain`` takes AIR out of what the client declares. Recorded times are seconds since some start; the goals in
    the recording, or the times of titles, tell when that was.
    """
    records = [
        json.loads(text) for text in (TRANSCRIPTS / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if text
    ]
    start = _start(records)
    segments: list[list[Line]] = []
    for record in records:
        by = _DIRECTIONS.get(record["dir"])
        if by is None:
            continue
        message = record["msg"]
        if by == "client" and message.get("method") == "initialize":
            segments.append([])
            message = _without_air(message) if as_plain else message
        line = encode(message) if isinstance(message, dict) else message.encode() + b"\n"
        segments[-1].append(Line(start + round(record["t"] * 1000), by, line))
    return segments


def _start(records: list[Json]) -> int:
    for record in records:
        told = at(record["msg"], "params", "update", "updatedAt") if isinstance(record["msg"], dict) else None
        if isinstance(told, str):
            return round(datetime.fromisoformat(told).timestamp() * 1000) - round(float(record["t"]) * 1000)
        for goal in _goals(record["msg"]):
            created: int = goal.get("createdAt") or 0
            if created:
                milliseconds = created if created >= _FIRST_MILLISECOND else created * 1000
                return milliseconds - round(float(record["t"]) * 1000)
    return _SOME_DAY


def _goals(message: Any) -> Iterator[Json]:
    meta = at(message, "params", "update", "_meta") if isinstance(message, dict) else None
    for path in (("goal",), ("codex", "goal"), ("jetbrains", "air", "goal")):
        goal = at(meta, *path)
        if isinstance(goal, dict):
            yield goal


def _without_air(message: Json) -> Json:
    params = dict(message["params"])
    for key in ("clientCapabilities", "capabilities"):
        if key in params:
            params[key] = {name: value for name, value in params[key].items() if name != "_meta"}
    return {**message, "params": params}


def _heard(lines: list[Line]) -> list[Json]:
    return [decode(line.line) for line in lines if line.by == "agent"]


class World:
    """What lasts when the agent's process ends: the log of its session, and the last goal that Qwen told."""

    def __init__(self, wire: Wire, segments: list[list[Line]]) -> None:
        self.entries = schedule(LOG_OF[wire.name], segments) if wire.local else []
        self.log = SessionLog(is_there=wire.local)
        self.goal_state: Json = {"v": 2, "goal": None, "activity": "idle"}


class Replay:
    """One process of the agent, replayed.

    Afterwards ``client`` and ``agent`` hold what each got; ``kept`` the ids of the client's requests that the engine
    kept for itself, ``ending`` the place in ``client`` from which on the agent was gone.
    """

    def __init__(self, lines: list[Line], policy: Policy, world: World, segment: int) -> None:
        self.lines = lines
        self.client: list[Got] = []
        self.agent: list[Got] = []
        self.kept: set[str] = set()
        self._engine = Engine(policy, choose, TOKEN, lambda: "secret")
        self._timers: list[tuple[int, int, str]] = []
        self._count = itertools.count()
        self._instead: dict[str, str] = {}
        self._heard = -1
        self._world = world
        self._following = Following(world.log)
        self._session = ""
        self._answers: deque[tuple[str, Any]] = deque()
        entries: dict[int, list[Entry]] = {}
        for entry in world.entries:
            if entry.segment == segment:
                entries.setdefault(entry.place, []).append(entry)
        self._granted = {ident(message) for message in _heard(lines) if is_response(message) and "result" in message}
        for place, line in enumerate(lines):
            for entry in entries.get(place, ()):
                self._write_log(entry)
            self._run_timers(line.at)
            self._heard = place
            self._hear(place, line)
        last = lines[-1].at
        while self._timers:
            last = self._timers[0][0]
            self._run_timers(last)
        self.ending = len(self.client)
        self._perform(AgentGone(last + 1), -1, None)

    def answers(self) -> list[str]:
        """The ids of all answers that the client got, the agent's last breath included."""
        return [ident(got.message) for got in self.client if is_response(got.message)]

    def _run_timers(self, until: int) -> None:
        while self._timers and self._timers[0][0] <= until:
            due, _, key = heapq.heappop(self._timers)
            self._perform(TimerFired(key, due), -1, None)

    def _write_log(self, entry: Entry) -> None:
        self._run_timers(entry.at)
        self._world.log.lines.append(entry.line)
        if self._following.followed:
            self._read_log(entry.at, history=False)

    def _read_log(self, now: int, *, history: bool) -> None:
        lines, found = self._following.read()
        self._perform(LogRead(self._session, lines, found, history, now), -1, None)

    def _answer(self, now: int) -> None:
        """Answer what the engine asked while it handled an event: looks at the log, and Qwen's goal."""
        while self._answers:
            kind, value = self._answers.popleft()
            if kind == "log":
                self._read_log(now, history=value)
                continue
            line = encode({"jsonrpc": "2.0", "id": value, "result": {"snapshot": self._world.goal_state}})
            envelope = peek(line)
            assert envelope is not None
            self._perform(FromAgent(line, envelope, now), -1, Line(now, "agent", line))

    def _hear(self, place: int, line: Line) -> None:
        if line.by == "client":
            self._from_client(place, line)
            return
        message = decode(line.line)
        self._world.goal_state = at(message, "params", "update", "_meta", "goalState") or self._world.goal_state
        if is_response(message) and ident(message) in self.kept:
            instead = self._instead.get(ident(message))
            if instead is None:
                return
            line = line._replace(line=encode({**message, "id": instead}))
        envelope = peek(line.line)
        if envelope is not None and self._concerns_agent(envelope, line.line):
            self._perform(FromAgent(line.line, envelope, line.at), place, line)
        else:
            self.client.append(Got(line.line, "relayed", place, line.at, self._heard))

    def _concerns_agent(self, envelope: Envelope, line: bytes) -> bool:
        mark = self._engine.mark
        return self._engine.concerns_agent(envelope) or (mark is not None and mark in line)

    def _from_client(self, place: int, line: Line) -> None:
        envelope = peek(line.line)
        if envelope is None or not self._engine.concerns_client(envelope):
            self.agent.append(Got(line.line, "relayed", place, line.at, self._heard))
            return
        before = len(self.agent)
        if self._perform(FromClient(line.line, envelope, line.at), place, line) != "swallowed":
            return
        message = decode(line.line)
        if is_request(message):
            self.kept.add(ident(message))
            for got in self.agent[before:]:
                if is_request(got.message):
                    self._instead[ident(message)] = got.message["id"]
                    self._grant(message, got.message, line.at)

    def _grant(self, asked: Json, instead: Json, now: int) -> None:
        """Publish the goal of a control that was put into a prompt, if the agent granted the control."""
        if not is_control(asked) or instead["method"] != "session/prompt" or ident(asked) not in self._granted:
            return
        if asked["params"]["action"] != "set":
            return
        created = next(self._created_after(now), now)
        goal = {
            "objective": asked["params"]["objective"].strip(),
            "status": "active",
            "tokenBudget": None,
            "tokensUsed": 0,
            "timeUsedSeconds": 0,
            "createdAt": created,
            "updatedAt": created,
            "controlMethod": "_session/goal",
        }
        update = {"sessionUpdate": "session_info_update", "_meta": {"goal": goal}}
        line = encode(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": asked["params"]["sessionId"], "update": update},
            }
        )
        envelope = peek(line)
        assert envelope is not None
        self._perform(FromAgent(line, envelope, now), -1, Line(now, "agent", line))

    def _created_after(self, now: int) -> Iterator[int]:
        for line in self.lines:
            if line.by == "agent" and line.at >= now:
                yield from (goal["createdAt"] for goal in _goals(decode(line.line)))

    def _perform(self, event: Event, place: int, line: Line | None) -> str:
        treatments: list[str] = []
        for action in self._engine.handle(event):
            if isinstance(action, act.SetTimer):
                heapq.heappush(self._timers, (event.now + action.after, next(self._count), action.key))
            elif isinstance(action, act.ToClient):
                self.client.append(Got(action.line, "injected", place, event.now, self._heard))
            elif isinstance(action, act.ToAgent):
                self.agent.append(Got(action.line, "injected", place, event.now, self._heard))
                self._ask(decode(action.line))
            elif isinstance(action, act.FollowLog | act.ReadLog | act.LeaveLog):
                self._look(action)
            elif not isinstance(action, act.Record):
                treatments.append(self._forward(action, place, line))
        self._answer(event.now)
        assert len(treatments) == (0 if line is None else 1), f"{treatments} for {line}"
        return treatments[0] if treatments else ""

    def _ask(self, message: Json) -> None:
        if message.get("method") == QWEN_QUESTION:
            self._answers.append(("goal", message["id"]))

    def _look(self, action: act.FollowLog | act.ReadLog | act.LeaveLog) -> None:
        """What the log follower does, without its thread."""
        self._session = action.session_id
        if isinstance(action, act.LeaveLog):
            self._following.followed = False
        elif isinstance(action, act.ReadLog):
            self._answers.append(("log", False))
        else:
            self._following.follow(history=action.history)
            if action.history:
                self._answers.append(("log", True))

    def _forward(self, action: act.Relay | act.Rewrite | act.Swallow, place: int, line: Line | None) -> str:
        assert line is not None, "an answer to no line"
        towards = self.agent if line.by == "client" else self.client
        if isinstance(action, act.Relay):
            towards.append(Got(line.line, "relayed", place, line.at, self._heard))
            return "relayed"
        if isinstance(action, act.Rewrite):
            towards.append(Got(action.line, "rewritten", place, line.at, self._heard))
            return "rewritten"
        return "swallowed"


def replay(wire: Wire) -> list[Replay]:
    """Replay all processes of a recording.

    The policy for ``session/cancel`` is "turn": under "pause" the engine sends a control of its own, to which a
    recorded agent has no answer, and which would have changed everything that it said afterwards.
    """
    policy = Policy(on_cancel="turn", goals="native", declares_air=wire.name.startswith("codex/"))
    segments = load(wire.name, as_plain=wire.as_plain)
    world = World(wire, segments)
    return [Replay(lines, policy, world, segment) for segment, lines in enumerate(segments)]
