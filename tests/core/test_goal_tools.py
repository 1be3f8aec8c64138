"""The model's tools: a turn of the user's may do what the user may, a round may only report on its own goal."""

import json

import pytest

from goalproxy.proxy.core.driver import Limits
from goalproxy.proxy.core.events import ToolCalled
from goalproxy.proxy.core.facts import ToolAnswered
from goalproxy.proxy.goal.changes import GoalSpent, GoalStopped, TokensUsed

from ..agents import plain, plain_at_work
from ..transcript import Play, changes

TEXT = 'update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "working"}}'


def call(action: str, **fields: object) -> str:
    """A call of update_goal for the goal as it was stored last."""
    rest = "".join(f', "{key}": {json.dumps(value)}' for key, value in fields.items())
    return f'model >> update_goal {{"goal_id": $goal, "revision": $revision, "action": "{action}"{rest}}}'


def in_turn(**options: object) -> Play:
    """A goal that is paused, in a turn of the user's with the id 5."""
    play = plain_at_work(with_tools=True, **options)
    play.feed("client", "control 4 pause")
    play.feed("agent", 'result $1 {"stopReason": "cancelled"}')
    play.feed("client", "prompt 5 hello")
    play.facts.clear()
    return play


def refused(play: Play, transcript: str) -> list[str]:
    """Play calls that change nothing; the codes with which they were refused, as observers were told."""
    before = list(play.stores)
    play.run(transcript)
    assert play.stores == before
    return [fact.result for fact in play.facts if isinstance(fact, ToolAnswered)]


def test_the_model_reads_the_goal_at_any_time() -> None:
    plain(with_tools=True).run("""
        model  >> get_goal {}
        model  << answer {"goal": null}
    """)
    plain_at_work(with_tools=True).run("""
        model  >> get_goal null
        model  << answer {"goal": {"objective": "Ship it", "revision": 2, "status": "active", "rounds": 1, "max_rounds": 256}}
    """)


def test_in_a_turn_of_the_users_the_model_creates_a_goal_that_starts_after_it() -> None:
    play = plain(with_tools=True).run("""
        client >> prompt 5 keep at it until it ships
        agent  << same
        model  >> create_goal {"objective": "Ship it", "max_goal_rounds": 5}
        client << goal {"objective": "Ship it", "status": "active"}
        model  << answer {"goal": {"objective": "Ship it", "max_rounds": 5, "revision": 2}}
        timers
        agent  >> result 5 {"stopReason": "end_turn"}
        client << same
        agent  << round $1 1
        client << goal {"iterations": 1}
    """)
    assert play.facts.count(ToolAnswered("create_goal", "ok")) == 1


def test_the_model_cannot_allow_itself_more_rounds_than_the_operator() -> None:
    play = plain(with_tools=True, limits=Limits(max_rounds=9))
    play.feed("client", "prompt 5 go")
    play.run("""
        model  >> create_goal {"objective": "Ship it", "max_goal_rounds": 1000000}
        client << goal {"objective": "Ship it"}
        model  << answer {"goal": {"max_rounds": 9}}
    """)


@pytest.mark.parametrize("arguments", ['{"objective": "Mine"}', '{"objective": "Mine", "max_goal_rounds": 0}'])
def test_a_round_creates_nothing(arguments: str) -> None:
    play = plain_at_work(with_tools=True)
    play.feed("client", "control 4 clear")
    assert refused(play, f"model >> create_goal {arguments}\nmodel << refused not-allowed") == ["not-allowed"]


@pytest.mark.parametrize("action", ["edit", "pause", "resume"])
def test_a_round_changes_nothing_but_how_the_goal_stands(action: str) -> None:
    fields = {"objective": "Easier"} if action == "edit" else {}
    play = plain_at_work(with_tools=True)
    assert refused(play, f"{call(action, **fields)}\nmodel << refused not-allowed") == ["not-allowed"]


def test_a_second_goal_is_refused_and_a_complete_one_is_replaced() -> None:
    play = in_turn()
    assert refused(play, 'model >> create_goal {"objective": "x"}\nmodel << refused already-exists') == [
        "already-exists"
    ]
    play.run(f"""
        {call("complete")}
        client << goal {{"status": "complete"}}
        model  << answer {{"goal": {{"status": "complete"}}}}
        model  >> create_goal {{"objective": "x"}}
        client << goal {{"objective": "x", "status": "active", "iterations": 0}}
        model  << answer {{"goal": {{"objective": "x"}}}}
    """)


