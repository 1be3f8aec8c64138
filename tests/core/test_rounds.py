"""Rounds: they begin when nothing else runs, one at a time; the user comes first; each end means one thing."""

import json

import pytest

from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.driver import Limits
from goalproxy.proxy.core.events import ToolsListed
from goalproxy.proxy.core.facts import BackedOff, RoundEnded, RoundSpoke, RoundTokens
from goalproxy.proxy.goal.changes import RoundStarted

from ..agents import plain, plain_at_work
from ..transcript import Play, changes

DONE = 'result $1 {"stopReason": "end_turn"}'


def update(kind: str, **fields: object) -> str:
    """An update of the agent, as a line of a transcript."""
    return "update " + json.dumps({"sessionUpdate": kind, **fields})


def said(text: str) -> str:
    """The agent says something."""
    return update("agent_message_chunk", content={"type": "text", "text": text})


def state(word: str, **fields: object) -> str:
    """The state of a version 2 session."""
    return update("state_update", state=word, **fields)


def outcomes(play: Play) -> list[str]:
    """How rounds ended, as observers were told."""
    return [fact.outcome for fact in play.facts if isinstance(fact, RoundEnded)]


def test_a_goal_works_round_after_round_until_its_last_line_says_that_it_is_reached() -> None:
    play = plain().run(f"""
        client >> control 3 set Ship it
        client << goal {{"objective": "Ship it", "status": "active", "iterations": 0}}
        client << result 3 {{}}
        agent  << round $1 1
        client << goal {{"iterations": 1}}
        agent  >> {said("2 of 3 done")}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active", "timeUsedSeconds": 2}}
        timers
        agent  << round $2 2
        client << goal {{"iterations": 2}}
        agent  >> {said("All done, checked.")}
        client << same
        agent  >> {update("tool_call", toolCallId="1", title="Write the list")}
        client << same
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> result $2 {{"stopReason": "end_turn", "usage": {{"totalTokens": 40}}}}
        client << goal {{"status": "active", "tokensUsed": 40}}
        client << goal {{"status": "complete", "iterations": 2, "tokensUsed": 40}}
        timers
    """)
    assert outcomes(play) == ["end_turn", "end_turn"]
    assert changes(play, RoundStarted) == [RoundStarted()] * 2


def test_a_last_line_reports_also_where_the_agent_has_asked_for_the_tools() -> None:
    play = plain_at_work(with_tools=True)
    play.engine.handle(ToolsListed("secret-1", play.now))
    play.run(f"""
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        client << goal {{"status": "complete"}}
    """)


def test_a_last_line_says_nothing_of_an_objective_that_was_changed_in_the_round() -> None:
    play = plain_at_work()
    play.feed("client", "prompt 4 /goal edit Ship that")
    play.run(f"""
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> {DONE}
        client << goal {{"objective": "Ship that", "status": "active"}}
    """)


def test_a_report_by_the_tools_and_the_last_line_is_checked_once() -> None:
    play = plain_at_work(with_tools=True, check="make test")
    play.feed(
        "model", 'update_goal {"goal_id": $goal, "revision": $revision, "action": "complete", "reason": "I saw it."}'
    )
    play.run(f"""
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        check  >> passed 9 tests
        client << goal {{"status": "complete", "lastReason": "I saw it."}}
    """)


def test_the_first_message_or_tool_call_of_a_round_is_told_with_its_time() -> None:
    play = plain_at_work()
    for line in (said("Hello"), said("again"), update("tool_call", toolCallId="1", title="Look"), DONE):
        play.feed("agent", line)
    assert [fact for fact in play.facts if isinstance(fact, RoundSpoke)] == [RoundSpoke(1000)]


