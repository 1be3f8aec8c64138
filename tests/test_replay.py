"""Every recording of a real client and agent, with the proxy put between them.

What a client sees through the proxy may differ from what it saw without only by goal matters: snapshots, the
capability, the completed list of commands, and the answers to what the proxy carries out itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

import pytest

from goalproxy.proxy.core.controls import GRACE
from goalproxy.proxy.wire import extension

from .replay import (
    ENDING,
    OPENING,
    TOKEN,
    Json,
    Replay,
    Wire,
    at,
    decode,
    ident,
    is_air,
    is_control,
    is_request,
    is_response,
    replay,
    snapshots,
    wires,
)
from .session_log import LOG_OF

AS_RECORDED = [Wire(name) for name in wires()]
AS_PLAIN = [Wire(name, as_plain=True) for name in wires() if is_air(name)]
"""The same agents, which declared AIR was for, with a client that declares nothing: the proxy declares it."""
LOCAL = [Wire(name, local=True) for name in wires() if name in LOG_OF]
"""The same agents, on the proxy's own machine: it can read the log of the session."""

each_wire = pytest.mark.parametrize("wire", AS_RECORDED + AS_PLAIN + LOCAL, ids=Wire.label)

STATUSES = {"active", "paused", "blocked", "limited", "complete"}
TOOLS_OWN = {"rawInput", "rawOutput"}
PROXY_ENTRIES = [extension.command_entry(version) for version in (1, 2)]


@cache
def replayed(wire: Wire) -> list[Replay]:
    return replay(wire)


def test_all_recordings_of_wires_are_found() -> None:
    assert len(wires()) > 200
    assert len(AS_PLAIN) > 25


# What the client sees


@each_wire
def test_client_sees_what_was_recorded_but_for_goals(wire: Wire) -> None:
    for run in replayed(wire):
        recorded = [decode(line.line) for line in run.lines if line.by == "agent"]
        seen = [got.message for got in run.client[: run.ending]]
        expected = list(_without_goals(run, recorded, as_plain=wire.as_plain))
        actual = list(_without_goals(run, seen, as_plain=False))
        assert actual == expected


@each_wire
def test_line_without_goal_matters_is_relayed_as_the_same_bytes(wire: Wire) -> None:
    for run in replayed(wire):
        forwarded = {got.origin: got for got in run.client if got.how != "injected"}
        for place, line in enumerate(run.lines):
            if line.by == "agent" and _is_untouchable(run, line.line, as_plain=wire.as_plain):
                assert forwarded[place].line == line.line


@each_wire
def test_proxy_injects_goal_matters_only(wire: Wire) -> None:
    for run in replayed(wire):
        injected = [got.message for got in run.client if got.how == "injected"]
        assert [message for message in injected if not _is_goal_matter(run, message)] == []


@each_wire
def test_agent_gets_every_line_that_is_no_goal_matter_as_the_same_bytes(wire: Wire) -> None:
    for run in replayed(wire):
        forwarded = {got.origin: got.line for got in run.agent if got.how != "injected"}
        for place, line in enumerate(run.lines):
            message = decode(line.line)
            if line.by == "client" and not is_control(message) and not _holds_command(message):
                if message.get("method") == "initialize":
                    assert _without_declarations(decode(forwarded[place])) == _without_declarations(message)
                else:
                    assert forwarded[place] == line.line


def _without_goals(run: Replay, messages: list[Json], *, as_plain: bool) -> Iterator[Json]:
    """What is left of the agent's side without goal matters, and with ``as_plain`` without AIR."""
    for message in messages:
        if is_response(message) and ident(message) in run.kept:
            continue
        if _is_spoken(run, message):
            continue
        kind = at(message, "params", "update", "sessionUpdate")
        left = _drop_air(message) if as_plain else message
        left = _drop_capability(_drop_snapshot(_drop_entry(left)))
        if kind == "session_info_update" and set(left["params"]["update"]) <= {"sessionUpdate"}:
            continue
        if kind == "available_commands_update" and not left["params"]["update"]["availableCommands"]:
            continue
        yield left


def _is_spoken(run: Replay, message: Json) -> bool:
    """Whether the proxy said this to the client in answer to a prompt that it kept."""
    lines = {got.line for got in run.client if got.how == "injected"}
    kind = at(message, "params", "update", "sessionUpdate")
    compact = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    return compact in lines and kind in {"agent_message_chunk", "user_message", "state_update"}


