"""Claude: what its log and its wire say, and how it is steered; pause and resume, which it does not know itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.mappers.base import Agent, GoalReported, Prompt, Request, View
from goalproxy.mappers.claude import Claude
from goalproxy.proxy.goal.command import parse

from ..core.log_play import CLAUDE, LogPlay, at_rest, at_work, began, claude, cleared, met, not_met, wire_goal
from ..session_log import LOGS
from ..transcript import START

OLD, NEW = Claude(Agent(CLAUDE, "0.65.0", {})), Claude(Agent(CLAUDE, "0.66.0", {}))
GOAL = "_session/goal"
END = '{"stopReason": "end_turn"}'


def said(*lines: str, view: View | None = None) -> GoalReported:
    """The last word of lines of the log."""
    view = view or View("s")
    signals = [signal for line in lines for signal in NEW.read_log(json.loads(line), view)]
    assert isinstance(signals[-1], GoalReported)
    return signals[-1]


# The log


def test_times_of_the_log_are_read() -> None:
    report = said(began(at=START + 123)).report
    assert report is not None
    assert report.created_at == report.updated_at == START + 123


def test_verdicts_are_counted_until_the_log_counts_itself() -> None:
    report = said(began(), not_met("a"), not_met("b")).report
    assert report is not None
    assert (report.iterations, report.last_reason) == (2, "b")
    report = said(began(), not_met("a"), met(7, tokens=120, durationMs=2999)).report
    assert report is not None
    assert (report.status, report.iterations, report.tokens_used, report.time_used_seconds) == ("complete", 7, 120, 2)


def test_reason_is_one_line() -> None:
    report = said(began(), not_met("two\n\ntests   fail")).report
    assert report is not None
    assert report.last_reason == "two tests fail"


def test_verdict_on_a_goal_whose_beginning_was_not_seen_is_a_goal() -> None:
    report = said(not_met("a")).report
    assert report is not None
    assert (report.objective, report.status, report.iterations) == ("Ship it", "active", 1)


REAL = [
    ("0.101.0-background", ("complete", "Ship it", 2)),
    ("0.101.0-evalfail", None),
    ("0.101.0-fail", ("active", "B", 0)),
    ("0.101.0-impossible", ("blocked", "Ship it", 1)),
    ("0.101.0-main", ("complete", "Ship it", 3)),
    ("0.101.0-midturn", None),
    ("0.101.0-resume", ("active", "Ship it", 20)),
    ("0.65.0-main", ("complete", "Ship it", 3)),
    ("0.65.0-midturn", None),
]


@pytest.mark.parametrize(("log", "last"), REAL)
def test_logs_that_claude_wrote(log: str, last: tuple[str, str, int] | None) -> None:
    report = said(*(LOGS / f"{log}.goal_status.jsonl").read_text(encoding="utf-8").splitlines()).report
    assert (report and (report.status, report.objective, report.iterations)) == last


def test_no_log_is_left_out() -> None:
    assert {log for log, _ in REAL} == {path.name.removesuffix(".goal_status.jsonl") for path in LOGS.iterdir()}


def test_clear_is_told_as_one() -> None:
    assert said(began(), cleared()) == GoalReported(None)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"attachment": None},
        {"attachment": {"type": "goal_status", "condition": 3}},
        {"attachment": {"type": "file", "condition": "x"}},
    ],
)
def test_other_lines_say_nothing(entry: dict[str, Any]) -> None:
    assert list(NEW.read_log(entry, View("s"))) == []


json_values: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just([])
)
statuses = st.dictionaries(
    st.sampled_from(["met", "failed", "sentinel", "reason", "iterations", "tokens", "durationMs"]), json_values
)


@given(
    lines=st.lists(st.tuples(statuses, json_values), max_size=6),
    doing=st.sampled_from(["set", "pause", "resume", "clear", None]),
)
def test_no_line_breaks_the_reading_and_counters_never_fall(
    lines: list[tuple[dict[str, Any], Any]], doing: Any
) -> None:
    view = View("s")
    if doing is not None:
        NEW.begin(doing, "Ship it", view)
    last = 0
    for status, time in lines:
        entry = {"attachment": {"type": "goal_status", "condition": "Ship it", **status}, "timestamp": time}
        last = 0 if status.get("sentinel") else last  # A goal that is set or cleared begins anew.
        for signal in NEW.read_log(entry, view):
            assert isinstance(signal, GoalReported)
            rounds = (signal.report.iterations or 0) if signal.report is not None else 0
            assert rounds >= last
            last = rounds


# Commands


@pytest.mark.parametrize("word", ["clear", "stop", "off", "reset", "none", "cancel", "CLEAR", "Off"])
def test_clear_words(word: str) -> None:
    command = parse([{"type": "text", "text": f"/goal {word}"}])
    assert command is not None
    assert NEW.understand(command).word == "clear"


@pytest.mark.parametrize("text", ["stop the leak", "clear the cache", "none of it"])
def test_sentences_that_begin_with_a_clear_word_are_objectives(text: str) -> None:
    command = parse([{"type": "text", "text": f"/goal {text}"}])
    assert command is not None
    assert NEW.understand(command) == command


# How it is asked


@pytest.mark.parametrize(
    ("mapper", "busy", "expected"),
    [
        (OLD, False, Prompt("/goal Ship it")),
        (
            OLD,
            True,
            Request("_session/steering", {"sessionId": "s", "prompt": [{"type": "text", "text": "/goal Ship it"}]}),
        ),
        (NEW, False, Request(GOAL, {"sessionId": "s", "action": "set", "objective": "Ship it"})),
        (NEW, True, Request(GOAL, {"sessionId": "s", "action": "set", "objective": "Ship it"})),
    ],
)
def test_set_by_what_the_version_knows(mapper: Claude, busy: bool, expected: object) -> None:  # noqa: FBT001
    assert mapper.call("set", "Ship it", View("s", busy=busy)) == expected


@pytest.mark.parametrize(
    ("mapper", "busy", "expected"),
    [
        (OLD, False, Prompt("/goal clear")),
        (
            OLD,
            True,
            Request("_session/steering", {"sessionId": "s", "prompt": [{"type": "text", "text": "/goal clear"}]}),
        ),
        (NEW, True, Request(GOAL, {"sessionId": "s", "action": "clear"})),
    ],
)
@pytest.mark.parametrize("action", ["clear", "pause"])
def test_clear_and_pause_by_what_the_version_knows(mapper: Claude, busy: bool, expected: object, action: Any) -> None:  # noqa: FBT001
    assert mapper.call(action, "", View("s", busy=busy)) == expected


@pytest.mark.parametrize("objective", ["stop", " Clear "])
def test_objective_that_claude_would_read_as_a_word_cannot_be_said(objective: str) -> None:
    claude().run(f"""
        client >> request 3 {GOAL} {{"action": "set", "objective": "{objective}"}}
        client << error 3 -32602 This agent would read
    """)


def test_objectives_pause_and_resume_can_be_set_by_a_control() -> None:
    claude().run(f"""
        client >> control 3 set pause
        agent  << request $1 {GOAL} {{"action": "set", "objective": "pause"}}
        log    << follow
        log    >> {began("pause")}
        client << goal {{"objective": "pause", "status": "active"}}
        client << result 3 {{}}
    """)


def test_set_of_an_old_version_goes_in_as_a_prompt_whose_answer_nobody_sees() -> None:
    claude("0.65.0").run(f"""
        client >> control 3 set Ship it
        agent  << prompt $1 /goal Ship it
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active"}}
        client << result 3 {{}}
        log    >> {met(1)}
        client << goal {{"status": "complete"}}
        log    << leave
        agent  >> result $1 {END}
    """)


def test_clear_of_an_old_version_is_steered_into_a_running_turn() -> None:
    at_work("0.65.0").run(f"""
        client >> control 4 clear
        agent  << request $1 _session/steering {{"prompt": [{{"type": "text", "text": "/goal clear"}}]}}
        agent  >> result $1 {{"outcome": "injected"}}
        client << goal null
        client << result 4 {{}}
        log    >> {cleared()}
        log    << leave
        agent  >> result 3 {END}
        client << same
        log    << read
        log    >> {{}}
        log    << leave
    """)


def test_clear_command_in_a_running_turn_does_not_wait_behind_it() -> None:
    at_work("0.66.0").run(f"""
        client >> prompt 4 /goal clear
        agent  << request $1 {GOAL} {{"action": "clear"}}
        log    >> {cleared()}
        client << goal null
        client << result 4 {END}
        log    << leave
        agent  >> result $1 {{}}
    """)


def test_too_long_objective_is_refused_with_both_numbers() -> None:
    claude().run(f"""
        client >> control 3 set {"x" * 4001}
        client << error 3 -32602 The objective has 4001 characters; this agent takes at most 4000.
    """)


# Pause and resume


def paused(version: str = "0.101.0") -> LogPlay:
    """A Claude whose goal was paused after two rounds."""
    return at_rest(version).run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        log    >> {cleared()}
        client << goal {{"objective": "Ship it", "status": "paused", "iterations": 2}}
        client << result 4 {{}}
        log    << leave
        agent  >> result $1 {{}}
    """)


