"""How active goals stand: the most rounds, the budget that is nearest to its end, the longest wait."""

from __future__ import annotations

from goalproxy.proxy.core.facts import GoalsStand, SessionsOpen

from ..agents import codex, mark, neutral, plain, snapshot
from ..transcript import Play

DONE = 'result $1 {"stopReason": "end_turn", "usage": {"totalTokens": 30}}'


def stand(play: Play) -> GoalsStand:
    """What was told last."""
    return [fact for fact in play.facts if isinstance(fact, GoalsStand)][-1]


def test_a_goal_that_is_worked_for_does_not_wait() -> None:
    play = plain()
    play.feed("client", "control 3 set Ship it")
    assert stand(play) == GoalsStand(most_rounds=1)


def test_a_goal_waits_from_the_end_of_its_round_until_the_next() -> None:
    play = plain()
    play.feed("client", "control 3 set Ship it")
    play.feed("agent", DONE)
    assert stand(play) == GoalsStand(most_rounds=1, idle_since=play.now)
    play.let_timers_run()
    assert stand(play) == GoalsStand(most_rounds=2)


def test_a_goal_that_waits_for_its_user_goes_on_waiting() -> None:
    play = plain(on_cancel="turn")
    play.feed("client", "control 3 set Ship it")
    play.feed("client", "notify session/cancel {}")
    play.feed("agent", 'result $1 {"stopReason": "cancelled"}')
    since = play.now
    play.let_timers_run()
    assert stand(play) == GoalsStand(most_rounds=1, idle_since=since)


def test_the_share_of_the_budget_is_told() -> None:
    play = plain()
    play.feed("client", 'request 3 _session/goal {"action": "set", "objective": "X", "tokenBudget": 60}')
    play.feed("agent", DONE)
    assert stand(play).budget_used == 0.5


def test_open_sessions_are_counted() -> None:
    play = plain()
    play.feed("client", 'request 3 session/new {"cwd": "/w", "mcpServers": []}')
    play.feed("agent", 'result 3 {"sessionId": "t"}')
    play.feed("client", "request 4 session/close {}")
    play.feed("agent", "result 4 {}")
    assert [fact.number for fact in play.facts if isinstance(fact, SessionsOpen)] == [2, 1]


def test_no_active_goal_tells_nothing() -> None:
    play = plain()
    play.feed("client", "control 3 set Ship it")
    play.feed("client", "control 4 pause")
    assert stand(play) == GoalsStand()


def test_the_turns_of_an_agent_that_keeps_its_goals_are_work() -> None:
    play = codex("2.6.0")
    play.feed("agent", snapshot("air", objective="X", status="active"))
    assert stand(play) == GoalsStand(idle_since=play.now)
    play.feed("agent", mark("active"))
    assert stand(play).idle_since is None
    play.feed("agent", mark("idle"))
    assert stand(play).idle_since == play.now


def test_a_report_of_an_agent_whose_turns_are_not_seen_is_a_sign_of_work() -> None:
    play = neutral()
    play.feed("agent", snapshot("neutral", objective="X", status="active", iterations=3))
    first = stand(play)
    play.feed("agent", snapshot("neutral", objective="X", status="active", iterations=4))
    assert (first.idle_since or 0) < (stand(play).idle_since or 0)
    assert stand(play).most_rounds == 4


def test_a_check_that_runs_is_work() -> None:
    play = plain(check="make test")
    play.feed("client", "control 3 set Ship it")
    play.feed(
        "agent", 'update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "GOAL-COMPLETE"}}'
    )
    play.feed("agent", DONE)
    assert stand(play).idle_since is None
