"""The goals as somebody sees them who asks why one is stuck."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins

from goalproxy.proxy.core.driver import Limits

from ..agents import codex, mark, neutral, plain, plain_at_work, snapshot
from ..transcript import Play

DONE = 'result $1 {"stopReason": "end_turn"}'
COMPLETE = 'update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "GOAL-COMPLETE"}}'


def seen(play: Play) -> dict[str, Any]:
    """The only goal, as JSON has it."""
    (view,) = play.engine.goals()
    found: dict[str, Any] = to_builtins(view)
    return found


def test_a_session_without_a_goal_is_not_listed() -> None:
    assert plain().engine.goals() == []
    assert neutral().engine.goals() == []


def test_a_goal_that_is_worked_for_waits_for_nothing() -> None:
    play = plain_at_work()
    view = seen(play)
    assert (view["sessionId"], view["owner"], view["status"], view["working"]) == ("s", "emulated", "active", True)
    assert (view["objective"], view["iterations"]) == ("Ship it", 1)
    assert "waitsFor" not in view
    assert view["workingSince"] == play.now
    assert view["createdAt"] <= play.now


def test_a_goal_between_rounds_waits_for_a_time() -> None:
    play = plain_at_work(limits=Limits(min_interval=60_000))
    play.feed("agent", DONE)
    view = seen(play)
    assert (view["working"], view["waitsFor"]) == (False, "the time of its next round")
    assert view["nextRoundAt"] == play.now + 60_000


def test_a_goal_whose_turn_the_user_stopped_waits_for_the_user() -> None:
    play = plain(on_cancel="turn")
    play.feed("client", "control 3 set Ship it")
    play.feed("client", "notify session/cancel {}")
    play.feed("agent", 'result $1 {"stopReason": "cancelled"}')
    assert seen(play)["waitsFor"] == "the user, who stopped its turn"


def test_a_goal_that_is_checked_waits_for_the_check() -> None:
    play = plain_at_work(check="make test")
    play.feed("agent", COMPLETE)
    play.feed("agent", DONE)
    assert seen(play)["waitsFor"] == "the operator's check"


def test_a_goal_that_is_not_active_says_why_by_its_status_and_its_reason() -> None:
    play = plain_at_work(limits=Limits(max_rounds=1))
    play.feed("agent", DONE)
    play.let_timers_run()
    view = seen(play)
    assert (view["status"], view["working"], "waitsFor" in view) == ("limited", False, False)
    assert view["lastReason"] == "The goal has reached its limit of 1 rounds."


def test_a_session_that_is_loaded_again_waits_for_the_agent() -> None:
    play = plain_at_work(limits=Limits(min_interval=60_000))
    play.feed("agent", DONE)
    play.feed("client", 'request 5 session/load {"cwd": "/w", "mcpServers": []}')
    assert seen(play)["waitsFor"] == "the agent, which loads the session"


@pytest.mark.parametrize(("kind", "working"), [("active", True), ("idle", False)])
def test_an_agent_that_keeps_its_goals_works_as_far_as_it_says_so(kind: str, *, working: bool) -> None:
    play = codex("2.6.0")
    play.feed("agent", snapshot("air", objective="X", status="active", tokensUsed=7, tokenBudget=9))
    play.feed("agent", mark(kind))
    view = seen(play)
    assert (view["owner"], view["working"]) == ("native", working)
    assert ("waitsFor" in view) == (not working)
    assert (view["tokensUsed"], view["tokenBudget"]) == (7, 9)


def test_what_people_wrote_can_be_left_out() -> None:
    play = neutral()
    play.feed("agent", snapshot("neutral", objective="Secret", status="active", lastReason="Secret reason"))
    (view,) = play.engine.goals()
    assert "Secret" not in str(to_builtins(view.without_text()))