def resumed() -> LogPlay:
    """The same, resumed."""
    return paused().run(f"""
        client >> control 5 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 2}}
        client << result 5 {{}}
    """)


def test_pause_and_resume_keep_the_goal_and_its_counters_go_on() -> None:
    play = resumed().run(f"""
        log    >> {not_met("docs missing")}
        client << goal {{"status": "active", "iterations": 3, "lastReason": "docs missing"}}
        log    >> {met(2, tokens=100, durationMs=5000)}
        client << goal {{"status": "complete", "iterations": 4, "tokensUsed": 100, "timeUsedSeconds": 5}}
        log    << leave
    """)
    assert len({goal["createdAt"] for goal in play.snapshots if goal is not None}) == 1


def test_pause_of_an_old_version_goes_in_as_a_prompt() -> None:
    at_rest("0.65.0").run(f"""
        client >> control 4 pause
        agent  << prompt $1 /goal clear
        log    >> {cleared()}
        client << goal {{"status": "paused", "iterations": 2}}
        client << result 4 {{}}
        log    << leave
        agent  >> result $1 {END}
    """)


def test_pause_and_resume_by_command_are_the_proxys() -> None:
    at_rest().run(f"""
        client >> prompt 4 /goal pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        log    >> {cleared()}
        client << goal {{"status": "paused"}}
        client << result 4 {END}
        log    << leave
        agent  >> result $1 {{}}
        client >> prompt 5 /goal resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"status": "active", "iterations": 2}}
        client << result 5 {END}
    """)


