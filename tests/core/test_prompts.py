"""Prompts: ordinary ones pass, ``/goal`` is watched, and the proxy steps in where the agent would get it wrong."""

import json

import pytest

from goalproxy.proxy.core.facts import CommandSeen

from ..agents import codex, gone, mark, neutral, snapshot
from ..transcript import Play

ACTIVE = snapshot("air", objective="Ship it", status="active", tokensUsed=7)
IMAGE = {"type": "image", "mimeType": "image/png", "data": "AAAA"}


def commands(play: Play) -> list[tuple[str, str]]:
    """Which commands were seen, and who answered them."""
    return [(fact.word, fact.answered_by) for fact in play.facts if isinstance(fact, CommandSeen)]


def blocks(*content: object) -> str:
    """Params of a prompt with content blocks; text stands for a text block."""
    return json.dumps({"prompt": [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]})


def test_a_goal_command_goes_to_the_agent_as_it_was_typed_and_ends_with_its_own_turn() -> None:
    play = codex("2.6.0").run(f"""
        client >> prompt 3  /goal Ship it
        agent  << same
        agent  >> {ACTIVE}
        client << goal {{"objective": "Ship it", "status": "active"}}
        agent  >> {mark("active")}
        client << same
        client << goal {{"iterations": 1}}
        agent  >> result 3 {{"stopReason": "end_turn", "usage": {{"totalTokens": 1}}}}
        client << same
        timers
    """)
    assert commands(play) == [("set", "agent")]


def test_while_the_agent_takes_its_time_the_goal_is_shown() -> None:
    codex("2.6.0").run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        timers
        client << goal {{"objective": "Ship it", "status": "active"}}
        agent  >> {ACTIVE}
        client << goal {{"tokensUsed": 0}}
    """)


def test_a_command_that_fails_shows_what_held_before() -> None:
    codex("1.1.7").run("""
        client >> prompt 3 /goal Ship it
        agent  << same
        timers
        client << goal {"objective": "Ship it"}
        agent  >> error 3 -32603 no
        client << same
        client << goal null
    """)


def test_a_command_that_the_agent_answers_with_words_only_sets_nothing() -> None:
    codex("1.1.7").run("""
        client >> prompt 3 /goal Ship it
        agent  << same
        agent  >> result 3 {"stopReason": "end_turn"}
        client << same
        timers
    """)


def test_the_same_words_set_a_new_goal_although_the_agent_is_silent() -> None:
    play = codex("1.1.7").run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        agent  >> {snapshot("codex", objective="Ship it", status="active", timeUsedSeconds=9)}
        client << same
        client << goal {{"timeUsedSeconds": 0}}
        agent  >> result 3 {{"stopReason": "end_turn"}}
        client << same
        client >> prompt 4 /goal Ship it
        agent  << same
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        client << goal {{"objective": "Ship it"}}
    """)
    first, second = play.snapshots
    assert first is not None
    assert second is not None
    assert first["createdAt"] < second["createdAt"]


def test_an_objective_that_is_too_long_is_the_agents_to_refuse() -> None:
    codex("2.6.0").run(f"""
        client >> prompt 3 /goal {"x" * 4001}
        agent  << same
        timers
        agent  >> result 3 {{"stopReason": "end_turn"}}
        client << same
    """)