def _drop_air(value: Any) -> Any:
    if isinstance(value, list):
        return [_drop_air(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    left = {key: entry if key in TOOLS_OWN else _drop_air(entry) for key, entry in value.items()}
    meta = left.get("_meta")
    if isinstance(meta, dict) and "jetbrains" in meta:
        del meta["jetbrains"]
        if not meta:
            del left["_meta"]
    return left


def _drop(message: Json, *path: str) -> Json:
    """A copy without the key at a path and without the objects that this leaves empty."""
    if not path or path[0] not in message:
        return message
    rest = {key: value for key, value in message.items() if key != path[0]}
    if len(path) == 1:
        return rest
    inner = message[path[0]]
    left = _drop(inner, *path[1:]) if isinstance(inner, dict) else inner
    return {key: left if key == path[0] else value for key, value in message.items() if key != path[0] or left}


def _drop_snapshot(message: Json) -> Json:
    if at(message, "params", "update", "sessionUpdate") != "session_info_update":
        return message
    air = at(message, "params", "update", "_meta", "jetbrains", "air")
    if isinstance(air, dict) and set(air) == {"version", "goal"}:
        message = _drop(message, "params", "update", "_meta", "jetbrains", "air", "version")
    message = _drop(message, "params", "update", "_meta", "jetbrains", "air", "goal")
    return _drop(message, "params", "update", "_meta", "goal")


def _drop_capability(message: Json) -> Json:
    if at(message, "result", "protocolVersion") is None:
        return message
    for path in (("_meta",), ("agentCapabilities", "_meta"), ("capabilities", "_meta"), ("_meta", "jetbrains", "air")):
        message = _drop(message, "result", *path, "goal")
    return message


def _drop_entry(message: Json) -> Json:
    """Without the proxy's own entry, exactly; an entry of the agent's stays."""
    for holder in ("result", "params"):
        place = at(message, holder, "update") if holder == "params" else at(message, holder)
        commands = at(place, "availableCommands")
        if isinstance(commands, list):
            left = [entry for entry in commands if entry not in PROXY_ENTRIES]
            place = {**place, "availableCommands": left}
            inner = {**message[holder], "update": place} if holder == "params" else place
            return {**message, holder: inner}
    return message


def _is_untouchable(run: Replay, line: bytes, *, as_plain: bool) -> bool:
    message = decode(line)
    if is_response(message) and (ident(message) in run.kept or at(message, "result", "protocolVersion") is not None):
        return False
    if as_plain and _drop_air(message) != message:
        return False
    commands = at(message, "params", "update", "availableCommands") or at(message, "result", "availableCommands") or []
    if commands and all(entry["name"] != "goal" for entry in commands):
        return False
    air = at(message, "params", "update", "_meta", "jetbrains", "air")
    return not list(snapshots(message)) and not (isinstance(air, dict) and "goal" in air)


def _is_goal_matter(run: Replay, message: Json) -> bool:
    if is_response(message):
        return ident(message) in run.kept
    update = at(message, "params", "update") or {}
    if update.get("sessionUpdate") == "available_commands_update":
        return all(entry in PROXY_ENTRIES for entry in update["availableCommands"])
    return list(snapshots(message)) != [] or _is_spoken(run, message)


def _holds_command(message: Json) -> bool:
    prompt = at(message, "params", "prompt")
    return isinstance(prompt, list) and any(str(at(block, "text")).lstrip().startswith("/goal") for block in prompt)


def _without_declarations(message: Json) -> Json:
    for key in ("capabilities", "clientCapabilities"):
        for path in (("goal",), ("jetbrains", "air"), ("terminal_output_delta",)):
            message = _drop(message, "params", key, "_meta", *path)
    return message


# Invariants


@each_wire
def test_snapshot_comes_only_for_a_session_that_the_client_knows(wire: Wire) -> None:
    for run in replayed(wire):
        known: set[str] = set()
        asked: dict[str, tuple[Json, bool]] = {}
        for message, from_client in _dialogue(run):
            if from_client and is_request(message) and message["method"] in OPENING | ENDING:
                session = at(message, "params", "sessionId") or ""
                asked[ident(message)] = message, session in known
                known.discard(session)
            elif not from_client and is_response(message) and ident(message) in asked:
                known |= _known_after(message, *asked.pop(ident(message)))
            elif not from_client:
                assert all(session in known for session, _ in snapshots(message))


def _known_after(response: Json, request: Json, was_known: bool) -> set[str]:  # noqa: FBT001
    """The session that a client knows after an answer. What fails changes nothing."""
    session = at(response, "result", "sessionId") or at(request, "params", "sessionId")
    known = was_known if "error" in response else request["method"] in OPENING
    return {session} if known else set()


@each_wire
def test_snapshot_is_valid_and_later_than_the_one_before(wire: Wire) -> None:
    for run in replayed(wire):
        last: dict[str, int] = {}
        for session, goal in _goals_seen(run):
            if goal is None:
                continue
            assert isinstance(goal["objective"], str)
            assert goal["objective"].strip()
            assert goal["status"] in STATUSES
            assert goal["controlMethod"] == "_session/goal"
            assert type(goal["createdAt"]) is type(goal["updatedAt"]) is int
            assert 10**12 < goal["createdAt"] <= goal["updatedAt"]
            assert goal["updatedAt"] > last.get(session, 0)
            last[session] = goal["updatedAt"]
            counters = [goal[key] for key in ("iterations", "tokensUsed", "timeUsedSeconds") if key in goal]
            assert all(type(value) is int and value >= 0 for value in counters)


@each_wire
def test_snapshot_says_something_new_unless_the_session_was_loaded_again(wire: Wire) -> None:
    for run in replayed(wire):
        last: dict[str, Any] = {}
        for message, from_client in _dialogue(run):
            if from_client and message.get("method") in OPENING:
                last.pop(at(message, "params", "sessionId") or "", None)
            if from_client:
                continue
            if at(message, "params", "update", "sessionUpdate") == "session_info_update":
                update = message["params"]["update"]
                if "_meta" in update and update["_meta"] is None:  # in version 2 this clears what the client had
                    last.pop(message["params"]["sessionId"], None)
            for session, goal in snapshots(message):
                told = goal and {key: value for key, value in goal.items() if key != "updatedAt"}
                assert session not in last or last[session] != told
                last[session] = told


@pytest.mark.parametrize("wire", [wire for wire in AS_RECORDED + LOCAL if "air" in wire.name], ids=Wire.label)
def test_client_that_reads_goals_in_two_places_sees_one_goal(wire: Wire) -> None:
    for run in replayed(wire):
        neutral: Any = None
        air: Any = None
        for message, from_client in _dialogue(run):
            if from_client:
                assert _said(air) == _said(neutral)
            goals = [] if from_client else [goal for _, goal in snapshots(message)]
            neutral = goals[-1] if goals else neutral
            told = at(message, "params", "update", "_meta", "jetbrains", "air")
            air = told["goal"] if isinstance(told, dict) and "goal" in told else air


def _said(goal: Json | None) -> tuple[str, str] | None:
    return None if goal is None else (goal["objective"].strip(), goal["status"])


@each_wire
def test_no_id_of_the_proxy_leaks(wire: Wire) -> None:
    for run in replayed(wire):
        for got in run.client:
            # The id of a message that the proxy itself says is its own to give.
            message = _drop(got.message, "params", "update", "messageId")
            assert TOKEN not in json.dumps(message)


@each_wire
def test_client_requests_are_answered_once_and_none_is_forgotten(wire: Wire) -> None:
    for run in replayed(wire):
        answers = run.answers()
        assert len(answers) == len(set(answers))
        recorded = {ident(m) for m in (decode(line.line) for line in run.lines if line.by == "agent") if is_response(m)}
        # A request that the recorded agent never answered, and that the proxy keeps, is answered all the same.
        assert set(answers) - run.kept == recorded - run.kept
        assert set(answers) >= recorded


def _dialogue(run: Replay) -> Iterator[tuple[Json, bool]]:
    """What the client said and got, in order; True where it spoke."""
    position = 0
    for place, line in enumerate(run.lines):
        if line.by == "client":
            yield decode(line.line), True
        while position < len(run.client) and run.client[position].after <= place:
            yield run.client[position].message, False
            position += 1
    for got in run.client[position:]:
        yield got.message, False


def _goals_seen(run: Replay) -> Iterator[tuple[str, Json | None]]:
    for got in run.client:
        yield from snapshots(got.message)


# Goals


def _sequence(run: Replay) -> list[str]:
    """The goals of the one session of a run, in order, each once: which one (by ``createdAt``), status, objective."""
    states: list[str] = []
    made: list[int] = []
    for _, goal in _goals_seen(run):
        if goal is None:
            state = "none"
        else:
            made.extend([goal["createdAt"]] if goal["createdAt"] not in made else [])
            state = f"{made.index(goal['createdAt']) + 1} {goal['status']} {goal['objective']}"
        if states[-1:] != [state]:
            states.append(state)
    return states


SHIP = ["none", "1 active Ship it"]
SECOND = ["none", "1 active Made by the model", "1 complete Made by the model", "2 active Second", "2 complete Second"]
WORDS = [
    "none",
    "1 active Ship it  \nnow",
    "1 paused Ship it  \nnow",
    "1 active Ship it  \nnow",
    "2 active edit Ship that",
    "3 active status",
    "3 paused status",
    "4 active replaced",
    "none",
]
CONTROL = [*SHIP, "1 paused Ship it", "1 active Ship it", "2 active Ship that", "none"]
PAUSED = [*SHIP, "1 paused Ship it"]

# Scenario, the agents that it was recorded with, and what a client sees of each process of the agent.
EXPECTED: list[tuple[str, str, list[list[str]]]] = [
    ("hello", "1.0.0 1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air", [["none"]]),
    ("goal_complete", "1.0.0", [["none"]]),
    (
        "goal_complete",
        "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air 2.6.0+airmin 2.6.0+v2air 2.6.0-codex171+air",
        [[*SHIP, "1 complete Ship it"]],
    ),
    ("blocked", "1.1.7 1.1.13 1.13.1 2.6.0+air", [[*SHIP, "1 blocked Ship it", "1 active Ship it", "none"]]),
    ("model_error", "1.1.7 1.1.13 1.13.1 2.6.0+air", [[*SHIP, "1 blocked Ship it", "none"]]),
    (
        "usage_limit",
        "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air",
        [[*SHIP, "1 limited Ship it", "1 active Ship it", "1 limited Ship it", "none"]],
    ),
    ("budget", "1.0.0", [["none", "1 active Count", "1 limited Count"]]),
    (
        "budget",
        "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air",
        [["none", "1 active Count", "1 limited Count", "none"]],
    ),
    ("model_goal", "1.0.0", [SECOND[:3]]),
    ("model_goal", "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air", [SECOND]),
    # The recorded agents do not know set and resume, and refuse them in whatever words the proxy asks.
    ("control", "1.1.7 1.1.13", [["none"]]),
    ("control", "1.13.1 2.6.0+air 2.6.0-codex171+air 2.6.0+v2air", [CONTROL]),
    # Recorded without AIR, so the agent publishes nothing: its answers alone are known.
    ("control", "2.6.0 2.6.0+v2", [CONTROL]),
    ("goal_words", "1.0.0", [["none"]]),
    ("goal_words", "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air", [WORDS]),
    ("alias", "1.1.7", [[*PAUSED, "none"]]),
    # The recorded agents refuse the alias that the proxy translates; only the last clear is in their own words.
    ("alias", "1.1.13 1.13.1 2.6.0+air", [[*SHIP, "none"]]),
    ("bad", "1.0.0 1.1.0 1.1.7 1.1.13", [["none"]]),
    # The proxy refuses the set, for its budget; the recorded agent, which was asked, took it. 1.13.1 did so in silence.
    ("bad", "1.13.1", [["none", "1 paused Ship it", "none"]]),
    ("bad", "2.6.0+air 2.6.0+v2air", [[*PAUSED, "none"]]),
    # A cancelled turn leaves the goal active, and so does a resume of an active one.
    ("cancel", "1.1.0 1.1.7 1.1.13 1.13.1 2.6.0+air 2.6.0+v2air", [[*SHIP, "none"]]),
    ("after_cancel", "2.6.0+air", [[*SHIP, "none"]]),
    ("prompt_during_goal", "1.13.1 2.6.0+air 2.6.0+v2air", [[*SHIP, "none"]]),
    ("disabled", "1.13.1 2.6.0+air", [[*SHIP, "2 active x", "none"], ["none"]]),
    # Nothing is said of a goal that nobody has told of.
    ("reload_paused", "1.1.0", [PAUSED, [], []]),
    ("reload_paused", "1.1.7 1.1.13 1.13.1 2.6.0+air", [PAUSED, ["1 paused Ship it"], ["1 paused Ship it"]]),
    ("reload_paused", "2.6.0+v2air", [PAUSED, [], ["1 paused Ship it"]]),  # session/load is unknown to version 2
    (
        "reload_active",
        "1.1.7 1.1.13 1.13.1 2.6.0+air",
        [SHIP, ["1 active Ship it"], ["1 active Ship it", "none"]],
    ),
    ("load_no_goal", "1.1.7 1.13.1 2.6.0+air", [["none"], ["none"], ["none"]]),
]
SEQUENCES = [
    (f"codex/codex-acp-{agent}.{scenario}", expected)
    for scenario, agents, expected in EXPECTED
    for agent in agents.split()
]


@pytest.mark.parametrize(("name", "expected"), SEQUENCES, ids=[name for name, _ in SEQUENCES])
def test_client_sees_the_goals_that_the_agent_had(name: str, expected: list[list[str]]) -> None:
    assert [_sequence(run) for run in replayed(Wire(name))] == expected
    if is_air(name):
        assert [_sequence(run) for run in replayed(Wire(name, as_plain=True))] == expected


@pytest.mark.parametrize("agent", ["1.13.1", "2.6.0+air"])
def test_goals_set_at_once_are_two_and_end_with_the_session(agent: str) -> None:
    (run,) = replayed(Wire(f"codex/codex-acp-{agent}.races"))
    # Closed and resumed, whether Four is the same goal nobody can tell; so which goal it is does not count here. Three
    # was replaced before the agent had answered: it may be seen or not.
    seen = [state.partition(" ")[2] or state for state in _sequence(run)]
    lasting = [state for state in seen if state != "active Three"]
    assert [state for state, _ in groupby(lasting)] == [
        "none",
        "active One",
        "none",
        "active Two",
        "none",
        "active Four",
        "none",
    ]


def test_goal_in_prose_is_seen_where_the_agent_tells_of_it() -> None:
    (run,) = replayed(Wire("codex/zed-codex-acp-0.16.0.model_goal"))
    assert _sequence(run) == ["none", "1 active Made by the model"]


@each_wire
def test_control_is_answered_soon_and_after_what_came_of_it(wire: Wire) -> None:
    for run in replayed(wire):
        goals: dict[str, Json | None] = {}
        waiting: dict[str, Json] = {}
        newest = ""
        for message, from_client in _dialogue(run):
            if from_client and is_control(message) and is_request(message) and ident(message) in run.kept:
                newest = ident(message)
                waiting[newest] = message
            goals.update(() if from_client else snapshots(message))
            if not from_client and is_response(message) and ident(message) in waiting:
                request = waiting.pop(ident(message))
                # One that was overtaken while it waited is answered, and what came of it is seen no more.
                if "error" not in message and ident(message) == newest:
                    assert _has_come_of(request, goals.get(request["params"]["sessionId"]))
        assert _slowest_answer(run) <= GRACE


def _slowest_answer(run: Replay) -> int:
    """The longest time, in milliseconds, that a control of the client's waited."""
    asked = {
        ident(message): line.at
        for line, message in ((line, decode(line.line)) for line in run.lines if line.by == "client")
        if is_control(message) and is_request(message) and ident(message) in run.kept
    }
    answered = [got for got in run.client if is_response(got.message) and ident(got.message) in asked]
    assert len(answered) == len(asked)
    return max((got.at - asked[ident(got.message)] for got in answered), default=0)


def _has_come_of(request: Json, goal: Json | None) -> bool:
    action = request["params"]["action"]
    if action == "set":
        return goal is not None and goal["objective"] == request["params"]["objective"].strip()
    if action == "clear":
        return goal is None
    return goal is not None and (goal["status"] == "paused") is (action == "pause")


# The recordings


def test_agent_without_goals_is_left_alone() -> None:
    keeps = ("others/dsh", "others/qwen22")
    names = [name for name in wires() if name.startswith(("others/", "claude/zed")) and not name.startswith(keeps)]
    assert len(names) == 15
    for name in names:
        for run in replayed(Wire(name)):
            assert [got.line for got in run.client] == [line.line for line in run.lines if line.by == "agent"]
            sent = [line.line for line in run.lines if line.by == "client"]
            assert [got.line for got in run.agent][1:] == sent[1:]