def test_a_clock_that_is_set_back_makes_no_time_negative() -> None:
    play = plain_at_work()
    play.now -= 3_600_000
    for line in (said("Hello"), update("tool_call", toolCallId="1", title="Look"), DONE):
        play.feed("agent", line)
    assert [fact.milliseconds for fact in play.facts if isinstance(fact, RoundSpoke | RoundEnded)] == [0, 0]
    play.let_timers_run()
    assert [fact for fact in play.facts if isinstance(fact, BackedOff)] == []


def test_the_kinds_of_tokens_of_a_round_are_told() -> None:
    play = plain_at_work()
    usage = {"totalTokens": 9, "inputTokens": 5, "outputTokens": 4}
    play.feed("agent", "result $1 " + json.dumps({"stopReason": "end_turn", "usage": usage}))
    assert [fact for fact in play.facts if isinstance(fact, RoundTokens)] == [RoundTokens({"input": 5, "output": 4})]


def test_tool_calls_that_have_not_ended_with_the_round_are_told_and_the_next_round_comes_all_the_same() -> None:
    play = plain_at_work()
    play.feed("agent", update("tool_call", toolCallId="1", title="Start a server", status="in_progress"))
    play.feed("agent", update("tool_call", toolCallId="2", title="Look", status="completed"))
    play.feed("agent", DONE)
    assert [fact.open_calls for fact in play.facts if isinstance(fact, RoundEnded)] == [1]
    play.let_timers_run()
    assert changes(play, RoundStarted) == [RoundStarted()]


def test_waiting_counts_once_it_is_over_and_not_if_the_goal_stops_meanwhile() -> None:
    play = plain_at_work()
    for ident in ("$1", "$2"):
        play.feed("agent", said("Still waiting") if ident == "$1" else said("Waiting still"))
        play.feed("agent", f'result {ident} {{"stopReason": "end_turn"}}')
        assert waits(play) == []
        play.let_timers_run()
    (waited,) = waits(play)
    play.feed("agent", said("And on"))
    play.feed("agent", 'result $3 {"stopReason": "end_turn"}')
    play.feed("client", "control 9 pause")
    play.let_timers_run()
    assert waits(play) == [waited]


def waits(play: Play) -> list[int]:
    """How long rounds waited beyond the least interval."""
    return [fact.milliseconds for fact in play.facts if isinstance(fact, BackedOff)]


def test_no_round_begins_while_the_clients_turn_runs() -> None:
    plain().run("""
        client >> prompt 3 hello
        agent  << same
        client >> control 4 set Ship it
        client << goal {"status": "active"}
        client << result 4 {}
        timers
        agent  >> result 3 {"stopReason": "end_turn"}
        client << same
        agent  << round $1 1
        client << goal {"iterations": 1}
    """)


def test_a_turn_that_fails_ends_too() -> None:
    play = plain()
    play.feed("client", "prompt 3 hello")
    play.feed("client", "control 4 set Ship it")
    play.run("""
        agent  >> error 3 -32603 boom
        client << same
        agent  << round $1 1
        client << goal {"iterations": 1}
    """)