def test_pause_twice_asks_once() -> None:
    paused().run("""
        client >> control 5 pause
        client << result 5 {}
    """)


def test_paused_goal_is_cleared_without_a_trace_in_the_log() -> None:
    paused().run(f"""
        client >> control 5 clear
        agent  << request $2 {GOAL} {{"action": "clear"}}
        agent  >> result $2 {{}}
        client << goal null
        client << result 5 {{}}
        timers
        log    << read
        log    >> {{}}
        log    << leave
    """)


def test_paused_goal_is_cleared_by_a_command() -> None:
    paused().run(f"""
        client >> prompt 5 /goal clear
        agent  << same
        agent  >> result 5 {END}
        client << same
        log    << read
        log    >> {{}}
        client << goal null
        log    << leave
    """)


def test_goal_set_over_a_paused_one_is_a_new_one() -> None:
    play = paused().run(f"""
        client >> control 5 set Second
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Second"}}
        log    << follow
        log    >> {began("Second")}
        client << goal {{"objective": "Second", "status": "active", "iterations": 0}}
        client << result 5 {{}}
    """)
    first, second = play.snapshots[0], play.snapshots[-1]
    assert first is not None
    assert second is not None
    assert first["createdAt"] < second["createdAt"]


def test_paused_goal_that_is_set_again_in_the_same_words_is_a_new_one() -> None:
    play = paused().run(f"""
        client >> control 5 set Ship it
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        client << result 5 {{}}
    """)
    first, second = play.snapshots[0], play.snapshots[-1]
    assert first is not None
    assert second is not None
    assert first["createdAt"] < second["createdAt"]


