"""The log of Claude's session: it alone says how a goal ends; without it nothing is claimed."""

from __future__ import annotations

import json

import pytest

from goalproxy.proxy.core.logs import UNTOLD
from goalproxy.proxy.goal.changes import GoalRestored, GoalStarted

from ..transcript import START, changes, outcomes
from .log_play import (
    CLAUDE,
    LogPlay,
    at_rest,
    at_work,
    began,
    claude,
    cleared,
    frame,
    impossible,
    loaded,
    met,
    not_met,
    wire_goal,
)

END = 'result 3 {"stopReason": "end_turn"}'
STILL = {"objective": "Ship it", "status": "active"}


# A turn that ends is no goal that is met


def test_goal_is_followed_from_its_beginning_to_its_end() -> None:
    play = claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        log    >> {not_met("tests fail")}
        client << goal {{"status": "active", "iterations": 1, "lastReason": "tests fail"}}
        log    >> {met(2, tokens=120, durationMs=2900)}
        client << goal {{"status": "complete", "iterations": 2, "lastReason": "done", "tokensUsed": 120, "timeUsedSeconds": 2}}
        log    << leave
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        log    << leave
    """)
    assert changes(play, GoalStarted) == [GoalStarted()]
    assert outcomes(play) == ["complete"]


def test_cap_of_consecutive_blocks_ends_the_turn_and_not_the_goal() -> None:
    verdicts = " ".join(not_met(f"no {number}") for number in range(1, 10))
    play = at_work()
    play.feed("log", verdicts)
    play.run(f"""
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        timers
    """)
    play.run("""
        client >> prompt 4 /goal
        client << update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Goal (active): Ship it\\nRounds seen: 9\\nLast reason: no 9\\nControl it with: /goal pause, /goal resume, /goal clear"}}
        client << result 4 {"stopReason": "end_turn"}
    """)


def test_background_task_puts_the_verdict_off_until_after_the_turn() -> None:
    at_work().run(f"""
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        log    >> {not_met("background not finished")}
        client << goal {{"status": "active", "iterations": 1, "lastReason": "background not finished"}}
        log    >> {met(2)}
        client << goal {{"status": "complete", "iterations": 2}}
        log    << leave
    """)


def test_evaluator_that_fails_leaves_the_goal_as_it_is() -> None:
    at_work().run(f"""
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        client >> prompt 4 /goal clear
        agent  << same
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        log    << read
        log    >> {cleared()}
        client << goal null
        log    << leave
    """)


def test_impossible_goal_is_blocked_with_the_reason() -> None:
    play = at_work().run(f"""
        log    >> {impossible("no such thing")}
        client << goal {{"status": "blocked", "iterations": 1, "lastReason": "no such thing", "tokensUsed": 40, "timeUsedSeconds": 1}}
        log    << leave
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        log    << leave
    """)
    assert outcomes(play) == ["blocked"]


def test_cancel_leaves_the_goal_active_where_the_policy_says_so() -> None:
    at_work(on_cancel="turn").run("""
        client >> notify session/cancel {}
        agent  << same
        agent  >> result 3 {"stopReason": "cancelled"}
        client << same
        log    << read
        log    >> {}
    """)


def test_api_error_in_the_turn_leaves_the_goal_active() -> None:
    at_work().run("""
        agent  >> error 3 -32603 API Error: 400
        client << same
        log    << read
        log    >> {}
    """)


def test_api_error_before_the_log_was_read_is_no_refusal_of_the_goal() -> None:
    claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        agent  >> error 3 -32603 API Error: 400
        client << same
        log    << read
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active"}}
    """)


def test_api_error_without_a_log_is_no_refusal_of_the_goal() -> None:
    claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        timers
        client << goal {{"objective": "Ship it", "status": "active"}}
        agent  >> error 3 -32603 API Error: 400
        client << same
        log    << read
        log    >> none
        client << goal {{"objective": "Ship it", "status": "active", "lastReason": "{UNTOLD}"}}
    """)


# No log


def test_without_a_log_the_goal_is_taken_to_be_set_and_its_end_is_said_to_be_untold() -> None:
    play = claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        timers
        client << goal {{"objective": "Ship it", "status": "active", "iterations": "absent"}}
        agent  >> {END}
        client << same
        log    << read
        log    >> none
        client << goal {{"objective": "Ship it", "status": "active", "lastReason": "{UNTOLD}", "iterations": "absent"}}
    """)
    assert outcomes(play) == []