def test_a_prompt_of_the_clients_interrupts_a_round_and_runs_before_the_next() -> None:
    plain_at_work().run("""
        client >> prompt 4 do this first
        agent  << notify session/cancel {}
        agent  >> result $1 {"stopReason": "cancelled"}
        client << goal {"status": "active", "iterations": 1}
        agent  << prompt 4 do this first
        timers
        agent  >> result 4 {"stopReason": "end_turn"}
        client << same
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_a_prompt_of_the_clients_may_wait_for_the_rounds_end_instead() -> None:
    plain_at_work(on_prompt="queue").run("""
        client >> prompt 4 when you are done
        agent  >> result $1 {"stopReason": "end_turn"}
        client << goal {"status": "active"}
        agent  << prompt 4 when you are done
        timers
    """)


def test_prompts_that_waited_are_sent_one_after_the_other() -> None:
    plain_at_work().run("""
        client >> prompt 4 first
        agent  << notify session/cancel {}
        client >> prompt 5 second
        agent  >> error $1 -32603 aborted
        client << goal {"status": "active"}
        agent  << prompt 4 first
        client >> prompt 6 third
        agent  >> result 4 {"stopReason": "end_turn"}
        client << same
        agent  << prompt 5 second
        agent  >> result 5 {"stopReason": "end_turn"}
        client << same
        agent  << prompt 6 third
        agent  >> result 6 {"stopReason": "end_turn"}
        client << same
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_a_prompt_that_waits_can_be_taken_back() -> None:
    plain_at_work().run("""
        client >> prompt 4 first
        agent  << notify session/cancel {}
        client >> notify $/cancel_request {"requestId": 4, "sessionId": null}
        client << error 4 -32800
        agent  >> result $1 {"stopReason": "cancelled"}
        client << goal {"status": "active"}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_only_the_request_that_is_named_is_taken_back() -> None:
    plain_at_work().run("""
        client >> prompt 4 first
        agent  << notify session/cancel {}
        client >> notify $/cancel_request {"requestId": "4", "sessionId": null}
        agent  << same
    """)


def test_cancel_stops_the_round_answers_what_waits_and_pauses_the_goal() -> None:
    plain_at_work().run("""
        client >> prompt 4 first
        agent  << notify session/cancel {}
        client >> notify session/cancel {}
        agent  << same
        client << result 4 {"stopReason": "cancelled"}
        client << goal {"status": "paused"}
        agent  >> result $1 {"stopReason": "cancelled"}
        timers
    """)


def test_cancel_can_stop_the_turn_alone_and_the_goal_waits_for_the_user() -> None:
    plain_at_work(on_cancel="turn").run("""
        client >> notify session/cancel {}
        agent  << same
        agent  >> result $1 {"stopReason": "cancelled"}
        client << goal {"status": "active"}
        timers
        client >> prompt 4 go on like this
        agent  << same
        agent  >> result 4 {"stopReason": "end_turn"}
        client << same
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_a_goal_that_waits_for_the_user_goes_on_when_it_is_resumed() -> None:
    play = plain_at_work(on_cancel="turn")
    play.feed("client", "notify session/cancel {}")
    play.feed("agent", 'result $1 {"stopReason": "cancelled"}')
    play.run("""
        client >> control 4 resume
        client << result 4 {}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ('result $1 {"stopReason": "refusal"}', "blocked"),
        ('result $1 {"stopReason": "cancelled"}', "paused"),
        ("error $1 -32603 Rate limit reached", "limited"),
    ],
)
def test_some_ends_stop_the_goal(end: str, status: str) -> None:
    plain_at_work().run(f"""
        agent  >> {end}
        client << goal {{"status": "active"}}
        client << goal {{"status": "{status}"}}
        timers
    """)


def test_a_failing_agent_is_tried_three_times_ever_later() -> None:
    play = plain_at_work().run("""
        agent  >> error $1 -32603 boom
        client << goal {"status": "active", "lastReason": "boom"}
        timers
        agent  << round $2 2
        client << goal {"iterations": 2}
        agent  >> error $2 -32603 boom
        client << goal {"status": "active"}
        timers
        agent  << round $3 3
        client << goal {"iterations": 3}
        agent  >> error $3 -32603 boom
        client << goal {"status": "active"}
        client << goal {"status": "blocked", "lastReason": "3 rounds in a row failed: boom"}
        timers
    """)
    assert outcomes(play) == ["error"] * 3


@pytest.mark.parametrize("action", ["pause", "clear"])
@pytest.mark.parametrize("end", [DONE, "error $1 -32603 aborted", 'result $1 {"stopReason": "refusal"}'])
def test_after_pause_or_clear_no_round_begins_whatever_the_round_ends_with(action: str, end: str) -> None:
    play = plain_at_work()
    play.feed("client", f"control 4 {action}")
    play.feed("agent", end)
    play.run("timers")
    stored = play.stores[-1]
    assert (stored and stored.status) == ("paused" if action == "pause" else None)


def test_a_round_of_a_goal_that_was_replaced_does_not_count_for_the_new_one() -> None:
    play = plain_at_work().run(f"""
        client >> control 4 set Ship that
        agent  << notify session/cancel {{}}
        client << goal {{"objective": "Ship that", "status": "active", "iterations": 0}}
        client << result 4 {{}}
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> result $1 {{"stopReason": "refusal", "usage": {{"totalTokens": 9}}}}
        agent  << round $2 1
        client << goal {{"objective": "Ship that", "status": "active", "iterations": 1}}
    """)
    assert play.snapshots[-1] is not None
    assert "tokensUsed" not in play.snapshots[-1]


def test_resume_during_the_round_that_pause_stopped_waits_for_its_end() -> None:
    plain_at_work().run("""
        client >> control 4 pause
        agent  << notify session/cancel {}
        client << goal {"status": "paused"}
        client << result 4 {}
        client >> control 5 resume
        client << goal {"status": "active"}
        client << result 5 {}
        timers
        agent  >> result $1 {"stopReason": "cancelled"}
        client << goal {"status": "active"}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_the_last_round_is_followed_by_the_limit_and_more_rounds_have_to_be_allowed() -> None:
    play = plain_at_work(limits=Limits(max_rounds=1)).run(f"""
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        timers
        client << goal {{"status": "limited", "lastReason": "The goal has reached its limit of 1 rounds."}}
        client >> control 4 resume
        client << error 4 -32602 The
    """)
    stored = play.stores[-1]
    assert stored is not None
    assert (stored.status, stored.code) == ("limited", "round-limit")


def test_a_token_budget_counts_rounds_alone_and_can_be_raised() -> None:
    plain(limits=Limits(token_budget=100)).run("""
        client >> prompt 3 hello
        agent  << same
        agent  >> result 3 {"stopReason": "end_turn", "usage": {"totalTokens": 90000}}
        client << same
        client >> control 4 set Ship it
        client << goal {"status": "active", "tokenBudget": 100}
        client << result 4 {}
        agent  << round $1 1
        client << goal {"iterations": 1}
        agent  >> result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 100}}
        client << goal {"status": "active", "tokensUsed": 100}
        timers
        client << goal {"status": "limited", "lastReason": "The goal has used its budget of 100 tokens."}
        client >> control 5 resume
        client << error 5 -32602 The
        client >> request 6 _session/goal {"action": "resume", "tokenBudget": 100}
        client << error 6 -32602 The
        client >> request 7 _session/goal {"action": "resume", "tokenBudget": 200}
        client << goal {"status": "active", "tokenBudget": 200, "tokensUsed": 100}
        client << result 7 {}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_a_budget_of_an_active_goal_can_be_raised() -> None:
    plain_at_work(limits=Limits(token_budget=100)).run("""
        client >> request 4 _session/goal {"action": "resume", "tokenBudget": 200}
        client << goal {"status": "active", "tokenBudget": 200}
        client << result 4 {}
    """)


def test_a_time_budget_counts_time_in_which_the_goal_is_active() -> None:
    plain_at_work(limits=Limits(time_budget=3)).run(f"""
        agent  >> {said("a")}
        client << same
        agent  >> {said("b")}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        timers
        client << goal {{"status": "limited", "lastReason": "The goal has used its budget of 3 seconds."}}
    """)


def test_an_agent_that_counts_the_session_is_charged_for_what_a_round_adds() -> None:
    play = Play(policy=Policy())
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", 'result 1 {"protocolVersion": 1, "agentInfo": {"name": "mistral-vibe", "version": "1"}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    play.feed("agent", 'result 2 {"sessionId": "s"}')
    play.feed("client", "prompt 3 hello")
    play.feed("agent", 'result 3 {"stopReason": "end_turn", "usage": {"totalTokens": 5000}}')
    play.feed("client", "control 4 set Ship it")
    play.run("""
        agent  >> result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 5040}}
        client << goal {"tokensUsed": 40}
    """)


@pytest.mark.parametrize("method", ["load", "resume"])
def test_what_a_session_used_before_it_was_opened_again_is_not_the_goals(method: str) -> None:
    play = Play(policy=Policy())
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", 'result 1 {"protocolVersion": 1, "agentInfo": {"name": "mistral-vibe", "version": "1"}}')
    play.feed("client", f"request 2 session/{method} {{}}")
    play.feed("agent", "result 2 {}")
    play.feed("store", "loaded disarmed null")
    play.feed("client", "control 4 set Ship it")
    play.run("""
        agent  >> result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 5000}}
        client << goal {"iterations": 1, "tokensUsed": "absent"}
    """)
    play.let_timers_run()
    play.run("""
        agent  >> result $2 {"stopReason": "end_turn", "usage": {"totalTokens": 5040}}
        client << goal {"iterations": 2, "tokensUsed": 40}
    """)


def test_in_version_2_what_the_client_used_is_told_when_the_session_is_idle() -> None:
    play = Play(policy=Policy())
    play.feed("client", 'request 1 initialize {"protocolVersion": 2}')
    play.feed("agent", 'result 1 {"protocolVersion": 2, "info": {"name": "mistral-vibe", "version": "1"}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    play.feed("agent", 'result 2 {"sessionId": "s"}')
    play.feed("client", "prompt 3 hello")
    play.feed("agent", "result 3 {}")
    play.feed("agent", state("running"))
    play.feed("agent", state("idle", usage={"totalTokens": 5000}))
    play.feed("client", "control 4 set Ship it")
    play.feed("agent", "result $1 {}")
    play.run(f"""
        agent  >> {state("idle", usage={"totalTokens": 5040})}
        client << same
        client << goal {{"tokensUsed": 40}}
    """)


def test_in_version_2_a_round_ends_when_the_session_is_idle() -> None:
    plain(protocol=2).run(f"""
        client >> control 3 set Ship it
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        agent  << round $1 1
        client << goal {{"iterations": 1}}
        agent  >> result $1 {{}}
        agent  >> {state("running")}
        client << same
        agent  >> {state("requires_action")}
        client << same
        timers
        agent  >> {state("idle", stopReason="end_turn", usage={"totalTokens": 5})}
        client << same
        client << goal {{"status": "active", "tokensUsed": 5}}
        timers
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