def test_active_goal_that_is_set_again_in_the_same_words_counts_from_zero() -> None:
    at_rest().run(f"""
        client >> control 4 set Ship it
        agent  << request $1 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        client << result 4 {{}}
        log    >> {not_met("a")}
        client << goal {{"iterations": 1}}
    """)


def test_pause_that_is_overtaken_by_the_goals_end_is_no_pause() -> None:
    at_work().run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        log    >> {met(1)}
        client << goal {{"status": "complete", "iterations": 1}}
        client << result 4 {{}}
        log    << leave
        agent  >> result $1 {{}}
    """)


def test_resume_of_a_blocked_goal_goes_on_with_its_counters() -> None:
    play = at_rest()
    play.feed(
        "log",
        json.dumps(
            {
                "attachment": {
                    "type": "goal_status",
                    "met": False,
                    "failed": True,
                    "condition": "Ship it",
                    "reason": "no",
                    "iterations": 3,
                    "tokens": 40,
                    "durationMs": 3000,
                }
            }
        ),
    )
    play.run(f"""
        client >> control 4 resume
        agent  << request $1 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 3, "tokensUsed": 40, "timeUsedSeconds": 3}}
        client << result 4 {{}}
        log    >> {met(2, tokens=60, durationMs=2000)}
        client << goal {{"status": "complete", "iterations": 5, "tokensUsed": 100, "timeUsedSeconds": 5}}
        log    << leave
    """)


def test_pause_without_a_log_remembers_the_goal() -> None:
    play = claude()
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", f"result 3 {END}")
    play.feed("log", "none")
    play.drop_timers()
    play.run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> result $1 {{}}
        client << goal {{"objective": "Ship it", "status": "paused"}}
        client << result 4 {{}}
        timers
        log    << read
        log    >> none
        log    << leave
        client >> control 5 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        timers
        client << goal {{"objective": "Ship it", "status": "active"}}
        client << result 5 {{}}
    """)


def test_cancel_pauses_the_goal() -> None:
    at_work().run(f"""
        client >> notify session/cancel {{}}
        agent  << same
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> result 3 {{"stopReason": "cancelled"}}
        client << same
        log    << read
        log    >> {cleared()}
        client << goal {{"objective": "Ship it", "status": "paused"}}
        log    << leave
    """)


def test_clear_after_a_pause_that_was_refused_is_a_clear() -> None:
    at_rest().run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> error $1 -32603 no
        client << error 4 -32603 no
        log    >> {cleared()}
        client << goal null
        log    << leave
    """)


def load_again(play: LogPlay, *history: str) -> None:
    """The client loads the session again; the proxy may read the log's history for it, or go on where it is."""
    play.feed("client", "request 9 session/load {}")
    if "follow history" in play.looks_after("agent", "result 9 {}"):
        play.feed("log", f"history {' '.join(history)}")


def test_paused_goal_outlives_a_load_of_its_session_and_can_be_resumed() -> None:
    play = paused()
    load_again(play, began(), not_met("tests fail"), not_met("lint fails"), cleared())
    play.run(f"""
        client >> control 10 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 2}}
        client << result 10 {{}}
    """)


