"""The model's tools: an MCP server beside the client's own, wherever a session is opened, and what is asked for them."""

import json
from typing import Any

import pytest

from ..agents import plain
from ..transcript import Play

URL, TOKEN = "http://127.0.0.1:9/mcp", "secret-2"
"""The tools of the second session that is opened."""
MINE = {"name": "mine", "command": "mine", "args": [], "env": []}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def http(name: str = "goal") -> dict[str, Any]:
    """The tools over HTTP."""
    return {
        "type": "http",
        "name": name,
        "url": URL,
        "headers": [{"name": "Authorization", "value": f"Bearer {TOKEN}"}],
    }


def stdio(**first: str) -> dict[str, Any]:
    """The tools over stdio."""
    environment = {"GOALPROXY_MCP_URL": URL, "GOALPROXY_MCP_TOKEN": TOKEN}
    env = [{"name": key, "value": value} for key, value in environment.items()]
    return {**first, "name": "goal", "command": "goal-bridge", "args": ["-x"], "env": env}


def opening(ident: str, method: str, **params: Any) -> str:
    """A request that opens a session."""
    return f"request {ident} session/{method} {json.dumps({'cwd': '/w', **params})}"


def permission(options: Any = OPTIONS, **call: Any) -> str:
    """A request for permission, with the id 0."""
    return f"request 0 session/request_permission {json.dumps({'toolCall': {'toolCallId': '1', **call}, 'options': options})}"


@pytest.mark.parametrize("method", ["new", "load", "resume", "fork"])
def test_every_session_is_opened_with_the_tools(method: str) -> None:
    plain(with_tools=True, http=True).run(f"""
        client >> {opening("3", method, mcpServers=[MINE], x=1)}
        agent  << {opening("3", method, mcpServers=[MINE, http()], x=1)}
    """)


@pytest.mark.parametrize("servers", [{}, {"mcpServers": None}, {"mcpServers": []}])
def test_a_client_without_servers_gets_the_tools_too(servers: dict[str, Any]) -> None:
    plain(with_tools=True, http=True).run(f"""
        client >> {opening("3", "new", **servers)}
        agent  << {opening("3", "new", mcpServers=[http()])}
    """)


def test_the_tools_never_take_a_name_of_the_clients() -> None:
    servers = [{"name": "goal"}, {"name": "goal-2"}, {"name": ["odd"]}, "odd"]
    plain(with_tools=True, http=True).run(f"""
        client >> {opening("3", "new", mcpServers=servers)}
        agent  << {opening("3", "new", mcpServers=[*servers, http("goal-3")])}
    """)


def test_an_agent_without_http_gets_a_command() -> None:
    plain(with_tools=True).run(f"""
        client >> {opening("3", "new", mcpServers=[])}
        agent  << {opening("3", "new", mcpServers=[stdio()])}
    """)


@pytest.mark.parametrize(("over_http", "server"), [(False, stdio(type="stdio")), (True, http())])
def test_version_2_says_what_kind_a_server_is(over_http: bool, server: dict[str, Any]) -> None:  # noqa: FBT001
    plain(with_tools=True, protocol=2, http=over_http).run(f"""
        client >> {opening("3", "new", mcpServers=[])}
        agent  << {opening("3", "new", mcpServers=[server])}
    """)


def test_servers_of_an_odd_shape_are_the_agents_to_judge() -> None:
    plain(with_tools=True).run(f"""
        client >> {opening("3", "new", mcpServers="mine")}
        agent  << same
        client >> request 4 session/new []
        agent  << same
    """)


def test_an_agent_that_refuses_the_tools_is_asked_again_without_them() -> None:
    plain(with_tools=True, http=True).run(f"""
        client >> {opening("3", "new", mcpServers=[], sessionId=None)}
        agent  << {opening("3", "new", mcpServers=[http()], sessionId=None)}
        agent  >> error 3 -32602 no servers
        agent  << {opening("$1", "new", mcpServers=[], sessionId=None)}
        agent  >> result $1 {{"sessionId": "other", "x": 1}}
        client << result 3 {{"sessionId": "other", "x": 1}}
        client << notify session/update {{"sessionId": "other", "update": {{"sessionUpdate": "session_info_update", "_meta": {{"goal": null}}}}}}
    """)


def test_a_refusal_that_is_not_about_the_tools_reaches_the_client() -> None:
    plain(with_tools=True, http=True).run(f"""
        client >> {opening("3", "new")}
        agent  << {opening("3", "new", mcpServers=[http()])}
        agent  >> error 3 -32602 no such directory
        agent  << {opening("$1", "new")}
        agent  >> error $1 -32602 no such directory
        client << error 3 -32602 no
        client >> {opening("4", "new")}
        agent  << {opening("4", "new", mcpServers=[json.loads(json.dumps(http()).replace("secret-2", "secret-3"))])}
        agent  >> error 4 -32000 log in first
        client << same
    """)