@pytest.mark.parametrize("text", ["/goal", "/goal status", "/goal   STATUS ", "\n/goal\n"])
def test_the_status_is_answered_without_a_model_call(text: str) -> None:
    play = codex("2.6.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("agent", snapshot("air", objective="Ship it", status="active", tokenBudget=9, tokensUsed=7))
    play.drop_timers()
    answer = (
        "Goal (active): Ship it\nTokens last reported: 0 of 9\nControl it with: /goal pause, /goal resume, /goal clear"
    )
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": answer}}
    play.run(f"""
        client >> request 4 session/prompt {blocks(text)}
        client << update {json.dumps(chunk)}
        client << result 4 {{"stopReason": "end_turn"}}
    """)
    assert commands(play) == [("status", "proxy")]


def test_the_status_without_a_goal_says_how_to_set_one() -> None:
    chunk = {"type": "text", "text": "No goal is set. Set one with: /goal <objective>"}
    codex("2.6.0").run(f"""
        client >> prompt 3 /goal
        client << update {json.dumps({"sessionUpdate": "agent_message_chunk", "content": chunk})}
        client << result 3 {{"stopReason": "end_turn"}}
    """)


def test_in_version_2_the_status_is_a_turn_of_its_own() -> None:
    text = {"type": "text", "text": "No goal is set. Set one with: /goal <objective>"}
    codex("2.6.0", protocol=2).run(f"""
        client >> prompt 3 /goal
        client << result 3 {{}}
        client << update {{"sessionUpdate": "user_message", "messageId": "goalproxy-t-1-user", "content": [{{"type": "text", "text": "/goal"}}]}}
        client << update {{"sessionUpdate": "agent_message_chunk", "content": {json.dumps(text)}, "messageId": "goalproxy-t-1"}}
        client << update {{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}}
    """)


def test_in_version_2_no_idle_is_made_up_while_the_agent_runs() -> None:
    text = {"type": "text", "text": "No goal is set. Set one with: /goal <objective>"}
    codex("2.6.0", protocol=2).run(f"""
        agent  >> update {{"sessionUpdate": "state_update", "state": "running"}}
        client << same
        client >> prompt 3 /goal
        client << result 3 {{}}
        client << update {{"sessionUpdate": "user_message", "messageId": "goalproxy-t-1-user", "content": [{{"type": "text", "text": "/goal"}}]}}
        client << update {{"sessionUpdate": "agent_message_chunk", "content": {json.dumps(text)}, "messageId": "goalproxy-t-1"}}
    """)


@pytest.mark.parametrize("word", ["pause", "clear", "Ship that"])
def test_a_command_during_a_turn_does_not_wait_behind_it(word: str) -> None:
    play = codex("2.6.0")
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", ACTIVE)
    play.feed("agent", mark("active"))
    play.drop_timers()
    action = {"action": word} if word in ("pause", "clear") else {"action": "set", "objective": word}
    play.run(f"""
        client >> prompt 4 /goal {word}
        agent  << request $1 _session/goal {json.dumps(action)}
        timers
        client << goal {"null" if word == "clear" else "{}"}
        client << result 4 {{"stopReason": "end_turn"}}
        agent  >> result $1 {{}}
        agent  >> result 3 {{"stopReason": "end_turn"}}
        client << same
    """)
    assert commands(play)[-1] == ("set" if word == "Ship that" else word, "proxy")


def test_a_command_that_makes_no_sense_is_answered_with_a_sentence() -> None:
    play = codex("2.6.0")
    play.feed("client", "prompt 3 hello")
    chunk = {"type": "text", "text": "There is no goal to pause."}
    play.run(f"""
        client >> prompt 4 /goal pause
        client << update {json.dumps({"sessionUpdate": "agent_message_chunk", "content": chunk})}
        client << result 4 {{"stopReason": "end_turn"}}
    """)


def test_an_agent_that_knows_no_command_is_controlled_by_its_method() -> None:
    neutral().run("""
        client >> prompt 3 /goal Ship it
        agent  << request $1 _session/goal {"action": "set", "objective": "Ship it"}
        agent  >> result $1 {}
        client << goal {"objective": "Ship it"}
        client << result 3 {"stopReason": "end_turn"}
    """)


def test_an_agent_that_lists_the_command_gets_it() -> None:
    play = neutral()
    play.feed("agent", 'update {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "goal"}]}')
    play.run("""
        client >> prompt 3 /goal Ship it
        agent  << same
    """)


def test_an_action_that_the_agent_lacks_is_text_like_any_other() -> None:
    neutral("set").run("""
        client >> prompt 3 /goal pause
        agent  << same
    """)


@pytest.mark.parametrize("text", ["/goals", "/goal:x", "say /goal x", "/Goal x", "x\n/goal y", "", "  "])
def test_other_text_is_no_command(text: str) -> None:
    play = codex("2.6.0").run(f"""
        client >> request 3 session/prompt {blocks(text)}
        agent  << same
        timers
    """)
    assert commands(play) == []


@pytest.mark.parametrize(
    "prompt", ["null", "7", '"/goal x"', "[]", "[7, null, []]", '[{"type": "text", "text": 7}]', '[{"type": "text"}]']
)
def test_a_prompt_of_an_odd_shape_passes(prompt: str) -> None:
    codex("2.6.0").run(f"""
        client >> request 3 session/prompt {{"prompt": {prompt}}}
        agent  << same
    """)


def test_a_blank_first_block_does_not_hide_the_command() -> None:
    codex("2.6.0").run(f"""
        client >> request 3 session/prompt {blocks(" ", "/goal Ship it")}
        agent  << request 3 session/prompt {blocks("/goal Ship it")}
    """)


def test_content_beside_an_objective_goes_with_a_prompt_and_the_goal_is_set_beside_it() -> None:
    codex("2.6.0").run(f"""
        client >> request 3 session/prompt {blocks(IMAGE, "/goal Draw this")}
        agent  << request 3 session/prompt {blocks("Draw this", IMAGE)}
        agent  << request $1 _session/goal {{"action": "set", "objective": "Draw this"}}
        agent  >> {snapshot("air", objective="Draw this", status="active")}
        client << goal {{"objective": "Draw this"}}
        agent  >> result 3 {{"stopReason": "end_turn"}}
        client << same
        agent  >> result $1 {{}}
    """)


def test_steered_commands_are_controls() -> None:
    play = codex("2.6.0")
    play.feed("client", "prompt 3 hello")
    play.run(f"""
        client >> request 4 _session/steering {blocks("/goal Ship it")}
        agent  << request $1 _session/goal {{"action": "set", "objective": "Ship it"}}
        agent  >> {ACTIVE}
        client << goal {{"objective": "Ship it"}}
        client << result 4 {{"outcome": "injected"}}
        client >> request 5 _session/steering {blocks("faster")}
        agent  << same
        client >> request 6 _session/steering {blocks("/goal pause", IMAGE)}
        agent  << same
    """)


def test_a_steered_command_that_makes_no_sense_is_refused() -> None:
    codex("2.6.0").run(f"""
        client >> request 4 _session/steering {blocks("/goal pause")}
        client << error 4 -32602 no goal to pause
    """)


def test_cancel_pauses_the_goal_too() -> None:
    play = codex("2.6.0")
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", ACTIVE)
    play.drop_timers()
    play.run(f"""
        client >> notify session/cancel {{}}
        agent  << same
        agent  << request $1 _session/goal {{"action": "pause"}}
        agent  >> result 3 {{"stopReason": "cancelled"}}
        client << same
        agent  >> {snapshot("air", objective="Ship it", status="paused")}
        client << goal {{"status": "paused"}}
        agent  >> result $1 {{}}
        client >> notify session/cancel {{}}
        agent  << same
    """)


def test_cancel_stops_the_turn_only_where_that_is_wanted() -> None:
    play = codex("2.6.0", on_cancel="turn")
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", ACTIVE)
    play.run("""
        client >> notify session/cancel {}
        agent  << same
    """)


def test_the_users_turn_is_no_round_of_the_goal() -> None:
    play = codex("2.6.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("agent", ACTIVE)
    play.drop_timers()
    play.run(f"""
        client >> prompt 4 also do this
        agent  << same
        agent  >> {mark("active")}
        client << same
        agent  >> {mark("idle")}
        client << same
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        agent  >> {mark("active")}
        client << same
        client << goal {{"iterations": 1}}
    """)


def test_where_only_the_model_makes_goals_nothing_is_offered_and_prose_is_read() -> None:
    goal = json.dumps(
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "Goal updated (budget limited): Count"},
        }
    )
    codex("1.0.0").run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        agent  >> update {goal}
        client << same
        client << goal {{"objective": "Count", "status": "limited"}}
        client >> control 4 clear
        client << error 4 -32602 it can: nothing
        client >> prompt 5 /goal
        agent  << same
    """)


def test_in_version_2_a_command_is_over_when_the_session_is_idle() -> None:
    codex("2.6.0", protocol=2).run(f"""
        client >> prompt 3 /goal Ship it
        agent  << same
        agent  >> result 3 {{"messageId": "m"}}
        client << same
        agent  >> update {{"sessionUpdate": "state_update", "state": "running"}}
        client << same
        agent  >> {snapshot("air", objective="Ship it", status="active")}
        client << goal {{"status": "active"}}
        agent  >> update {{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}}
        client << same
        agent  >> {gone("air")}
        client << goal null
        client >> prompt 4 /goal Ship that
        agent  << same
        agent  >> result 4 {{}}
        client << same
        timers
        client << goal {{"objective": "Ship that"}}
        agent  >> update {{"sessionUpdate": "state_update", "state": "running"}}
        client << same
        agent  >> update {{"sessionUpdate": "state_update", "state": "requires_action"}}
        client << same
        agent  >> update {{"sessionUpdate": "state_update", "state": "_napping"}}
        client << same
        agent  >> update {{"sessionUpdate": "state_update", "state": "idle"}}
        client << same
        client << goal null
    """)


def test_in_version_2_a_command_is_over_though_the_agent_was_idle_before_it_answered() -> None:
    play = codex("2.6.0", protocol=2)
    play.feed("client", "prompt 3 /goal Ship it")
    play.let_timers_run()
    play.feed("agent", 'update {"sessionUpdate": "state_update", "state": "running"}')
    play.feed("agent", 'update {"sessionUpdate": "state_update", "state": "idle"}')
    play.run("""
        agent  >> result 3 {}
        client << same
        client << goal null
    """)


def test_in_version_2_the_end_of_the_agents_own_work_is_not_that_of_a_prompt() -> None:
    play = codex("2.6.0", protocol=2)
    play.feed("agent", snapshot("air", objective="Ship it", status="active"))
    play.feed("agent", 'update {"sessionUpdate": "state_update", "state": "running"}')
    play.feed("client", "prompt 3 hello")
    play.feed("agent", 'update {"sessionUpdate": "state_update", "state": "idle"}')
    play.feed("agent", "result 3 {}")
    play.run("""
        agent  >> update {"sessionUpdate": "state_update", "state": "running"}
        client << same
    """)


def working_by_itself(version: str) -> Play:
    """A Codex that works for a goal outside any prompt."""
    play = codex(version)
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("agent", snapshot("codex", objective="Ship it", status="active"))
    play.feed("agent", mark("active"))
    play.feed("agent", 'result 3 {"stopReason": "end_turn"}')
    play.drop_timers()
    return play


def test_a_prompt_that_the_agent_would_lose_waits_for_the_end_of_its_work() -> None:
    working_by_itself("1.1.7").run(f"""
        client >> prompt 4 also do this
        agent  << notify session/cancel {{}}
        client >> prompt 5 and that
        agent  >> {mark("idle")}
        client << same
        agent  << prompt 4 also do this
        agent  << prompt 5 and that
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
    """)


def test_a_prompt_that_waits_can_be_cancelled() -> None:
    working_by_itself("1.1.7").run("""
        client >> prompt 4 also do this
        agent  << notify session/cancel {}
        client >> notify session/cancel {}
        agent  << same
        client << result 4 {"stopReason": "cancelled"}
        agent  << request $1 _codex/session/goal_control {"action": "pause"}
    """)


def test_an_agent_that_answers_every_prompt_gets_it_at_once() -> None:
    play = codex("1.13.1")
    play.feed("agent", mark("active"))
    play.run("""
        client >> prompt 4 also do this
        agent  << same
    """)
