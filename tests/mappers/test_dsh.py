"""DSH: goals out of the results of its model's tools, and no control that would not be true."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.mappers.base import Agent, GoalReported, View
from goalproxy.mappers.dsh import Dsh

from ..core.log_play import dsh

MAPPER = Dsh(Agent("deepseek-harness-acp", "0.0.1", {}))
GOAL = {
    "id": "goal-1",
    "revision": 1,
    "objective": "Ship it",
    "phase": "active",
    "roundsStarted": 2,
    "maxGoalRounds": 9,
}
WHY = "DSH offers no control of goals over ACP; ask its model in a prompt."


def call(title: str, ident: str = "call_1") -> dict[str, Any]:
    """The model calls a tool."""
    return {"sessionUpdate": "tool_call", "toolCallId": ident, "title": title, "kind": "other", "status": "in_progress"}


def done(text: str, ident: str = "call_1", status: str = "completed") -> dict[str, Any]:
    """The tool answers."""
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {"sessionUpdate": "tool_call_update", "toolCallId": ident, "status": status, "content": content}


def result(activation: str = "armed", **changes: Any) -> str:
    """What a goal tool answers."""
    return json.dumps({"goal": {**GOAL, **changes}, "activation": activation})


def read(*updates: dict[str, Any]) -> list[Any]:
    """What is said by updates of one session."""
    view = View("s")
    return [signal for update in updates for signal in MAPPER.read(update, view)]


@pytest.mark.parametrize("tool", ["create_goal", "get_goal", "update_goal"])
def test_results_of_the_three_tools_are_read(tool: str) -> None:
    (said,) = read(call(tool), done(result()))
    assert (said.report.objective, said.report.status, said.report.iterations) == ("Ship it", "active", 2)
    assert said.report.reference == ("goal-1", 1)


@pytest.mark.parametrize("phase", ["active", "paused", "blocked", "complete"])
def test_phases_are_statuses(phase: str) -> None:
    (said,) = read(call("get_goal"), done(result(phase=phase)))
    assert said.report.status == phase


def test_no_goal_is_no_goal() -> None:
    assert read(call("get_goal"), done('{"goal": null}')) == [GoalReported(None)]


def test_blocked_goal_says_why() -> None:
    reason = {"code": "round-limit", "message": "9 rounds are used up"}
    (said,) = read(call("get_goal"), done(result("disarmed", phase="blocked", blockedReason=reason)))
    assert (said.report.status, said.report.last_reason) == ("blocked", "9 rounds are used up")


def test_goal_that_is_not_armed_is_paused_with_a_reason() -> None:
    (said,) = read(call("get_goal"), done(result("disarmed")))
    assert said.report.status == "paused"
    assert "not armed" in said.report.last_reason


@pytest.mark.parametrize(
    "updates",
    [
        (call("get_goal"), done("Error: the model cannot resume a paused goal", status="failed")),
        (call("get_goal"), done(result(), status="failed")),
        (call("get_goal"), done(result(), status="in_progress")),
        (call("read_file"), done(result())),
        (call("Get_Goal"), done(result())),
        (done(result()),),
        (call("get_goal", "a"), done(result(), "b")),
        (call("get_goal"), {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": result()}}),
        (call("get_goal"), done("not JSON")),
        (call("get_goal"), done('["goal"]')),
        (call("get_goal"), done('{"goal": 3}')),
        (call("get_goal"), done('{"goal": {"objective": " "}}')),
        (call("get_goal"), done("[" * 100_000)),
        (call("get_goal"), {**done(""), "content": None}),
        (call("get_goal"), {**done(""), "content": [3]}),
        ({**call("get_goal"), "toolCallId": 3}, {**done(result()), "toolCallId": 3}),
    ],
)
def test_everything_else_says_nothing(updates: tuple[dict[str, Any], ...]) -> None:
    assert read(*updates) == []


def test_result_counts_once() -> None:
    assert len(read(call("get_goal"), done(result()), done(result()))) == 1


def test_result_counts_after_it_was_under_way() -> None:
    assert len(read(call("get_goal"), done(result(), status="in_progress"), done(result()))) == 1


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(value=json_values, goal=st.dictionaries(st.sampled_from([*GOAL, "blockedReason"]), json_values))
def test_no_result_breaks_the_reading(value: Any, goal: dict[str, Any]) -> None:
    for text in (
        json.dumps(value),
        json.dumps({"goal": value}),
        json.dumps({"goal": {**GOAL, **goal}, "activation": value}),
    ):
        read(call("get_goal"), done(text))
        read(call("get_goal"), {**done(text), "content": value})


# On the wire


def test_goal_of_the_model_is_published_and_lives_through_its_phases() -> None:
    lines = [
        (call("create_goal", "1"), done(result(roundsStarted=0), "1")),
        (call("get_goal", "2"), done(result(roundsStarted=3), "2")),
        (call("update_goal", "3"), done(result("disarmed", phase="complete", revision=2, roundsStarted=3), "3")),
    ]
    published = [
        '{"status": "active", "iterations": 0}',
        '{"status": "active", "iterations": 3}',
        '{"status": "complete"}',
    ]
    play = dsh()
    for (asked, answered), goal in zip(lines, published, strict=True):
        play.run(f"""
            agent  >> update {json.dumps(asked)}
            client << same
            agent  >> update {json.dumps(answered)}
            client << same
            client << goal {goal}
        """)
    first, _, last = play.snapshots
    assert first is not None
    assert last is not None
    assert first["createdAt"] == last["createdAt"]


def test_second_goal_with_the_same_words_is_another_goal() -> None:
    play = dsh()
    for ident in ("goal-1", "goal-2"):
        play.run(f"""
            agent  >> update {json.dumps(call("get_goal"))}
            client << same
            agent  >> update {json.dumps(done(result(id=ident)))}
            client << same
            client << goal {{"objective": "Ship it"}}
        """)
    first, second = play.snapshots
    assert first is not None
    assert second is not None
    assert first["createdAt"] < second["createdAt"]


@pytest.mark.parametrize("action", ["set Ship it", "pause", "resume", "clear"])
def test_no_control_is_offered_and_the_refusal_says_why(action: str) -> None:
    assert MAPPER.actions == ()
    word = action.partition(" ")[0]
    dsh().run(f"""
        client >> control 3 {action}
        client << error 3 -32602 This agent cannot {word} a goal; it can: nothing. {WHY}
    """)


def test_command_is_text_for_the_model() -> None:
    dsh().run("""
        client >> prompt 3 /goal Ship it
        agent  << same
        client >> prompt 4 /goal
        agent  << same
    """)


def test_cancel_sends_no_control() -> None:
    play = dsh()
    for update in (call("get_goal"), done(result())):
        play.feed("agent", f"update {json.dumps(update)}")
    play.run("""
        client >> notify session/cancel {}
        agent  << same
    """)
