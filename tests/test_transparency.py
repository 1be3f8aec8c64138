"""Whatever the protocol can say, and is no goal matter, goes through the proxy as the same bytes.

The messages are made from the protocol's own schemas (see ``schema``). Each goes through engines that have met four
kinds of agents. What an engine may change is stated here anew, as a rule on the meaning of a message: where the rule
takes nothing away, the bytes must be the same; where it does, what it leaves must be spelled as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from goalproxy.mappers import choose
from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import FromAgent, FromClient
from goalproxy.proxy.wire import extension
from goalproxy.proxy.wire.envelope import peek

from .schema import HOME, SESSION, Members, Raw, Shape, Side, is_installed, make, make_id, read, shapes, text_of, write

NOW = 1_796_000_000_000
SHAPES = shapes()
OPENING = {"session/new", "session/load", "session/resume", "session/fork"}
ENTRIES = [extension.command_entry(version) for version in (1, 2)]
OPAQUE = {"rawInput", "rawOutput"}
Json = dict[str, Any]


class Kind(NamedTuple):
    """An agent: how it introduces itself, and what the rule has to know of it. ``keeps_goals``: it, or the proxy for it."""

    name: str
    info: Json
    meta: Json
    keeps_goals: bool = True
    publishes_neutral: bool = False
    hides_air: bool = False
    is_owned: bool = False


NEUTRAL = {"goal": {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "clear"]}}
SILENT = Kind("silent", {"name": "other", "version": "1"}, {}, keeps_goals=False)
KINDS = {
    1: [
        SILENT,
        Kind("owned", {"name": "other", "version": "1"}, {}, is_owned=True),
        Kind("neutral", {"name": "other", "version": "1"}, NEUTRAL, publishes_neutral=True),
        Kind("codex-2.6", {"name": "@agentclientprotocol/codex-acp", "version": "2.6.0"}, {}, hides_air=True),
        Kind("codex-1.1.7", {"name": "@agentclientprotocol/codex-acp", "version": "1.1.7"}, {}),
    ],
}
KINDS[2] = KINDS[1][:4]

# A seed, and not hypothesis' own random decisions: those take ten times as long, and a message is shown as it is anyway.
quickly = settings(max_examples=20, deadline=None, derandomize=True, phases=[Phase.generate])
seeds = st.integers(min_value=0, max_value=2**32)


class Outcome(NamedTuple):
    """What became of a line: what goes on in its place (None for nothing), and what was injected beside it."""

    line: bytes | None
    how: Literal["relayed", "rewritten", "swallowed"]
    injected: list[Json]


class Wire:
    """An engine between a plain client and an agent, which have met already unless ``greeted`` is False."""

    def __init__(self, kind: Kind, version: int, *, greeted: bool = True) -> None:
        policy = Policy(declares_air=kind.hides_air, goals="auto" if kind.keeps_goals else "native")
        self._engine = Engine(policy, choose, "0f1e2d3c", lambda: "secret")
        self._version = version
        self._kind = kind
        key = "capabilities" if version == 2 else "clientCapabilities"
        self.send("client", _line(id="hello", method="initialize", params={"protocolVersion": version, key: {}}))
        if greeted:
            self.send("agent", _line(id="hello", result=self.introduction()))
            self.send("client", _line(id="open", method="session/new", params={"cwd": "/", "mcpServers": []}))
            self.send("agent", _line(id="open", result={"sessionId": SESSION}))

    def introduction(self) -> Json:
        """The result of ``initialize``."""
        info = "info" if self._version == 2 else "agentInfo"
        return {"protocolVersion": self._version, info: self._kind.info, "_meta": self._kind.meta}

    def send(self, by: Side, line: bytes) -> Outcome:
        """Let a line through, as the relay does."""
        envelope = peek(line)
        mark = self._engine.mark
        if envelope is None:
            return Outcome(line, "relayed", [])
        if by == "client":
            concerned = self._engine.concerns_client(envelope)
            event: FromClient | FromAgent = FromClient(line, envelope, NOW)
        else:
            concerned = self._engine.concerns_agent(envelope) or (mark is not None and mark in line)
            event = FromAgent(line, envelope, NOW)
        return _outcome(line, self._engine.handle(event)) if concerned else Outcome(line, "relayed", [])


def _outcome(line: bytes, actions: list[act.Action]) -> Outcome:
    verdicts = [action for action in actions if isinstance(action, (act.Relay, act.Rewrite, act.Swallow))]
    assert len(verdicts) == 1, f"{verdicts} for {line!r}"
    injected = [json.loads(action.line) for action in actions if isinstance(action, (act.ToClient, act.ToAgent))]
    if isinstance(verdicts[0], act.Relay):
        return Outcome(line, "relayed", injected)
    if isinstance(verdicts[0], act.Rewrite):
        return Outcome(verdicts[0].line, "rewritten", injected)
    return Outcome(None, "swallowed", injected)


def _line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


# The rule: what of a message is a goal matter. All of it works on spelled values, see ``schema.read``.


def without_goals(value: Any, kind: Kind, by: Side) -> Any:
    """What the proxy has to leave alone; the value itself if that is all of it."""
    if by == "client":
        return _without_declarations(value) if _text(value, "method") == "initialize" else value
    left = without_owed(value, kind)
    return _without_promise(left) if kind.keeps_goals and _is_introduction(value) else left


def without_owed(value: Any, kind: Kind) -> Any:
    """A message of the agent without what must not reach the client."""
    left = _without_air(value) if kind.hides_air else value
    told = _text(value, "params", "update", "sessionUpdate") in {"session_info_update", "state_update"}
    # A "_meta" that is null is no goal matter: in version 2 it says something of its own.
    ours = kind.is_owned and _text(value, "params", "sessionId") == SESSION
    denied = ours and _get(value, "params", "update", "_meta", "goal") == "null"
    says = kind.publishes_neutral and "goal" in _names(_get(value, "params", "update", "_meta"))
    owed = told and (says or denied)
    return _without(left, "params", "update", "_meta", "goal") if owed else left


def _is_introduction(value: Any) -> bool:
    return _get(value, "result", "protocolVersion") is not None


def _without_declarations(value: Any) -> Any:
    for key in ("clientCapabilities", "capabilities"):
        for path in (("goal",), ("jetbrains", "air"), ("terminal_output_delta",)):
            value = _without(value, "params", key, "_meta", *path)
    return value


def _without_promise(value: Any) -> Any:
    for path in ((), ("agentCapabilities",), ("capabilities",)):
        value = _without(value, "result", *path, "_meta", "goal")
    return value


def _without_air(value: Any) -> Any:
    if isinstance(value, Members):
        left = Members()
        for key, entry in value:
            name = text_of(key)
            inner = entry if name in OPAQUE else _without_air(entry)
            if name == "_meta" and isinstance(entry, Members) and any(text_of(at) == "jetbrains" for at, _ in entry):
                inner = Members((at, what) for at, what in entry if text_of(at) != "jetbrains")
                if not inner:
                    continue
            left.append((key, inner))
        return left
    return [_without_air(entry) for entry in value] if isinstance(value, list) else value


def _without(value: Any, *path: str) -> Any:
    """Without the key at a path, and without the objects on the way that are empty then, or were null."""
    if not isinstance(value, Members):
        return value
    left = Members()
    for key, entry in value:
        if text_of(key) != path[0]:
            left.append((key, entry))
        elif len(path) > 1 and entry != "null":
            inner = _without(entry, *path[1:])
            if inner or not isinstance(inner, Members):
                left.append((key, inner))
    return left


def _get(value: Any, *path: str) -> Any:
    for name in path:
        entries = [entry for key, entry in value if text_of(key) == name] if isinstance(value, Members) else []
        value = entries[-1] if entries else None
    return value


def _text(value: Any, *path: str) -> str:
    found = _get(value, *path)
    return text_of(found) if isinstance(found, Raw) and found.startswith('"') else ""


def _commands(value: Any) -> Any:
    in_update = _get(value, "params", "update", "availableCommands")
    is_list = _text(value, "params", "update", "sessionUpdate") == "available_commands_update"
    return in_update if is_list else _get(value, "result", "availableCommands")


# The property


def check(line: bytes, outcome: Outcome, kind: Kind, by: Side) -> None:
    """Say what is wrong with what became of a line, if anything is."""
    assert all(_is_goal_matter(message) for message in outcome.injected)
    before = read(line.decode())
    expected = without_goals(before, kind, by)
    if expected == before and not _is_completed(before, kind, by):
        assert outcome.line == line
        return
    if outcome.line is None:
        assert set(_names(_get(expected, "params", "update"))) <= {"sessionUpdate"}
        return
    after = read(outcome.line.decode())
    assert by == "client" or without_owed(after, kind) == after
    _check_spans(line.decode(), outcome.line.decode(), before, after)
    if _is_completed(before, kind, by):
        after = _without_entry(after)
    assert without_goals(after, kind, by) == expected


def _is_completed(value: Any, kind: Kind, by: Side) -> bool:
    """Whether something may be added to a message."""
    if by == "client":
        return _text(value, "method") == "initialize"
    return kind.keeps_goals and (_is_introduction(value) or isinstance(_commands(value), list))


def _is_goal_matter(message: Json) -> bool:
    update = message["params"]["update"]
    kind = update.pop("sessionUpdate")
    if kind == "session_info_update":
        return set(update) == {"_meta"} and set(update["_meta"]) == {"goal"}
    return kind == "available_commands_update" and all(entry in ENTRIES for entry in update["availableCommands"])


def _names(value: Any) -> Iterator[str]:
    return (text_of(key) for key, _ in value) if isinstance(value, Members) else iter(())


def _without_entry(value: Any) -> Any:
    """Without the entry with which the proxy completes a list of commands; it stands last."""
    if not isinstance(value, Members):
        return value
    left = Members()
    for key, entry in value:
        if text_of(key) == "availableCommands" and entry and _meaning(entry[-1]) in ENTRIES:
            left.append((key, entry[:-1]))
        else:
            left.append((key, _without_entry(entry)))
    return left


def _meaning(value: Any) -> Any:
    if isinstance(value, Members):
        return {text_of(key): _meaning(entry) for key, entry in value}
    if isinstance(value, list):
        return [_meaning(entry) for entry in value]
    return json.loads(value)


def _check_spans(text: str, changed: str, before: Any, after: Any) -> None:
    """Every top-level value that was not touched stands in the new text as it did, white space and all."""
    for (key, entry), (start, end) in zip(before, _spans(text), strict=True):
        if (key, entry) in after:
            assert text[start:end] in changed


def _spans(text: str) -> Iterator[tuple[int, int]]:
    scan = json.JSONDecoder(strict=False, parse_int=str).raw_decode
    at = text.index("{") + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            return
        start = at
        _, at = scan(text, at)
        at = text.index(":", at) + 1
        while text[at] in " \t\r\n":
            at += 1
        _, at = scan(text, at)
        yield start, at


def _message(shape: Shape, random: Random, ident: Raw, body: Any) -> bytes:
    members = [("jsonrpc", "2.0")]
    fields: list[tuple[str, Any]] = {
        "request": [("id", ident), ("method", shape.method), ("params", body)],
        "notification": [("method", shape.method), ("params", body)],
        "response": [("id", ident), ("result", body)],
    }[shape.kind]
    if random.random() < 0.2:
        fields += [("x-more", body if random.random() < 0.2 else None)]
    random.shuffle(fields)
    return write(Members(members + fields), random).encode() + b"\n"


def _asked(shape: Shape, wire: Wire, ident: Raw) -> None:
    """Let the client ask what the response answers."""
    if shape.kind == "response" and shape.by == "agent" and shape.method != "initialize":
        params = json.dumps({"sessionId": SESSION, "prompt": [{"type": "text", "text": "hi"}]})
        wire.send("client", f'{{"id":{ident},"method":{json.dumps(shape.method)},"params":{params}}}\n'.encode())


def _introduce(body: Members, wire: Wire) -> Members:
    """An introduction that says which agent it is."""
    known = {key: _spelled(value) for key, value in wire.introduction().items()}
    for key, value in body:
        if key == "_meta":
            known["_meta"] += [(name, entry) for name, entry in value or [] if name != "goal"]
    return Members([*((key, value) for key, value in body if key not in known), *known.items()])


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return Members((key, _spelled(entry)) for key, entry in value.items())
    if isinstance(value, list):
        return [_spelled(entry) for entry in value]
    return value if isinstance(value, str) else Raw(json.dumps(value))


def test_schemas_are_installed() -> None:
    assert is_installed(), f"no schemas in {HOME}: run `make schema`"
    assert {(shape.version, shape.stable) for shape in SHAPES} == {(1, True), (1, False), (2, True), (2, False)}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@quickly
@given(seed=seeds)
def test_message_passes_but_for_goals(shape: Shape, seed: int) -> None:
    random = Random(seed)
    body, ident = make(shape, random), make_id(random)
    for kind in KINDS[shape.version]:
        is_introduction = shape.definition == "InitializeResponse"
        wire = Wire(kind, shape.version, greeted=shape.method != "initialize")
        if is_introduction:
            ident = Raw('"hello"')
        _asked(shape, wire, ident)
        line = _message(shape, random, ident, _introduce(body, wire) if is_introduction else body)
        check(line, wire.send(shape.by, line), kind, shape.by)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("method", sorted({shape.method for shape in SHAPES if shape.by == "client"}))
@quickly
@given(seed=seeds)
def test_error_of_the_agent_passes(version: int, method: str, seed: int) -> None:
    random = Random(seed)
    ident = make_id(random)
    data = Members([("details", "no goal exists"), ("_meta", Members([("goal", None)])), ("big", Raw("1e400"))])
    error = Members([("code", Raw("-32603")), ("message", "Internal error"), ("data", data)])
    line = write(Members([("id", ident), ("error", error)]), random).encode() + b"\n"
    for kind in KINDS[version]:
        wire = Wire(kind, version)
        params = json.dumps({"sessionId": SESSION, "prompt": [{"type": "text", "text": "hi"}]})
        wire.send("client", f'{{"id":{ident},"method":{json.dumps(method)},"params":{params}}}\n'.encode())
        outcome = wire.send("agent", line)
        assert outcome.line == line
        assert all(_is_goal_matter(message) for message in outcome.injected)