def test_active_goal_outlives_a_load_of_its_session_with_its_counters() -> None:
    play = resumed()
    load_again(play, began(), not_met("a"), not_met("b"), cleared(), began())
    play.run(f"""
        log    >> {not_met("docs missing")}
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 3}}
    """)


# The log is later than the next control


def test_pause_and_resume_before_the_log_has_the_pause() -> None:
    play = at_rest().run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> result $1 {{}}
        client << goal {{"status": "paused", "iterations": 2}}
        client << result 4 {{}}
        client >> control 5 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {cleared()}
        log    >> {began()}
        client << goal {{"status": "active", "iterations": 2}}
        client << result 5 {{}}
        log    >> {met(1)}
        client << goal {{"status": "complete", "iterations": 3}}
        log    << leave
    """)
    assert len({goal["createdAt"] for goal in play.snapshots if goal is not None}) == 1


def test_verdict_from_before_a_pause_does_not_settle_the_resume() -> None:
    at_rest().run(f"""
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> result $1 {{}}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
        client >> control 5 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {not_met("docs missing")} {cleared()}
        log    >> {began()}
        client << goal {{"status": "active", "iterations": 3}}
        client << result 5 {{}}
    """)


def test_set_pause_and_resume_before_the_log_has_the_set() -> None:
    play = claude().run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        timers
        client << goal {{"status": "active"}}
        client >> control 4 pause
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> result $1 {{}}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
        client >> control 5 resume
        agent  << request $2 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        agent  >> result $2 {{}}
        client << goal {{"status": "active"}}
        client << result 5 {{}}
        log    >> {began()} {cleared()}
        log    >> {began()}
        client << goal {{"status": "active", "iterations": 0}}
    """)
    assert len({goal["createdAt"] for goal in play.snapshots if goal is not None}) == 1


@pytest.mark.parametrize("published", ["", f"agent >> {wire_goal('Ship it')}"])
def test_set_and_pause_before_the_log_has_the_set(published: str) -> None:
    play = claude("0.81.2").run(f"""
        client >> control 3 set Ship it
        agent  << request $1 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        {published}
        timers
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        client >> control 4 pause
        agent  << request $2 {GOAL} {{"action": "clear"}}
        agent  >> result $2 {{}}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
        log    >> {began()}
        log    >> {cleared()}
        client << goal {{"status": "paused", "iterations": 0}}
        log    << leave
    """)
    assert len({goal["createdAt"] for goal in play.snapshots if goal is not None}) == 1


