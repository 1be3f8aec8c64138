"""Sessions: nothing is published before the client knows one, or after it is over, or for one that it never asked for."""

import json

import pytest

from ..agents import codex, gone, neutral, snapshot
from ..transcript import Play

PAUSED = snapshot("air", objective="Ship it", status="paused", tokensUsed=500, createdAt=1_780_000_000_000)


def opened(version: str = "2.6.0") -> Play:
    """A Codex that has just been introduced, with no session."""
    play = Play(declares_air=True)
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed(
        "agent", f'result 1 {{"agentInfo": {{"name": "@agentclientprotocol/codex-acp", "version": "{version}"}}}}'
    )
    return play


def test_a_new_session_has_no_goal_and_that_is_said_after_its_response() -> None:
    opened().run("""
        client >> request 2 session/new {"sessionId": null, "cwd": "/"}
        agent  << same
        agent  >> result 2 {"sessionId": "s", "modes": null}
        client << same
        client << goal null
    """)


def test_what_comes_before_the_response_that_names_the_session_is_published_after_it() -> None:
    opened().run(f"""
        client >> request 2 session/new {{"sessionId": null}}
        agent  << same
        agent  >> {PAUSED}
        agent  >> result 2 {{"sessionId": "s"}}
        client << same
        client << goal {{"status": "paused"}}
    """)


@pytest.mark.parametrize("result", ["null", "{}", '{"sessionId": "s"}'])
def test_a_loaded_session_shows_its_goal_after_the_response_with_its_own_time_and_counters(result: str) -> None:
    opened().run(f"""
        client >> request 2 session/load {{}}
        agent  << same
        agent  >> {PAUSED}
        agent  >> update {{"sessionUpdate": "user_message_chunk", "content": {{"type": "text", "text": "/goal clear"}}}}
        client << same
        agent  >> result 2 {result}
        client << same
        client << goal {{"status": "paused", "createdAt": 1780000000000, "tokensUsed": 500}}
    """)


def test_a_resumed_session_says_nothing_until_the_agent_has() -> None:
    opened().run(f"""
        client >> request 2 session/resume {{}}
        agent  << same
        agent  >> result 2 {{}}
        client << same
        agent  >> {gone("air")}
        client << goal null
    """)


def test_a_session_that_is_loaded_again_is_told_of_its_goal_again() -> None:
    play = codex("2.6.0")
    play.feed("agent", PAUSED)
    play.run("""
        client >> request 3 session/load {}
        agent  << same
        agent  >> result 3 {}
        client << same
        client << goal {"status": "paused"}
    """)


def test_a_load_that_fails_leaves_an_open_session_as_it_was_and_a_new_one_unknown() -> None:
    play = codex("2.6.0")
    play.feed("agent", PAUSED)
    play.run("""
        client >> request 3 session/load {}
        agent  << same
        agent  >> error 3 -32603 busy
        client << same
        client >> request 4 session/load {"sessionId": "other"}
        agent  << same
        agent  >> error 4 -32603 busy
        client << same
        client >> request 5 _session/goal {"sessionId": "other", "action": "clear"}
        client << error 5 -32602 Unknown session: other
    """)


def test_a_fork_is_a_session_of_its_own() -> None:
    play = codex("2.6.0")
    play.feed("agent", PAUSED)
    play.run("""
        client >> request 3 session/fork {}
        agent  << same
        agent  >> result 3 {"sessionId": "fork"}
        client << same
        client >> request 4 _session/goal {"sessionId": "fork", "action": "clear"}
        agent  << request $1 _session/goal {"sessionId": "fork", "action": "clear"}
    """)


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_nothing_is_published_for_a_session_that_is_over(method: str) -> None:
    play = codex("2.6.0")
    play.feed("agent", snapshot("air", objective="Ship it", status="active"))
    play.facts.clear()
    play.run(f"""
        client >> request 3 {method} {{}}
        agent  << same
        agent  >> result 3 {{}}
        client << same
        agent  >> {PAUSED}
        client >> control 4 pause
        client << error 4 -32602 Unknown session
    """)
    assert [getattr(fact.change, "outcome", None) for fact in play.facts if hasattr(fact, "change")] == [
        "ended_unknown",
        None,
    ]


def test_a_session_that_the_agent_will_not_close_stays() -> None:
    codex("2.6.0").run(f"""
        client >> request 3 session/close {{}}
        agent  << same
        agent  >> error 3 -32603 no
        client << same
        agent  >> {snapshot("air", objective="Ship it", status="active")}
        client << goal {{"status": "active"}}
    """)


def test_a_subagents_session_is_not_published() -> None:
    update = json.loads(snapshot("neutral", objective="Child", status="active").removeprefix("update "))
    neutral().run(f"""
        agent  >> notify session/update {json.dumps({"sessionId": "child", "update": update})}
    """)


def test_a_goal_stays_in_its_session() -> None:
    play = codex("2.6.0")
    play.feed("agent", snapshot("air", objective="Ship it", status="active"))
    play.run("""
        client >> request 3 session/new {"sessionId": null}
        agent  << same
        agent  >> result 3 {"sessionId": "second"}
        client << same
        client << notify session/update {"sessionId": "second", "update": {"sessionUpdate": "session_info_update", "_meta": {"goal": null}}}
    """)


def test_a_session_that_the_client_knows_from_elsewhere_is_taken_on() -> None:
    play = opened()
    play.run(f"""
        client >> prompt 3 hello
        agent  << same
        agent  >> {PAUSED}
        client << goal {{"status": "paused"}}
    """)


def test_a_response_that_names_no_session_passes() -> None:
    opened().run("""
        client >> request 2 session/new {"sessionId": null}
        agent  << same
        agent  >> result 2 {"sessionId": 7}
        client << same
    """)


def test_a_session_can_be_controlled_while_it_is_loaded_again() -> None:
    play = codex("2.6.0")
    play.feed("agent", snapshot("air", objective="Ship it", status="active"))
    play.run(f"""
        client >> request 9 session/load {{}}
        agent  << same
        client >> control 10 pause
        agent  << request $1 _session/goal {{"action": "pause"}}
        agent  >> {snapshot("air", objective="Ship it", status="paused")}
        client << result 10 {{}}
        agent  >> result 9 {{}}
        client << same
        client << goal {{"status": "paused"}}
        agent  >> result $1 {{}}
    """)
