"""Updates of the agent: what is published in their place, what is taken out, what is added, and what passes."""

import json

import pytest

from ..agents import CODEX, codex, introduced, neutral, snapshot
from ..transcript import Play

GOAL_ENTRY = {
    "name": "goal",
    "description": "Set, pause, resume or clear a goal that the agent keeps working on.",
    "input": {"hint": "[<objective>|pause|resume|clear]"},
}


def commands(*entries: object) -> str:
    """An agent's list of commands, as a line of a transcript."""
    return "update " + json.dumps({"sessionUpdate": "available_commands_update", "availableCommands": list(entries)})


def test_a_neutral_goal_is_published_in_the_place_of_the_agents() -> None:
    neutral().run("""
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"goal": {"objective": "X", "status": "active"}, "v": 1}}
        client << update {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"v": 1}}
        client << goal {"objective": "X", "status": "active"}
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"goal": {"objective": "X", "status": "active", "iterations": 2, "lastReason": "2 tests\\nfail"}}}
        client << update {"sessionUpdate": "session_info_update", "title": "T"}
        client << goal {"iterations": 2, "lastReason": "2 tests fail"}
    """)


def test_the_same_goal_again_is_not_published_again() -> None:
    play = neutral()
    play.feed("agent", snapshot("neutral", objective="X", status="active"))
    play.run(f"""
        agent  >> {snapshot("neutral", objective="X", status="active")}
    """)


@pytest.mark.parametrize(
    "update",
    [
        '{"sessionUpdate": "session_info_update", "title": "T"}',
        '{"sessionUpdate": "session_info_update", "_meta": null}',
        '{"sessionUpdate": "session_info_update", "_meta": 7}',
        '{"sessionUpdate": "session_info_update", "_meta": {"promptSuggestions": {}}}',
        '{"sessionUpdate": "available_commands_update", "availableCommands": null}',
        '{"sessionUpdate": "usage_update", "used": 1, "size": 2}',
        '{"sessionUpdate": "tomorrow", "_meta": {"goal": 1}}',
        "{}",
        "null",
        "7",
    ],
)
def test_an_update_that_says_nothing_of_a_goal_passes(update: str) -> None:
    neutral().run(f"""
        agent  >> update {update}
        client << same
    """)


@pytest.mark.parametrize(
    "goal", ["7", "[]", '{"status": "active"}', '{"objective": 7, "status": "active"}', '{"objective": " "}']
)
def test_a_goal_that_cannot_be_read_is_not_passed_on_and_changes_nothing(goal: str) -> None:
    neutral().run(f"""
        agent  >> update {{"sessionUpdate": "session_info_update", "_meta": {{"goal": {goal}}}}}
    """)


def test_a_status_that_nobody_knows_is_published_as_paused() -> None:
    play = neutral().run(f"""
        agent  >> {snapshot("neutral", objective="X", status="pondering")}
        client << goal {{"objective": "X", "status": "paused"}}
    """)
    assert "UnknownStatus" in [type(getattr(fact, "change", None)).__name__ for fact in play.facts]


def test_the_goal_command_is_added_to_a_list_that_lacks_it() -> None:
    neutral().run(f"""
        agent  >> {commands({"name": "review", "x": 1})}
        client << {commands({"name": "review", "x": 1}, GOAL_ENTRY)}
        agent  >> {commands({"name": "goal", "description": "theirs"})}
        client << same
    """)


def test_the_goal_command_is_not_offered_where_it_does_not_work() -> None:
    codex("1.0.0").run(f"""
        agent  >> {commands({"name": "review"})}
        client << same
        timers
    """)


