"""The cost of goals: what the session's sum grows by while one is worked for, and nothing that is not known."""

from __future__ import annotations

import json

import pytest

from goalproxy.proxy.goal.changes import CostUsed

from ..agents import neutral, plain_at_work, snapshot
from ..transcript import Play, changes


def usage(amount: object, currency: object = "USD") -> str:
    """The agent tells the session's cost so far, as a line of a transcript."""
    cost = {"amount": amount, "currency": currency}
    return "update " + json.dumps({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost})


def costs(play: Play) -> list[tuple[float, str]]:
    """What was counted."""
    return [(change.amount, change.currency) for change in changes(play, CostUsed) if isinstance(change, CostUsed)]


def told(play: Play, *lines: str) -> Play:
    """The agent sends updates, which pass as they are."""
    for line in lines:
        play.run(f"""
            agent  >> {line}
            client << same
        """)
    return play


def test_what_a_session_costs_more_in_a_round_is_the_goals() -> None:
    assert costs(told(plain_at_work(), usage(0.25), usage(0.75))) == [(0.25, "USD"), (0.5, "USD")]


def test_an_agent_that_keeps_its_goals_is_counted_as_long_as_one_is_active() -> None:
    play = told(neutral(), usage(1))
    assert costs(play) == [], "there is no goal"
    play.feed("agent", snapshot("neutral", objective="X", status="active"))
    told(play, usage(1.5))
    play.feed("agent", snapshot("neutral", objective="X", status="paused"))
    assert costs(told(play, usage(9))) == [(0.5, "USD")]


def test_a_sum_that_falls_was_begun_anew_and_counts_from_there() -> None:
    assert costs(told(plain_at_work(), usage(5), usage(1), usage(1.5))) == [(5, "USD"), (0.5, "USD")]


def test_currencies_are_counted_apart() -> None:
    assert costs(told(plain_at_work(), usage(1, "EUR"), usage(2, "USD"), usage(2, "EUR"))) == [
        (1, "EUR"),
        (2, "USD"),
        (1, "EUR"),
    ]


def test_what_an_old_session_has_cost_before_is_not_the_goals() -> None:
    play = neutral()
    play.feed("client", 'request 3 session/load {"sessionId": "s", "cwd": "/", "mcpServers": []}')
    play.feed("agent", "result 3 {}")
    play.feed("agent", snapshot("neutral", objective="X", status="active"))
    assert costs(told(play, usage(40), usage(41))) == [(1, "USD")]


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        (-1, "USD"),
        (True, "USD"),
        ("1", "USD"),
        (None, "USD"),
        (1, "usd"),
        (1, "DOLLAR"),
        (1, 7),
        (10**400, "USD"),
        (1e400, "USD"),
    ],
)
def test_what_is_no_cost_is_not_counted(amount: object, currency: object) -> None:
    assert costs(told(plain_at_work(), usage(amount, currency))) == []
