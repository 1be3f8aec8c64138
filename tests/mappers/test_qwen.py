"""Qwen: its snapshots, its grammar, its rounds, and controls by compare-and-set."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.mappers.base import Agent, View
from goalproxy.mappers.qwen import Qwen
from goalproxy.proxy.goal.changes import RoundStarted
from goalproxy.proxy.goal.command import parse

from ..core.log_play import LogPlay, qwen
from ..transcript import START, changes

CONTROL, CLEAR, GET = (f"qwen/control/session/goal/{word}" for word in ("control", "clear", "get"))
MAPPER = Qwen(Agent("qwen-code", "0.24.4", {}))
GOAL = {
    "goalId": "g1",
    "revision": 1,
    "objective": "Ship it",
    "status": "active",
    "turnCount": 0,
    "activeTimeMs": 0,
    "tokensUsed": 0,
    "tokenBudget": 30_000_000,
    "createdAt": START + 4500,
    "updatedAt": START + 4500,
}


def snapshot(**changes: Any) -> dict[str, Any]:
    """What Qwen says of its goal."""
    return {"v": 2, "goal": {**GOAL, **changes}, "activity": "idle"}


NONE = {"v": 2, "goal": None, "activity": "idle"}


def chunk(state: dict[str, Any]) -> str:
    """The empty chunk in which Qwen tells its goal."""
    update = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": ""},
        "_meta": {"goalState": state},
    }
    return f"update {json.dumps(update, separators=(',', ':'))}"


def at_work(**goal: Any) -> LogPlay:
    """A Qwen that works for a goal."""
    play = qwen()
    play.feed("agent", chunk(snapshot(**goal)))
    play.facts.clear()
    return play


# What it says


def test_snapshot_is_published_in_neutral_words() -> None:
    state = snapshot(turnCount=3, activeTimeMs=7900, tokensUsed=330, lastReason="two\ntests fail")
    qwen().run(f"""
        agent  >> {chunk(state)}
        client << same
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 3, "timeUsedSeconds": 7, "tokensUsed": 330, "tokenBudget": 30000000, "lastReason": "two tests fail"}}
        agent  >> {chunk(NONE)}
        client << same
        client << goal null
    """)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("active", "active"),
        ("paused", "paused"),
        ("blocked", "blocked"),
        ("usage_limited", "limited"),
        ("complete", "complete"),
    ],
)
def test_statuses(word: str, status: str) -> None:
    qwen().run(f"""
        agent  >> {chunk(snapshot(status=word))}
        client << same
        client << goal {{"status": "{status}"}}
    """)


def test_edit_keeps_the_goals_identity_and_its_counters() -> None:
    play = at_work(turnCount=2, tokensUsed=300)
    play.run(f"""
        agent  >> {chunk(snapshot(turnCount=2, tokensUsed=300, objective="Ship that", revision=2))}
        client << same
        client << goal {{"objective": "Ship that", "createdAt": {GOAL["createdAt"]}, "iterations": 2, "tokensUsed": 300}}
    """)


def test_goal_set_over_another_is_a_new_one() -> None:
    play = at_work(turnCount=2, tokensUsed=300)
    play.run(f"""
        agent  >> {chunk(snapshot(goalId="g2", createdAt=START + 9000, updatedAt=START + 9000))}
        client << same
        client << goal {{"objective": "Ship it", "createdAt": {START + 9000}, "iterations": 0, "tokensUsed": 0}}
    """)


@pytest.mark.parametrize(
    "state", [3, {}, {"v": 2}, {"v": 2, "goal": 3}, {"v": 2, "goal": {"objective": 3}}, {"v": 2, "goal": []}]
)
def test_state_of_another_shape_says_nothing(state: Any) -> None:
    at_work().run(f"""
        agent  >> {chunk(state)}
        client << same
    """)


@given(
    goal=st.dictionaries(
        st.sampled_from(sorted(GOAL)), st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    )
)
def test_no_state_breaks_the_reading(goal: dict[str, Any]) -> None:
    list(MAPPER.read({"_meta": {"goalState": {"v": 2, "goal": {**GOAL, **goal}}}}, View("s")))
    list(MAPPER.read_answer({"snapshot": {"v": 2, "goal": goal}}, View("s")))


def test_rounds_are_turns() -> None:
    play = at_work()
    play.run("""
        agent  >> notify _qwencode/start_turn {"source": "goal"}
        client << same
        client >> request 3 _session/steering {"prompt": [{"type": "text", "text": "/goal pause"}]}
        agent  << request $1 qwen/control/session/goal/control {"request": {"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}
        agent  >> result $1 {"snapshot": null}
        client << goal {"status": "paused"}
        client << result 3 {"outcome": "injected"}
        agent  >> notify _qwencode/end_turn {"reason": "cancelled", "source": "goal"}
        client << same
        client >> request 4 _session/steering {"prompt": [{"type": "text", "text": "/goal clear"}]}
        agent  << request $2 qwen/control/session/goal/clear {}
        agent  >> result $2 {"cleared": true}
        client << goal null
        client << result 4 {"outcome": "startedNewTurn"}
    """)


def test_rounds_are_counted_by_qwens_own_count() -> None:
    play = at_work()
    for line in ("notify _qwencode/start_turn {}", "notify _qwencode/end_turn {}", chunk(snapshot(turnCount=2))):
        play.feed("agent", line)
    assert changes(play, RoundStarted) == [RoundStarted()] * 2


# Its grammar


@pytest.mark.parametrize(
    ("text", "word", "objective"),
    [
        ("/goal Ship it", "set", "Ship it"),
        ("/goal set Ship it", "set", "Ship it"),
        ("/goal SET Ship it", "set", "Ship it"),
        ("/goal edit Ship that", "set", "Ship that"),
        ("/goal set", "set", "set"),
        ("/goal settle the case", "set", "settle the case"),
        ("/goal clear", "clear", ""),
        ("/goal stop", "clear", ""),
        ("/goal OFF", "clear", ""),
        ("/goal reset", "clear", ""),
        ("/goal none", "clear", ""),
        ("/goal cancel", "clear", ""),
        ("/goal stop the leak", "set", "stop the leak"),
        ("/goal pause", "pause", ""),
        ("/goal resume", "resume", ""),
        ("/goal", "status", ""),
    ],
)
def test_grammar(text: str, word: str, objective: str) -> None:
    command = parse([{"type": "text", "text": text}])
    assert command is not None
    understood = MAPPER.understand(command)
    assert (understood.word, understood.objective) == (word, objective)


def test_command_goes_to_qwen_as_it_is_and_its_snapshot_is_the_answer() -> None:
    qwen().run(f"""
        client >> prompt 3 /goal set Ship it
        agent  << same
        agent  >> {chunk(snapshot())}
        client << same
        client << goal {{"objective": "Ship it", "status": "active"}}
        agent  >> result 3 {{"stopReason": "end_turn"}}
        client << same
    """)


def test_edit_by_command_keeps_the_goals_identity() -> None:
    play = at_work(turnCount=2)
    play.run(f"""
        client >> prompt 3 /goal edit Ship that
        agent  << same
        agent  >> {chunk(snapshot(turnCount=2, objective="Ship that", revision=2))}
        client << same
        client << goal {{"objective": "Ship that", "createdAt": {GOAL["createdAt"]}, "iterations": 2}}
    """)


# Controls


def conflict(ident: str, **current: Any) -> str:
    """Qwen's refusal of a control that meant another state."""
    error = {
        "code": -32009,
        "message": "conflict",
        "data": {"errorKind": "goal_conflict", "current": snapshot(**current)},
    }
    return "raw " + json.dumps({"jsonrpc": "2.0", "id": ident, "error": error})


def test_set_creates_where_there_is_no_goal() -> None:
    qwen().run(f"""
        client >> control 3 set Ship it
        agent  << request $1 {CONTROL} {{"request": {{"action": "create", "objective": "Ship it"}}}}
        agent  >> result $1 {{"snapshot": {json.dumps(snapshot())}}}
        client << goal {{"objective": "Ship it", "status": "active"}}
        client << result 3 {{}}
    """)


def test_set_replaces_the_goal_that_there_is() -> None:
    at_work().run(f"""
        client >> control 3 set Second
        agent  << request $1 {CONTROL} {{"request": {{"action": "replace", "objective": "Second", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> result $1 {{"snapshot": {json.dumps(snapshot(goalId="g2", objective="Second", createdAt=START + 9000))}}}
        client << goal {{"objective": "Second", "status": "active"}}
        client << result 3 {{}}
    """)


def test_pause_resume_and_clear_name_the_goal_that_they_mean() -> None:
    at_work().run(f"""
        client >> control 3 pause
        agent  << request $1 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> {chunk(snapshot(status="paused"))}
        client << same
        client << goal {{"status": "paused"}}
        client << result 3 {{}}
        agent  >> result $1 {{"snapshot": {json.dumps(snapshot(status="paused"))}}}
        client >> control 4 resume
        agent  << request $2 {CONTROL} {{"request": {{"action": "resume", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> result $2 {{"snapshot": {json.dumps(snapshot())}}}
        client << goal {{"status": "active"}}
        client << result 4 {{}}
        client >> control 5 clear
        agent  << request $3 {CLEAR} {{}}
        agent  >> result $3 {{"cleared": true, "snapshot": {json.dumps(NONE)}}}
        client << goal null
        client << result 5 {{}}
    """)


def test_conflict_is_retried_on_the_state_that_it_tells() -> None:
    at_work().run(f"""
        client >> control 3 pause
        agent  << request $1 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> {conflict("goalproxy-t-1", revision=4)}
        agent  << request $2 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 4}}}}
        agent  >> result $2 {{"snapshot": {json.dumps(snapshot(revision=4, status="paused"))}}}
        client << goal {{"status": "paused"}}
        client << result 3 {{}}
    """)


def test_conflict_is_retried_once_and_then_told() -> None:
    at_work().run(f"""
        client >> control 3 pause
        agent  << request $1 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> {conflict("goalproxy-t-1", revision=4)}
        agent  << request $2 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 4}}}}
        agent  >> {conflict("goalproxy-t-2", revision=5)}
        client << error 3 -32009 conflict
    """)


def test_conflict_that_comes_late_is_retried_and_the_state_is_right_in_the_end() -> None:
    at_work().run(f"""
        client >> control 3 pause
        agent  << request $1 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        timers
        client << goal {{"status": "paused"}}
        client << result 3 {{}}
        agent  >> {conflict("goalproxy-t-1", revision=4)}
        agent  << request $2 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 4}}}}
        agent  >> {conflict("goalproxy-t-2", revision=5)}
        client << goal {{"status": "active"}}
    """)


def test_set_after_a_conflict_without_a_goal_is_created() -> None:
    error = {"code": -32009, "message": "conflict", "data": {"errorKind": "goal_conflict", "current": NONE}}
    line = json.dumps({"jsonrpc": "2.0", "id": "goalproxy-t-1", "error": error})
    at_work().run(f"""
        client >> control 3 set Second
        agent  << request $1 {CONTROL} {{"request": {{"action": "replace", "objective": "Second", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> raw {line}
        agent  << request $2 {CONTROL} {{"request": {{"action": "create", "objective": "Second"}}}}
    """)


def test_other_errors_are_not_retried() -> None:
    at_work().run(f"""
        client >> control 3 pause
        agent  << request $1 {CONTROL} {{"request": {{"action": "pause", "expectedGoalId": "g1", "expectedRevision": 1}}}}
        agent  >> error $1 -32602 bad
        client << error 3 -32602 bad
    """)


# Load


def test_loaded_session_is_asked_for_its_goal_after_the_response() -> None:
    qwen().run(f"""
        client >> request 9 session/load {{"sessionId": "old"}}
        agent  << same
        agent  >> result 9 {{}}
        client << same
        agent  << request $1 {GET} {{"sessionId": "old"}}
        agent  >> result $1 {{"snapshot": {json.dumps(NONE)}, "active": false}}
        client << goal null
    """)


def test_history_of_a_loaded_session_is_published_after_the_response_by_its_last_word() -> None:
    play = qwen(opening="session/load")
    play.run(f"""
        client >> request 9 session/load {{}}
        agent  << same
        agent  >> {chunk(snapshot())}
        client << same
        agent  >> {chunk(snapshot(status="paused"))}
        client << same
        agent  >> result 9 {{}}
        client << same
        client << goal {{"status": "paused"}}
        agent  << request $2 {GET} {{}}
    """)


def test_session_that_cannot_be_asked_says_nothing() -> None:
    play = qwen(opening="session/load")
    play.run("""
        agent  >> error $1 -32601 no such method
    """)
