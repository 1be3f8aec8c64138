"""An agent that may stop without a word: a long silence is told for what it is, and taken back with the next sign."""

from __future__ import annotations

import json

import pytest

from .log_play import LogPlay, claude, dsh, qwen

SILENCE = 120_000
UNSAID = "No sign of work for 120 s; this agent may stop without saying so."
WORDS = 'update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "round text"}}'


def tool(goal: dict[str, object] | None, activation: str = "armed") -> tuple[str, str]:
    """A call of ``get_goal`` and its result."""
    text = json.dumps({"goal": goal, "activation": activation})
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "get_goal", "status": "in_progress"}
    done = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}],
    }
    return f"update {json.dumps(call)}", f"update {json.dumps(done)}"


def goal(phase: str = "active", revision: int = 1) -> dict[str, object]:
    """A goal of DSH."""
    return {"id": "g", "revision": revision, "objective": "Ship it", "phase": phase, "roundsStarted": 1}


def at_work() -> LogPlay:
    """A DSH that works for a goal; no prompt is open."""
    play = dsh()
    for line in tool(goal()):
        play.feed("agent", line)
    return play


def wait(play: LogPlay, milliseconds: int) -> LogPlay:
    """Let time pass; the play's own seconds come on top."""
    play.now += milliseconds
    return play


def test_silence_is_told_and_taken_back_with_the_next_sign_of_work() -> None:
    wait(at_work(), SILENCE).run(f"""
        timers
        client << goal {{"objective": "Ship it", "status": "active", "lastReason": "{UNSAID}", "iterations": 1}}
        agent  >> {WORDS}
        client << same
        client << goal {{"status": "active", "lastReason": "absent"}}
    """)


def test_silence_is_told_again_after_the_agent_spoke() -> None:
    play = wait(at_work(), SILENCE)
    play.run(f"""
        timers
        client << goal {{"lastReason": "{UNSAID}"}}
        agent  >> {WORDS}
        client << same
        client << goal {{"lastReason": "absent"}}
    """)
    wait(play, SILENCE).run(f"""
        timers
        client << goal {{"lastReason": "{UNSAID}"}}
    """)


def test_agent_that_goes_on_speaking_is_not_silent() -> None:
    play = at_work()
    for _ in range(3):
        wait(play, SILENCE - 10_000).run(f"""
            agent  >> {WORDS}
            client << same
        """)
        play.run("timers")


def test_silence_in_a_turn_of_the_client_is_none_of_the_goals() -> None:
    play = at_work()
    play.feed("client", "prompt 5 hello")
    wait(play, 2 * SILENCE).run("timers")
    play.feed("agent", 'result 5 {"stopReason": "end_turn"}')
    wait(play, SILENCE).run(f"""
        timers
        client << goal {{"lastReason": "{UNSAID}"}}
    """)


def test_goal_that_does_no_work_is_not_watched() -> None:
    play = at_work()
    for line in tool(goal("complete", 2)):
        play.feed("agent", line)
    wait(play, SILENCE).run("timers")


def test_goal_that_stops_and_goes_on_is_watched_again() -> None:
    play = at_work()
    for phase, revision in (("blocked", 2), ("active", 3)):
        for line in tool(goal(phase, revision)):
            play.feed("agent", line)
    wait(play, SILENCE).run(f"""
        timers
        client << goal {{"status": "active", "lastReason": "{UNSAID}"}}
    """)


def test_goal_that_goes_on_after_its_watch_ran_out_is_watched_again() -> None:
    play = at_work()
    for line in tool(goal("blocked", 2)):
        play.feed("agent", line)
    wait(play, SILENCE).run("timers")
    for line in tool(goal("active", 3)):
        play.feed("agent", line)
    wait(play, SILENCE).run(f"""
        timers
        client << goal {{"status": "active", "lastReason": "{UNSAID}"}}
    """)


def test_one_timer_watches_however_much_the_agent_says() -> None:
    play = at_work()
    for _ in range(100):
        play.feed("agent", WORDS)
    assert len(play._timers) == 1


def test_timer_of_a_session_that_is_closed_does_nothing() -> None:
    play = at_work()
    play.feed("client", "request 9 session/close {}")
    play.feed("agent", "result 9 {}")
    wait(play, SILENCE).run("timers")


@pytest.mark.parametrize("agent", [claude, qwen])
def test_agents_that_tell_when_they_stop_are_not_watched(agent: type[LogPlay]) -> None:
    play = agent()
    play.feed("agent", WORDS)
    wait(play, SILENCE).run("timers")