def test_a_request_that_is_sent_again_can_be_taken_back() -> None:
    play = plain(with_tools=True, http=True)
    play.feed("client", opening("3", "new"))
    play.feed("agent", "error 3 -32602 no servers")
    play.run("""
        client >> notify $/cancel_request {"requestId": 3, "sessionId": null}
        agent  << notify $/cancel_request {"requestId": "goalproxy-t-1", "sessionId": null}
        agent  >> error $1 -32800 cancelled
        client << error 3 -32800 cancelled
    """)


def test_a_session_that_was_opened_again_without_tools_has_none() -> None:
    play = plain(with_tools=True, http=True)
    play.feed("client", opening("3", "load"))
    play.feed("agent", "error 3 -32602 no servers")
    play.feed("agent", "result $1 {}")
    play.feed("client", "control 4 set Ship it")
    play.run(f"""
        agent  >> {permission(title="mcp__goal__update_goal")}
        client << same
    """)


@pytest.mark.parametrize(
    "call",
    [
        {"title": "mcp__goal__update_goal"},
        {"title": "mcp_goal_get_goal", "kind": "other"},
        {"title": "create_goal (goal MCP Server)", "kind": "other"},
        {"title": "goal_update_goal"},
        {"title": "mcp_goal.update_goal", "kind": "other"},
        {"title": "Update the goal", "_meta": {"toolName": "mcp__goal__update_goal"}},
    ],
)
def test_leave_for_the_proxys_own_tools_is_given_once_by_the_proxy(call: dict[str, Any]) -> None:
    plain(with_tools=True).run(f"""
        agent  >> {permission(**call)}
        agent  << result 0 {{"outcome": {{"outcome": "selected", "optionId": "once"}}}}
    """)


@pytest.mark.parametrize(
    "call",
    [
        {"title": "Run rm -rf /"},
        {"title": "update_goal"},
        {"title": "mcp__goal__update_goal; rm -rf /"},
        {"title": " mcp__goal__update_goal"},
        {"title": "MCP__GOAL__UPDATE_GOAL"},
        {"title": "mcp__goal-2__update_goal"},
        {"title": "mcp__goals__update_goal"},
        {"title": "mcp__goal__delete_goal"},
        {"title": "mcp__goal__update_goal", "kind": "execute"},
        {"title": "mcp__goal__update_goal", "kind": "edit"},
        {"title": ["mcp__goal__update_goal"]},
        {"rawInput": {"title": "mcp__goal__update_goal"}},
        {},
    ],
)
def test_everything_else_is_the_users_to_allow(call: dict[str, Any]) -> None:
    plain(with_tools=True).run(f"""
        agent  >> {permission(**call)}
        client << same
    """)


@pytest.mark.parametrize("options", [[], None, OPTIONS[:1], OPTIONS[2:], ["once"], [{"kind": "allow_once"}]])
def test_leave_that_cannot_be_given_once_is_the_users_to_give(options: Any) -> None:
    plain(with_tools=True).run(f"""
        agent  >> {permission(options, title="mcp__goal__update_goal")}
        client << same
    """)


def test_a_server_of_the_clients_with_that_name_is_not_the_proxys() -> None:
    play = plain(with_tools=True)
    play.feed("client", opening("3", "load", mcpServers=[{**MINE, "name": "goal"}]))
    play.feed("agent", "result 3 {}")
    play.run(f"""
        agent  >> {permission(title="mcp__goal__update_goal")}
        client << same
        agent  >> {permission(title="mcp__goal-2__update_goal")}
        agent  << result 0 {{"outcome": {{"outcome": "selected", "optionId": "once"}}}}
    """)


def test_leave_for_a_call_without_a_name_is_given_in_the_round_that_named_it() -> None:
    play = plain(with_tools=True)
    play.feed("client", "control 3 set Ship it")
    update = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "mcp_goal.update_goal", "kind": "other"}
    play.run(f"""
        agent  >> notify session/update {json.dumps({"update": update})}
        client << same
        agent  >> {permission()}
        agent  << result 0 {{"outcome": {{"outcome": "selected", "optionId": "once"}}}}
        agent  >> {permission(toolCallId="2")}
        client << same
    """)


def test_another_session_has_other_tools() -> None:
    play: Play = plain(with_tools=True)
    asked = json.dumps({"sessionId": "child", "toolCall": {"title": "mcp__goal__update_goal"}, "options": OPTIONS})
    play.run(f"""
        agent  >> request 0 session/request_permission {asked}
        client << same
    """)