def test_without_a_log_a_clear_is_taken_to_be_done() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", END)
    play.feed("log", "none")
    play.drop_timers()
    play.run("""
        client >> prompt 4 /goal clear
        agent  << same
        agent  >> result 4 {"stopReason": "end_turn"}
        client << same
        log    << read
        log    >> none
        client << goal null
        log    << leave
    """)


def test_log_that_appears_later_wins() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal Ship it")
    play.run(f"""
        timers
        client << goal {{"objective": "Ship it", "status": "active"}}
        log    >> {began()} {not_met("tests fail")}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        client << goal {{"iterations": 1, "lastReason": "tests fail"}}
        agent  >> {END}
        client << same
        log    << read
        log    >> {met(2)}
        client << goal {{"status": "complete", "iterations": 2}}
        log    << leave
    """)


def test_log_that_knows_nothing_of_a_goal_undoes_what_was_expected() -> None:
    claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        timers
        client << goal {{"objective": "Ship it"}}
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        client << goal null
        log    << leave
    """)


def test_control_that_left_no_trace_in_the_log_is_undone_after_a_while() -> None:
    claude().run("""
        client >> control 3 set Ship it
        agent  << request $1 _session/goal {"action": "set", "objective": "Ship it"}
        log    << follow
        agent  >> result $1 {}
        client << goal {"objective": "Ship it", "status": "active"}
        client << result 3 {}
        timers
        log    << read
        log    >> {}
        client << goal null
        log    << leave
    """)


def test_without_a_log_a_turn_that_goes_on_is_not_said_to_have_ended() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal First")
    play.run("""
        timers
        client << goal {"objective": "First", "status": "active"}
        client >> control 4 set Second
        agent  << request $1 _session/goal {"action": "set", "objective": "Second"}
        log    << follow
        agent  >> result $1 {}
        client << goal {"objective": "Second", "status": "active"}
        client << result 4 {}
        timers
        log    << read
        log    >> none
    """)


# What the adapter publishes is what it expects


@pytest.mark.parametrize("word", ["clear", "stop", "off", "reset", "none", "cancel", "CLEAR", "Stop"])
def test_words_for_clear_are_no_objective_whatever_the_adapter_publishes(word: str) -> None:
    at_work("0.66.0").run(f"""
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
        client >> prompt 4 /goal {word}
        agent  << same
        agent  >> {wire_goal(word)}
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        log    << read
        log    >> {cleared()}
        client << goal null
        log    << leave
    """)


@pytest.mark.parametrize("word", ["stop", "Cancel"])
def test_words_for_clear_are_no_objective_without_a_log_either(word: str) -> None:
    play = claude("0.66.0")
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", END)
    play.feed("log", "none")
    play.drop_timers()
    play.run(f"""
        client >> prompt 4 /goal {word}
        agent  << same
        agent  >> {wire_goal(word)}
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        log    << read
        log    >> none
        client << goal null
        log    << leave
    """)


@pytest.mark.parametrize("log", ["none", "{}"])
def test_objective_that_is_too_long_is_not_shown_though_the_adapter_publishes_it(log: str) -> None:
    objective = "x" * 4001
    claude("0.66.0").run(f"""
        client >> prompt 3 /goal {objective}
        agent  << same
        agent  >> {wire_goal(objective)}
        agent  >> {END}
        client << same
        log    << read
        log    >> {log}
        log    << leave
    """)


def test_command_among_other_blocks_is_no_command_to_claude_and_is_carried_out_all_the_same() -> None:
    prompt = '[{"type": "text", "text": "/goal Ship it"}, {"type": "text", "text": "as in this text"}]'
    claude("0.66.0").run(f"""
        client >> request 3 session/prompt {{"prompt": {prompt}}}
        agent  << request 3 session/prompt {{"prompt": [{{"type": "text", "text": "Ship it"}}, {{"type": "text", "text": "as in this text"}}]}}
        agent  << request $1 _session/goal {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active"}}
        agent  >> result $1 {{}}
        agent  >> {END}
        client << same
        log    << read
        log    >> {{}}
    """)


def test_rollback_of_the_adapter_after_a_cancel_is_not_believed() -> None:
    at_work("0.66.0", on_cancel="turn").run(f"""
        client >> notify session/cancel {{}}
        agent  << same
        agent  >> result 3 {{"stopReason": "cancelled"}}
        client << same
        log    << read
        log    >> {{}}
        agent  >> {wire_goal(None)}
        log    >> {not_met("tests fail")}
        client << goal {{"status": "active", "iterations": 1}}
    """)


def test_rollback_to_the_goal_before_is_not_believed() -> None:
    play = at_work("0.66.0", on_cancel="turn")
    play.feed("log", began("Second"))
    play.run(f"""
        client >> notify session/cancel {{}}
        agent  << same
        agent  >> {wire_goal("Ship it")}
        agent  >> result 3 {{"stopReason": "cancelled"}}
        client << same
        log    << read
        log    >> {{}}
    """)


def test_command_behind_white_space_is_no_command_to_claude_and_is_sent_without_it() -> None:
    claude().run("""
        client >> request 3 session/prompt {"prompt": [{"type": "text", "text": " /goal Ship it"}]}
        agent  << prompt 3 /goal Ship it
        log    << follow
    """)


# active_goal


def test_frames_of_the_sdk_are_a_source_of_their_own() -> None:
    claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        agent  >> {frame({"condition": "Ship it", "iterations": 0, "set_at": START})}
        client << same
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        agent  >> {frame({"condition": "Ship it", "iterations": 1, "set_at": START, "last_reason": "tests fail"})}
        client << same
        client << goal {{"iterations": 1, "lastReason": "tests fail"}}
        agent  >> {END}
        client << same
        log    << read
        log    >> none
    """)


