"""``initialize``: what the agent is told, what the client is promised, and what stays as it was."""

import json

import pytest

from ..transcript import Play

_CAPABILITY = {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}
_CODEX = '{"name": "@agentclientprotocol/codex-acp", "version": "%s"}'


def test_the_goal_extension_is_declared_for_every_client() -> None:
    Play().run("""
        client >> request 0 initialize {"sessionId": "", "protocolVersion": 1, "clientCapabilities": {"fs": {}}}
        agent  << request 0 initialize {"sessionId": "", "protocolVersion": 1, "clientCapabilities": {"fs": {}, "_meta": {"goal": {}}}}
    """)


def test_what_the_client_declares_itself_stays() -> None:
    Play().run("""
        client >> request 0 initialize {"protocolVersion": 1, "clientCapabilities": {"_meta": {"goal": {"mine": 1}}}}
        agent  << same
    """)


@pytest.mark.parametrize(
    ("declared", "passed_on"),
    [
        ("{}", '{"_meta": {"goal": {}, "jetbrains": {"air": {}}, "terminal_output_delta": true}}'),
        (
            '{"_meta": {"terminal_output": true}}',
            '{"_meta": {"goal": {}, "jetbrains": {"air": {}}, "terminal_output": true}}',
        ),
        (
            '{"_meta": {"jetbrains": {"air": {"version": 1}}}}',
            '{"_meta": {"goal": {}, "jetbrains": {"air": {"version": 1}}}}',
        ),
    ],
)
def test_air_is_declared_to_a_codex_for_a_client_that_is_not(declared: str, passed_on: str) -> None:
    Play(declares_air=True).run(f"""
        client >> request 0 initialize {{"protocolVersion": 1, "clientCapabilities": {declared}}}
        agent  << request 0 initialize {{"protocolVersion": 1, "clientCapabilities": {passed_on}}}
    """)


def test_in_version_2_the_capabilities_have_their_other_name() -> None:
    Play(declares_air=True).run("""
        client >> request 0 initialize {"protocolVersion": 2, "info": {"name": "x"}, "capabilities": {}}
        agent  << request 0 initialize {"protocolVersion": 2, "info": {"name": "x"}, "capabilities": {"_meta": {"goal": {}, "jetbrains": {"air": {}}}}}
        agent  >> result 0 {"protocolVersion": 2, "info": {"name": "@agentclientprotocol/codex-acp", "version": "2.6.0"}}
        client << result 0 {"protocolVersion": 2, "info": {"name": "@agentclientprotocol/codex-acp", "version": "2.6.0"}, "_meta": {"goal": {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}}, "capabilities": {"_meta": {"goal": {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}}}}
    """)


@pytest.mark.parametrize("capabilities", ["7", "[]", '"text"', '{"_meta": 7}', '{"_meta": {"jetbrains": 7}}'])
def test_capabilities_of_an_odd_shape_are_left_alone(capabilities: str) -> None:
    Play(declares_air=True).run(f"""
        client >> request 0 initialize {{"protocolVersion": 1, "clientCapabilities": {capabilities}}}
        agent  << same
    """)


def test_the_capability_stands_in_both_places_and_what_the_agent_sent_stays() -> None:
    result = {
        "protocolVersion": 1,
        "agentInfo": {"name": "tomorrow", "version": "1"},
        "agentCapabilities": {"loadSession": True, "_meta": {"vendor": 1}},
        "_meta": {
            "steering": {"supported": True},
            "goal": {"version": 1, "controlMethod": "_x/y", "actions": ["set", "fly"]},
        },
    }
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": ["set"]}
    promised = {
        **result,
        "agentCapabilities": {"loadSession": True, "_meta": {"vendor": 1, "goal": capability}},
        "_meta": {"steering": {"supported": True}, "goal": capability},
    }
    play = Play()
    play.feed("client", 'request 0 initialize {"protocolVersion": 1}')
    play.run(f"""
        agent  >> result 0 {json.dumps(result)}
        client << result 0 {json.dumps(promised)}
    """)


def test_an_air_client_finds_the_capability_where_it_looks() -> None:
    play = Play()
    play.feed(
        "client",
        'request 0 initialize {"protocolVersion": 1, "clientCapabilities": {"_meta": {"jetbrains": {"air": {}}}}}',
    )
    goal = json.dumps(_CAPABILITY)
    play.run(f"""
        agent  >> result 0 {{"agentInfo": {_CODEX % "1.1.0"}, "agentCapabilities": {{}}}}
        client << result 0 {{"agentInfo": {_CODEX % "1.1.0"}, "agentCapabilities": {{"_meta": {{"goal": {goal}}}}}, "_meta": {{"goal": {goal}, "jetbrains": {{"air": {{"goal": {goal}}}}}}}}}
    """)


@pytest.mark.parametrize(
    "answer",
    [
        'result 0 {"protocolVersion": 1, "agentInfo": {"name": "gemini"}, "_meta": {"a": 1}}',
        "result 0 null",
        "result 0 []",
        "error 0 -32000 login first",
        'result 0 {"agentInfo": 7, "_meta": 7}',
    ],
)
def test_an_agent_without_goals_is_not_touched(answer: str) -> None:
    play = Play()
    play.feed("client", 'request 0 initialize {"protocolVersion": 1}')
    play.run(f"""
        agent  >> {answer}
        client << same
    """)


def test_a_second_try_after_an_error_chooses_the_mapper() -> None:
    play = Play()
    play.feed("client", 'request 0 initialize {"protocolVersion": 9}')
    play.feed("agent", "error 0 -32602 version")
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", f'result 1 {{"agentInfo": {_CODEX % "1.1.0"}}}')
    assert [type(fact).__name__ for fact in play.facts] == ["AgentIdentified"]