@pytest.mark.parametrize("states", [["idle"], ["running", "idle"], ["idle", "running", "idle"]])
def test_in_version_2_a_round_ends_though_the_agent_is_idle_before_it_answers(states: list[str]) -> None:
    play = plain_at_work(protocol=2)
    for word in states:
        play.feed("agent", state(word, stopReason="end_turn", usage={"totalTokens": 5}))
    play.run("""
        agent  >> result $1 {}
        client << goal {"status": "active", "tokensUsed": 5}
        timers
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_in_version_2_idle_before_running_ends_no_round() -> None:
    plain_at_work(protocol=2).run(f"""
        agent  >> {state("idle")}
        client << same
        agent  >> {state("running")}
        client << same
        agent  >> result $1 {{}}
        timers
        agent  >> {state("idle", stopReason="refusal")}
        client << same
        client << goal {{"status": "active"}}
        client << goal {{"status": "blocked"}}
    """)


def test_in_version_2_no_round_follows_at_once_where_the_agent_may_begin_only_after_it_answered() -> None:
    plain_at_work(protocol=2, limits=Limits(min_interval=0)).run(f"""
        agent  >> {state("idle")}
        client << same
        agent  >> result $1 {{}}
        client << goal {{"status": "active"}}
        agent  >> {state("running")}
        client << same
        timers
        agent  >> {state("idle")}
        client << same
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


@pytest.mark.parametrize("states", [["idle"], ["running", "idle"]])
def test_in_version_2_a_turn_of_the_clients_ends_though_the_agent_is_idle_before_it_answers(states: list[str]) -> None:
    play = plain(protocol=2)
    play.feed("client", "prompt 3 hello")
    play.feed("client", "control 4 set Ship it")
    for word in states:
        play.feed("agent", state(word))
    play.feed("agent", "result 3 {}")
    play.let_timers_run()
    goal = play.stores[-1]
    assert goal is not None
    assert goal.rounds == 1


def test_in_version_2_a_prompt_of_the_clients_waits_for_idle() -> None:
    plain_at_work(protocol=2).run(f"""
        agent  >> result $1 {{}}
        agent  >> {state("running")}
        client << same
        client >> prompt 4 first
        agent  << notify session/cancel {{}}
        agent  >> {state("idle", stopReason="cancelled")}
        client << same
        client << goal {{"status": "active"}}
        agent  << prompt 4 first
        agent  >> result 4 {{}}
        client << same
        agent  >> {state("running")}
        client << same
        timers
        agent  >> {state("idle")}
        client << same
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


def test_no_round_begins_while_the_agent_works_by_itself() -> None:
    plain(protocol=2).run(f"""
        agent  >> {state("running")}
        client << same
        client >> control 3 set Ship it
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        timers
        agent  >> {state("idle")}
        client << same
        agent  << round $1 1
        client << goal {{"iterations": 1}}
    """)


def test_a_claim_holds_when_the_check_passes() -> None:
    plain_at_work(check="make test").run(f"""
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        check  << run /w
        timers
        check  >> passed 9 tests
        client << goal {{"status": "complete", "lastReason": "9 tests"}}
    """)


def test_a_check_that_fails_is_the_next_rounds_reason() -> None:
    play = plain_at_work(check="make test")
    play.feed("agent", said("GOAL-COMPLETE"))
    play.feed("agent", DONE)
    play.run("""
        check  >> failed 2 tests fail
        client << goal {"status": "active", "lastReason": "2 tests fail"}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)
    assert "What was last reported: 2 tests fail\n" in play.prompts[-1][0]["text"]


def test_a_check_of_a_goal_that_was_replaced_says_nothing_of_the_new_one() -> None:
    play = plain_at_work(check="make test")
    play.feed("agent", said("GOAL-COMPLETE"))
    play.feed("agent", DONE)
    play.run(f"""
        client >> control 4 set Ship that
        client << goal {{"objective": "Ship that", "status": "active"}}
        client << result 4 {{}}
        agent  << round $2 1
        client << goal {{"iterations": 1}}
        agent  >> {said("GOAL-COMPLETE")}
        client << same
        agent  >> result $2 {{"stopReason": "end_turn"}}
        client << goal {{"status": "active"}}
        check  >> passed of the first
        check  << run /w
        check  >> passed of the second
        client << goal {{"status": "complete", "lastReason": "of the second"}}
    """)


@pytest.mark.parametrize("action", ["pause", "clear"])
def test_pause_and_clear_win_over_a_check_that_runs(action: str) -> None:
    play = plain_at_work(check="make test")
    play.feed("agent", said("GOAL-COMPLETE"))
    play.feed("agent", DONE)
    play.feed("client", f"control 4 {action}")
    play.feed("check", "failed 2 tests fail")
    play.run("timers")
    play.feed("check", "passed late")
    assert play.stores[-1] is None or play.stores[-1].status == "paused"


def test_a_check_of_another_objective_says_nothing_of_this_one() -> None:
    play = plain_at_work(check="make test")
    play.feed("agent", said("GOAL-COMPLETE"))
    play.feed("agent", DONE)
    play.run("""
        client >> prompt 4 /goal edit Ship that
        client << goal {"objective": "Ship that", "status": "active"}
        client << result 4 {"stopReason": "end_turn"}
        agent  << round $2 2
        client << goal {"iterations": 2}
        check  >> passed of the first
    """)