def test_frame_from_before_the_goal_was_set_does_not_end_it() -> None:
    play = claude("0.66.0").run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        agent  >> {wire_goal("Ship it")}
        timers
        client << goal {{"status": "active", "iterations": "absent"}}
        agent  >> {frame(None)}
        client << same
        agent  >> {frame({"condition": "Ship it", "iterations": 0, "set_at": START})}
        client << same
        client << goal {{"status": "active", "iterations": 0}}
    """)
    assert len({goal["createdAt"] for goal in play.snapshots if goal is not None}) == 1


def test_goal_that_is_gone_by_a_frame_has_ended_in_a_way_that_nobody_tells() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", frame({"condition": "Ship it", "iterations": 1, "set_at": START}))
    play.run(f"""
        agent  >> {frame(None)}
        client << same
        log    << read
        log    >> none
        client << goal null
        log    << leave
    """)
    assert outcomes(play) == ["ended_unknown"]


def test_frame_that_says_the_goal_is_gone_asks_the_log_how() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", frame({"condition": "Ship it", "iterations": 1, "set_at": START}))
    play.run(f"""
        agent  >> {frame(None)}
        client << same
        log    << read
        log    >> {met(2)}
        client << goal {{"status": "complete", "iterations": 2, "lastReason": "done"}}
        log    << leave
    """)
    assert outcomes(play) == ["complete"]


@pytest.mark.parametrize(
    "broken", ["notify _claude/sdkMessage {}", "notify _claude/sdkMessage []", frame({"iterations": 1})]
)
def test_other_frames_say_nothing(broken: str) -> None:
    at_rest().run(f"""
        agent  >> {broken}
        client << same
    """)


# Load


def test_load_of_a_session_with_an_active_goal() -> None:
    play = loaded().run(f"""
        log    >> history {began(at=START)} {not_met("tests fail")}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 1, "lastReason": "tests fail", "createdAt": {START}}}
        log    >> {met(1)}
        client << goal {{"status": "complete", "iterations": 2, "createdAt": {START}}}
        log    << leave
    """)
    assert changes(play, GoalRestored, GoalStarted) == [GoalRestored()]


def test_load_of_a_session_whose_goal_is_complete() -> None:
    play = loaded().run(f"""
        log    >> history {began()} {not_met("tests fail")} {met(2)}
        client << goal {{"objective": "Ship it", "status": "complete", "iterations": 2, "lastReason": "done"}}
        log    << leave
    """)
    assert outcomes(play) == []


@pytest.mark.parametrize("lines", [began() + " " + cleared(), "{}"], ids=["cleared", "no goal ever"])
def test_load_of_a_session_without_a_goal(lines: str) -> None:
    loaded().run(f"""
        log    >> history {lines}
        client << goal null
        log    << leave
    """)


def test_load_of_a_session_whose_log_nobody_sees_says_nothing() -> None:
    loaded().run("""
        log    >> history none
        log    << leave
    """)


def forked(prompt: str) -> LogPlay:
    """A fork ``s`` of session ``origin``, in which a prompt is at work; its log is asked for."""
    play = LogPlay()
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", f'result 1 {{"protocolVersion": 1, "agentInfo": {{"name": "{CLAUDE}", "version": "0.65.0"}}}}')
    play.feed("client", "request 2 session/new {}")
    play.feed("agent", 'result 2 {"sessionId": "origin"}')
    play.drop_timers()
    text = json.dumps([{"type": "text", "text": prompt}])
    play.feed("client", f'request 3 session/prompt {{"sessionId": "origin", "prompt": {text}}}')
    if prompt.startswith("/goal"):
        play.run('timers\nclient << goal {"objective": "Ship it", "status": "active"}')
    play.feed("client", 'request 9 session/fork {"sessionId": "origin"}')
    play.feed("agent", 'result 9 {"sessionId": "s"}')
    return play


def test_fork_whose_log_is_not_written_yet_has_the_goal_that_it_was_forked_with() -> None:
    play = forked("/goal Ship it").run(f"""
        log    >> history none
        client << goal {{"objective": "Ship it", "status": "active"}}
        client >> prompt 10 hello
        agent  << same
        log    >> {began("First")} {met(1, "First")} {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        log    >> {met(1)}
        client << goal {{"objective": "Ship it", "status": "complete", "iterations": 1}}
        log    << leave
    """)
    assert len({goal["createdAt"] for goal in play.snapshots[1:] if goal is not None}) == 1


def test_fork_of_a_session_without_a_goal_has_none() -> None:
    forked("hello").run("""
        log    >> history none
        client << goal null
        log    << leave
    """)


def test_goals_before_the_last_one_are_history() -> None:
    play = loaded().run(f"""
        log    >> history {began("First")} {met(1, "First")} {began("Second")} {not_met("no", "Second")}
        client << goal {{"objective": "Second", "status": "active", "iterations": 1, "lastReason": "no"}}
    """)
    assert changes(play, GoalStarted) == []
    assert outcomes(play) == []


def test_opening_asks_for_the_history_after_the_response() -> None:
    play = claude(opening="session/new")
    play.run("""
        client >> request 9 session/resume {"sessionId": "s"}
        agent  << same
        agent  >> result 9 {}
        client << same
        client << goal null
        log    << follow history
    """)


def test_lines_that_are_no_json_or_no_goal_are_passed_over() -> None:
    at_work().run(f"""
        log    >> {{"type": "attachment", "attachment": {{"type": "goal_status"}}}} {{"attachment": 3}} {not_met("no")}
        client << goal {{"iterations": 1}}
    """)


# Nothing is looked at without need


def test_log_is_left_when_the_goal_is_over_and_followed_again_with_the_next_one() -> None:
    play = at_work()
    play.feed("agent", END)
    play.run(f"""
        log    >> {met(1)}
        client << goal {{"status": "complete"}}
        log    << leave
        client >> prompt 4 /goal Second
        agent  << same
        log    << follow
        log    >> {began("Second")}
        client << goal {{"objective": "Second", "status": "active", "iterations": 0}}
    """)


def test_ordinary_prompts_in_a_session_without_a_goal_do_not_touch_the_log() -> None:
    claude().run("""
        client >> prompt 3 hello
        agent  << same
        agent  >> result 3 {"stopReason": "end_turn"}
        client << same
    """)


def test_log_is_left_when_the_session_is_closed() -> None:
    at_rest().run("""
        client >> request 9 session/close {}
        agent  << same
        agent  >> result 9 {}
        client << same
        log    << leave
    """)