def test_in_a_turn_of_the_users_the_model_edits_resumes_and_pauses() -> None:
    in_turn().run(f"""
        {call("edit", objective="Ship that", max_goal_rounds=7)}
        client << goal {{"objective": "Ship that", "status": "paused", "iterations": 1}}
        model  << answer {{"goal": {{"objective": "Ship that", "max_rounds": 7}}}}
        {call("resume")}
        client << goal {{"status": "active"}}
        model  << answer {{"goal": {{"status": "active", "max_rounds": 7}}}}
        {call("pause")}
        client << goal {{"status": "paused"}}
        model  << answer {{"goal": {{"status": "paused"}}}}
        {call("resume")}
        client << goal {{"status": "active"}}
        model  << answer {{"goal": {{"status": "active"}}}}
        timers
        agent  >> result 5 {{"stopReason": "end_turn"}}
        client << same
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


def test_a_goal_that_is_paused_in_a_turn_starts_no_round_after_it() -> None:
    play = plain(with_tools=True)
    play.feed("client", "prompt 5 hello")
    play.feed("model", 'create_goal {"objective": "Ship it"}')
    play.feed("model", call("pause").removeprefix("model >> "))
    play.run("""
        agent  >> result 5 {"stopReason": "end_turn"}
        client << same
        timers
    """)


def test_a_resume_that_a_limit_forbids_changes_nothing() -> None:
    play = plain_at_work(with_tools=True, limits=Limits(max_rounds=1))
    play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
    play.run('timers\nclient << goal {"status": "limited"}')
    play.feed("client", "prompt 5 go on")
    assert refused(play, f"{call('resume')}\nmodel << refused round-limit") == ["round-limit"]


def test_a_round_completes_its_goal_and_no_other_round_follows() -> None:
    plain_at_work(with_tools=True).run(f"""
        agent  >> {TEXT}
        client << same
        {call("complete", reason="All tests pass.")}
        client << goal {{"status": "complete", "lastReason": "All tests pass."}}
        model  << answer {{"goal": {{"status": "complete"}}}}
        agent  >> result $1 {{"stopReason": "end_turn"}}
        timers
    """)


def test_a_call_that_is_repeated_is_stale() -> None:
    play = plain_at_work(with_tools=True)
    first = play.stores[-1]
    assert first is not None
    again = json.dumps({"goal_id": first.id, "revision": first.revision, "action": "complete"})
    play.feed("model", f"update_goal {again}")
    play.run(f"""
        model  >> update_goal {again}
        model  << refused stale-revision
    """)


def test_a_stale_revision_is_refused_with_the_goal_as_it_is() -> None:
    play = plain_at_work(with_tools=True).run("""
        model  >> update_goal {"goal_id": $goal, "revision": 1, "action": "complete"}
        model  << refused stale-revision {"error": {"code": "stale-revision", "message": "The revision 1 is stale; the goal is at revision 2."}, "goal": {
    """)
    assert ToolAnswered("update_goal", "stale-revision") in play.facts


def test_another_goal_is_refused_by_name() -> None:
    play = plain_at_work(with_tools=True)
    transcript = (
        'model >> update_goal {"goal_id": "x", "revision": 2, "action": "complete"}\nmodel << refused not-found'
    )
    assert refused(play, transcript) == ["not-found"]


def test_blocked_needs_some_rounds() -> None:
    play = plain_at_work(with_tools=True, limits=Limits(blocked_after=2))
    assert refused(play, f"{call('blocked', reason='no network')}\nmodel << refused too-early") == ["too-early"]
    play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
    play.run(f"""
        timers
        agent  << round $2 2
        client << goal {{"iterations": 2}}
        {call("blocked", reason="no network")}
        client << goal {{"status": "blocked", "lastReason": "no network"}}
        model  << answer {{"goal": {{"status": "blocked"}}}}
        agent  >> result $2 {{"stopReason": "end_turn"}}
        timers
    """)


@pytest.mark.parametrize("spoke", ["prompt 4 try this", "prompt 4 /goal edit Ship that", "words", "a new start"])
def test_blocked_needs_its_rounds_anew_after_the_user_took_part(spoke: str) -> None:
    play = plain_at_work(with_tools=True, limits=Limits(blocked_after=2))
    if spoke == "words":
        play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
        play.let_timers_run()
        play.feed("client", 'request 4 _session/steering {"prompt": [{"type": "text", "text": "try this"}]}')
    elif spoke == "a new start":
        play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
        play.feed("client", "control 4 pause")
        play.feed("client", "control 5 resume")
    else:
        play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
        play.feed("client", spoke)
        play.feed("agent", 'result 4 {"stopReason": "end_turn"}')
    play.let_timers_run()
    goal = play.stores[-1]
    assert goal is not None
    assert goal.rounds == 2
    assert refused(play, f"{call('blocked', reason='no network')}\nmodel << refused too-early") == ["too-early"]


def test_between_turns_nothing_can_be_reported() -> None:
    play = plain_at_work(with_tools=True)
    play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
    assert refused(play, f"{call('complete')}\nmodel << refused no-open-turn") == ["no-open-turn"]


def test_a_round_for_another_goal_reports_nothing() -> None:
    play = plain_at_work(with_tools=True)
    play.feed("client", "control 4 set Ship that")
    assert refused(play, f"{call('complete')}\nmodel << refused wrong-round") == ["wrong-round"]


def test_a_round_for_another_objective_reports_nothing() -> None:
    play = plain_at_work(with_tools=True)
    play.feed("client", "prompt 4 /goal edit Ship that")
    assert refused(play, f"{call('complete')}\nmodel << refused wrong-round") == ["wrong-round"]


def test_a_round_that_was_stopped_reports_nothing() -> None:
    play = plain_at_work(with_tools=True)
    play.feed("client", "prompt 4 hello")
    assert refused(play, f"{call('complete')}\nmodel << refused no-open-turn") == ["no-open-turn"]


def test_a_complete_goal_is_not_completed_again_with_or_without_a_check() -> None:
    for check in (None, "make test"):
        play = in_turn(check=check)
        play.feed("model", call("complete").removeprefix("model >> "))
        play.feed("check", "passed")
        code = "invalid-transition"
        assert refused(play, f"{call('complete')}\nmodel << refused {code}")[-1] == code


def test_with_a_check_a_report_is_a_claim_and_is_checked_once() -> None:
    plain_at_work(with_tools=True, check="make test").run(f"""
        {call("complete")}
        check  << run /w
        model  << answer {{"goal": {{"status": "active"}}, "note": "The goal is complete once the check has passed; it runs now."}}
        {call("complete")}
        model  << answer {{"goal": {{"status": "active"}}}}
        agent  >> result $1 {{"stopReason": "end_turn"}}
        client << goal {{"status": "active"}}
        timers
        check  >> failed 2 tests fail
        client << goal {{"status": "active", "lastReason": "2 tests fail"}}
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


def test_a_claim_for_a_paused_goal_is_checked_too() -> None:
    in_turn(check="make test").run(f"""
        {call("complete")}
        check  << run /w
        model  << answer {{"goal": {{"status": "paused"}}}}
        check  >> passed 9 tests
        client << goal {{"status": "complete", "lastReason": "9 tests"}}
    """)


def test_calls_that_mean_nothing_are_refused() -> None:
    play = in_turn()
    transcript = """
        model >> clear_goal {}
        model << refused unknown-tool
        model >> create_goal {}
        model << refused invalid-arguments
    """
    assert refused(play, transcript) == ["unknown-tool", "invalid-arguments"]
    assert ToolAnswered("unknown", "unknown-tool") in play.facts


@pytest.mark.parametrize("how", ["close", "delete"])
def test_the_tools_of_a_session_that_is_over_are_nobodys(how: str) -> None:
    play = in_turn()
    play.feed("client", f"request 8 session/{how} {{}}")
    play.feed("agent", "result 8 {}")
    assert refused(play, "model >> get_goal {}\nmodel << refused no-session") == ["no-session"]


def test_a_token_that_nobody_gave_opens_nothing() -> None:
    play = in_turn()
    (record, answer) = play.engine.handle(ToolCalled("guess", "get_goal", {}, 1, play.now))
    assert "no-session" in repr(record)
    assert "no-session" in repr(answer)


def test_before_the_session_is_open_its_tools_are_nobodys() -> None:
    play = plain(with_tools=True)
    play.feed("client", 'request 3 session/new {"sessionId": null}')
    (_, answer) = play.engine.handle(ToolCalled("secret-2", "get_goal", {}, 1, play.now))
    assert "no-session" in repr(answer)


def test_the_tokens_of_the_round_that_completes_a_goal_are_the_goals_too() -> None:
    play = plain_at_work(with_tools=True)
    who, _, text = call("complete", reason="done").split(maxsplit=2)
    play.feed(who, text)
    (stop,) = (change for change in changes(play, GoalStopped) if isinstance(change, GoalStopped))
    assert (stop.outcome, stop.rounds, stop.tokens) == ("complete", 1, None)
    play.feed("agent", 'result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 40}}')
    assert changes(play, TokensUsed, GoalSpent) == [TokensUsed(40), GoalSpent("complete", 40)]


def test_the_tokens_of_a_round_whose_goal_was_cleared_meanwhile_were_used_for_it() -> None:
    play = plain_at_work()
    play.feed("client", "control 9 clear")
    play.feed("agent", 'result $1 {"stopReason": "cancelled", "usage": {"totalTokens": 40}}')
    assert changes(play, TokensUsed, GoalSpent) == [TokensUsed(40), GoalSpent("cleared", 40)]


@pytest.mark.parametrize("then", ["control 5 clear", "control 5 set Test it"])
def test_the_tokens_of_a_goal_that_is_complete_are_told_though_it_is_gone_before_its_round_is_over(then: str) -> None:
    play = plain_at_work(with_tools=True)
    play.feed("agent", 'result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 100}}')
    play.let_timers_run()
    who, _, text = call("complete", reason="done").split(maxsplit=2)
    play.feed(who, text)
    play.feed("client", then)
    play.feed("agent", 'result $2 {"stopReason": "end_turn", "usage": {"totalTokens": 40}}')
    assert changes(play, GoalSpent) == [GoalSpent("complete", 140)]