def test_an_agent_that_sends_no_list_is_given_one() -> None:
    play = Play()
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    goal = '{"version": 1, "controlMethod": "_session/goal", "actions": ["set"]}'
    play.feed("agent", f'result 1 {{"_meta": {{"goal": {goal}}}}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    play.feed("agent", 'result 2 {"sessionId": "s"}')
    play.run(f"""
        timers
        client << {commands(GOAL_ENTRY)}
    """)


def test_in_version_2_the_list_in_the_response_is_completed() -> None:
    play = Play()
    play.feed("client", 'request 1 initialize {"protocolVersion": 2}')
    goal = '{"version": 1, "controlMethod": "_session/goal", "actions": ["set"]}'
    play.feed("agent", f'result 1 {{"protocolVersion": 2, "_meta": {{"goal": {goal}}}}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    entry = {**GOAL_ENTRY, "type": "command", "input": {"type": "text", "hint": "[<objective>|pause|resume|clear]"}}
    play.run(f"""
        agent  >> result 2 {{"sessionId": "s", "availableCommands": [{{"name": "plan"}}]}}
        client << result 2 {{"sessionId": "s", "availableCommands": [{{"name": "plan"}}, {json.dumps(entry)}]}}
        client << goal null
        timers
    """)


def test_what_air_brings_is_taken_out_everywhere_for_a_client_that_is_not_air() -> None:
    jetbrains = {"_meta": {"jetbrains": {"air": {"x": 1}}}}
    kept = {"_meta": {"jetbrains": {"air": "a tool's own output"}}}
    tool = {"sessionUpdate": "tool_call", "toolCallId": "1", "rawOutput": kept, "content": [{"type": "content"}]}
    codex("2.6.0").run(f"""
        agent  >> update {json.dumps({**tool, **jetbrains, "content": [{"type": "content", **jetbrains}]})}
        client << update {json.dumps(tool)}
        agent  >> request 9 session/request_permission {json.dumps({"options": [{"optionId": "a", "_meta": {"jetbrains": 1, "v": 2}}]})}
        client << request 9 session/request_permission {json.dumps({"options": [{"optionId": "a", "_meta": {"v": 2}}]})}
        agent  >> update {json.dumps({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "jetbrains"}})}
        client << same
        agent  >> update {json.dumps({"sessionUpdate": "session_info_update", **jetbrains})}
        client >> prompt 5 hello
        agent  << same
        agent  >> result 5 {json.dumps({"stopReason": "end_turn", **jetbrains})}
        client << result 5 {{"stopReason": "end_turn"}}
        agent  >> {commands({"name": "goal", **jetbrains})}
        client << {commands({"name": "goal"})}
    """)


def test_an_air_client_keeps_what_is_its_own_and_gets_the_neutral_goal_too() -> None:
    play = Play(declares_air=True)
    play.feed(
        "client",
        'request 1 initialize {"protocolVersion": 1, "clientCapabilities": {"_meta": {"jetbrains": {"air": {}}}}}',
    )
    play.feed("agent", f'result 1 {{"agentInfo": {{"name": "{CODEX}", "version": "2.6.0"}}}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    play.feed("agent", 'result 2 {"sessionId": "s"}')
    play.run(f"""
        agent  >> {snapshot("air", objective="X", status="active")}
        client << same
        client << goal {{"objective": "X"}}
    """)


def test_an_air_client_finds_the_goal_of_an_agent_that_is_not_air_where_it_looks() -> None:
    play = Play()
    play.feed(
        "client",
        'request 1 initialize {"protocolVersion": 1, "clientCapabilities": {"_meta": {"jetbrains": {"air": {}}}}}',
    )
    play.feed("agent", f'result 1 {{"agentInfo": {{"name": "{CODEX}", "version": "1.0.0"}}}}')
    play.feed("client", 'request 2 session/new {"sessionId": null}')
    play.run("""
        agent  >> result 2 {"sessionId": "s"}
        client << same
        client << update {"sessionUpdate": "session_info_update", "_meta": {"goal": null, "jetbrains": {"air": {"version": 1, "goal": null}}}}
    """)


def test_in_version_2_a_reset_of_the_meta_is_followed_by_the_goal() -> None:
    play = codex("2.6.0", protocol=2)
    play.feed("agent", snapshot("air", objective="X", status="paused"))
    play.run("""
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T", "_meta": null}
        client << same
        client << goal {"objective": "X", "status": "paused"}
    """)


def test_in_version_2_a_null_meta_of_anything_else_clears_nothing() -> None:
    play = codex("2.6.0", protocol=2)
    play.feed("agent", snapshot("air", objective="X", status="paused"))
    play.run("""
        agent  >> update {"sessionUpdate": "state_update", "state": "running", "_meta": null}
        client << same
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T"}
        client << same
    """)


def test_a_codex_1_is_not_stripped_although_air_was_declared_to_it() -> None:
    codex("1.13.1").run("""
        agent  >> update {"sessionUpdate": "tool_call", "_meta": {"jetbrains": {"air": 1}}}
        client << same
    """)


def test_messages_before_the_introduction_pass() -> None:
    Play().run("""
        agent  >> update {"sessionUpdate": "session_info_update", "_meta": {"goal": null}}
        client << same
        client >> prompt 1 /goal x
        agent  << same
        agent  >> raw hello
        client << same
        agent  >> raw [{"jsonrpc":"2.0","method":"session/update"}]
        client << same
    """)


def test_a_goal_in_prose_is_read_only_from_whole_chunks_of_the_adapter() -> None:
    play = introduced({"agentInfo": {"name": "codex-acp", "version": "0.16.0"}})
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Goal updated (active): X"}}
    for chunk in (
        {**said, "messageId": "m"},
        {**said, "content": {"type": "text", "text": "I said: Goal updated (active): X"}},
        {**said, "content": {"type": "text", "text": "Goal updated (happy): X"}},
        {**said, "content": {"type": "image"}},
        {**said, "sessionUpdate": "user_message_chunk"},
    ):
        play.run(f"""
            agent  >> update {json.dumps(chunk)}
            client << same
        """)
    play.run(f"""
        agent  >> update {json.dumps(said)}
        client << same
        client << goal {{"objective": "X", "status": "active"}}
        agent  >> update {json.dumps({**said, "content": {"type": "text", "text": "Goal cleared."}})}
        client << same
        client << goal null
    """)
