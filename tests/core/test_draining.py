"""Draining: nothing of the proxy's own begins any more, what runs may finish or is stopped, and goals say so."""

from __future__ import annotations

import json

import pytest

from goalproxy.proxy.core.driver import DRAINED, Limits

from ..agents import neutral, plain, plain_at_work, snapshot

PAUSED = json.dumps({"status": "paused", "lastReason": DRAINED})
DONE = 'result $1 {"stopReason": "end_turn"}'
COMPLETE = 'update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "GOAL-COMPLETE"}}'


def test_without_goals_there_is_nothing_to_wait_for() -> None:
    plain().run("""
        operator >> drain
        operator << drained
    """)


def test_the_goals_of_an_agent_that_keeps_them_are_its_own_matter() -> None:
    play = neutral()
    play.feed("agent", snapshot("neutral", objective="X", status="active"))
    play.run("""
        operator >> drain
        operator << drained
        timers
    """)


def test_a_goal_whose_round_runs_is_paused_when_the_round_has_ended() -> None:
    play = plain_at_work().run(f"""
        operator >> drain
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        client << goal {PAUSED}
        operator << drained
        timers
    """)
    assert play.stores[-1] is not None
    assert play.stores[-1].code == "drained"


def test_a_goal_that_waits_for_its_next_round_is_paused_at_once() -> None:
    play = plain_at_work(limits=Limits(min_interval=60_000))
    play.feed("agent", DONE)
    play.run(f"""
        operator >> drain
        client << goal {PAUSED}
        operator << drained
        timers
    """)


def test_a_round_for_which_there_is_no_time_is_cancelled() -> None:
    plain_at_work().run(f"""
        operator >> drain
        operator >> drain at once
        agent  << notify session/cancel {{}}
        agent  >> result $1 {{"stopReason": "cancelled"}}
        client << goal {{"status": "active"}}
        client << goal {PAUSED}
        operator << drained
    """)


def test_a_round_that_completes_the_goal_is_not_lost() -> None:
    plain_at_work().run(f"""
        operator >> drain
        agent  >> {COMPLETE}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        client << goal {{"status": "complete"}}
        operator << drained
    """)


def test_a_goal_that_is_set_now_is_there_and_does_not_work() -> None:
    plain().run(f"""
        operator >> drain
        operator << drained
        client >> control 3 set Ship it
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        client << goal {PAUSED}
        timers
    """)


def test_the_clients_own_prompts_pass_as_ever() -> None:
    plain().run("""
        operator >> drain
        operator << drained
        client >> prompt 3 hello
        agent  << same
        agent  >> result 3 {"stopReason": "end_turn"}
        client << same
    """)


def test_a_prompt_that_waits_for_a_round_is_the_agents_next() -> None:
    plain_at_work(on_prompt="queue").run(f"""
        client >> prompt 4 hello
        operator >> drain
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        agent  << prompt 4 hello
        operator << drained
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        client << goal {PAUSED}
    """)


def test_a_check_that_runs_is_waited_for() -> None:
    plain_at_work(check="make test").run(f"""
        agent  >> {COMPLETE}
        client << same
        agent  >> {DONE}
        client << goal {{"status": "active"}}
        check  << run /w
        operator >> drain
        client << goal {PAUSED}
        check  >> passed fine
        client << goal {{"status": "complete", "lastReason": "fine"}}
        operator << drained
    """)


@pytest.mark.parametrize(("policy", "status"), [("preserve", "active"), ("disarmed", "paused")])
def test_a_goal_that_draining_paused_goes_on_where_the_client_wants_that(policy: str, status: str) -> None:
    play = plain_at_work()
    play.feed("operator", "drain")
    play.feed("agent", DONE)
    again = plain()
    again.stores = play.stores
    meta = '"_meta": {"goal": {"resumePolicy": "preserve"}}, ' if policy == "preserve" else ""
    again.feed("client", "request 4 session/close {}")
    again.feed("agent", "result 4 {}")
    again.feed("client", f'request 5 session/load {{{meta}"cwd": "/w", "mcpServers": []}}')
    again.run(
        f"""
        agent  >> result 5 {{}}
        client << same
        store  << asked {policy}
        store  >> loaded {policy} {len(play.stores) - 1}
        client << goal {{"status": "{status}"}}
    """
        + ('agent  << round $1 2\nclient << goal {"iterations": 2}' if policy == "preserve" else "")
    )