def test_clear_before_the_log_has_the_set() -> None:
    claude("0.81.2").run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        agent  >> {wire_goal("Ship it")}
        timers
        client << goal {{"status": "active"}}
        client >> control 4 clear
        agent  << request $1 {GOAL} {{"action": "clear"}}
        agent  >> {wire_goal(None)}
        agent  >> result $1 {{}}
        client << goal null
        client << result 4 {{}}
        log    >> {began()}
        log    >> {cleared()}
        log    << leave
    """)


def test_controls_without_a_trace_in_the_log_do_not_shift_those_behind_them() -> None:
    paused().run(f"""
        client >> control 5 clear
        agent  << request $2 {GOAL} {{"action": "clear"}}
        agent  >> result $2 {{}}
        client << goal null
        client << result 5 {{}}
        client >> control 6 set Second
        agent  << request $3 {GOAL} {{"action": "set", "objective": "Second"}}
        log    << follow
        log    >> {began("Second")}
        client << goal {{"objective": "Second", "status": "active"}}
        client << result 6 {{}}
        log    >> {not_met("a", "Second")}
        client << goal {{"status": "active", "iterations": 1}}
        client >> control 7 pause
        agent  << request $4 {GOAL} {{"action": "clear"}}
        log    >> {cleared("Second")}
        client << goal {{"objective": "Second", "status": "paused"}}
        client << result 7 {{}}
        log    << leave
    """)


# Work that a control of the proxy's own has started


@pytest.mark.parametrize("word", ["clear", "stop"])
def test_command_while_a_goal_works_that_was_set_by_control_does_not_wait_behind_it(word: str) -> None:
    claude().run(f"""
        client >> control 3 set Ship it
        agent  << request $1 {GOAL} {{"action": "set", "objective": "Ship it"}}
        log    << follow
        log    >> {began()}
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        client >> prompt 4 /goal {word}
        agent  << request $2 {GOAL} {{"action": "clear"}}
        log    >> {cleared()}
        client << goal null
        client << result 4 {END}
        log    << leave
        agent  >> result $2 {{}}
        agent  >> result $1 {{}}
    """)


@pytest.mark.parametrize(
    ("action", "text", "follow"),
    [("pause", "clear", ""), ("clear", "clear", ""), ("set Second", "Second", "log << follow")],
)
def test_control_of_an_old_version_is_steered_into_work_that_its_own_prompt_started(
    action: str, text: str, follow: str
) -> None:
    play = claude("0.65.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("log", began())
    play.run(f"""
        client >> control 4 {action}
        agent  << request $2 _session/steering {{"prompt": [{{"type": "text", "text": "/goal {text}"}}]}}
        {follow}
    """)


def test_goal_that_was_set_into_a_running_turn_may_work_though_no_request_is_open() -> None:
    play = claude("0.65.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("log", began())
    for line in ("control 4 pause", "control 5 resume"):
        play.feed("client", line)
    for line in ('result $2 {"outcome": "injected"}', f"result $1 {END}", 'result $3 {"outcome": "injected"}'):
        play.feed("agent", line)
    play.feed("log", f"{cleared()} {began()}")
    play.run("""
        client >> prompt 6 /goal stop
        agent  << request $4 _session/steering {"prompt": [{"type": "text", "text": "/goal clear"}]}
    """)


def test_own_prompt_that_is_answered_is_no_work_any_more() -> None:
    play = claude("0.65.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("log", began())
    play.feed("agent", f"result $1 {END}")
    play.run("""
        client >> control 4 pause
        agent  << prompt $2 /goal clear
    """)


# Version 2 of ACP


@pytest.mark.parametrize("action", ["set Ship it", "pause", "resume", "clear"])
def test_version_2_takes_no_control(action: str) -> None:
    claude(protocol=2).run(f"""
        client >> control 3 {action}
        client << error 3 -32602 On version 2 of ACP
    """)


def test_action_that_nobody_knows_is_refused_with_what_is_offered() -> None:
    claude(protocol=2).run("""
        client >> control 3 edit
        client << error 3 -32602 No action is offered for this agent. On version 2 of ACP
    """)


def test_clear_behind_a_turn_of_version_2_is_not_shown_before_it_is_done() -> None:
    play = claude(protocol=2)
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", "result 3 {}")
    play.feed("log", began())
    play.drop_timers()
    play.run(f"""
        client >> prompt 4 /goal clear
        agent  << same
        timers
        agent  >> result 4 {{}}
        client << same
        log    << read
        log    >> {{}}
        log    >> {cleared()}
        client << goal null
        log    << leave
    """)


def test_version_2_takes_goals_by_prompts_and_a_pause_never_becomes_one() -> None:
    claude(protocol=2).run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        log    << follow
        agent  >> result 3 {{}}
        client << same
        log    << read
        log    >> {began()}
        client << goal {{"status": "active"}}
        client >> notify session/cancel {{}}
        agent  << same
    """)
    play = claude(protocol=2)
    play.feed("client", "prompt 3 /goal pause")
    play.run("""
        client >> request 4 session/prompt {"prompt": [{"type": "text", "text": "/goal X"}, {"type": "image"}]}
        agent  << same
        log    << follow
    """)
