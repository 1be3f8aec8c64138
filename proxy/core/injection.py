"""The proxy's tools, given to the model by an MCP server that is added to the client's own when a session is opened."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from goalproxy.mappers.base import at
from goalproxy.proxy.wire import acp
from goalproxy.proxy.wire.envelope import load, same_id
from goalproxy.proxy.wire.splice import NotEditable, append, put

from .actions import Relay, Rewrite, Swallow, ToAgent
from .connection import Awaited, Connection
from .events import FromAgent, FromClient
from .facts import NotRewritten
from .session import Session

TOOLS = ("get_goal", "create_goal", "update_goal")
_NAME = "goal"
_SERVERS = ("params", "mcpServers")


def open_with_tools(connection: Connection, event: FromClient, awaited: Awaited) -> Awaited:
    """Send on a request that opens a session, with the tools where they can be given; returns what to await."""
    message = load(event.line)
    servers = at(message, "params", "mcpServers")
    directory = at(message, "params", "cwd")
    known = replace(
        awaited,
        directory=directory if isinstance(directory, str) else "",
        preserve=at(message, "params", "_meta", "goal", "resumePolicy") == "preserve",
    )
    if connection.policy.tools is None or not isinstance(servers, list | None):
        connection.do(Relay())
        return known
    token = connection.secret()
    entry = _server(connection, _free_name(servers or []), token)
    try:
        line = put(event.line, _SERVERS, [entry]) if servers is None else append(event.line, _SERVERS, entry)
    except NotEditable:
        connection.record(NotRewritten(awaited.method))
        connection.do(Relay())
        return known
    connection.do(Rewrite(line))
    connection.tokens[token] = None
    return replace(known, token=token, original=event.line)


def refused(connection: Connection, event: FromAgent, awaited: Awaited) -> bool:
    """Whether the agent refused the tools, so that the session is opened again without them."""
    if not awaited.token or at(load(event.line), "error", "code") != acp.INVALID_PARAMS:
        return False
    connection.forget_token(awaited.token)
    client_id = at(load(awaited.original), "id")
    ident = connection.ids.make(connection.awaiting)
    connection.do(Swallow(), ToAgent(put(awaited.original, ("id",), ident)))
    connection.awaiting[str, ident] = replace(awaited, token="", original=b"", client_id=client_id)
    return True


def given(connection: Connection, session: Session, awaited: Awaited) -> None:
    """The session is open: its tools belong to it, if it has them."""
    session.directory = awaited.directory or session.directory
    session.tool_names, session.tool_titles = [], frozenset()
    if awaited.token:
        connection.tokens[awaited.token] = session
        servers = at(load(awaited.original), "params", "mcpServers")
        name = _free_name(servers if isinstance(servers, list) else [])
        session.tool_names = [f"{tool} of the server {name}" for tool in TOOLS[2:]]
        session.tool_titles = frozenset(title for tool in TOOLS for title in _titles(name, tool))


def missed(connection: Connection, session: Session) -> bool:
    """Whether the agent took the server, and has never asked it for its tools: the model cannot have them."""
    return not any(connection.tokens.get(token) is session for token in connection.listed)


def _titles(name: str, tool: str) -> tuple[str, ...]:
    """The names that agents give to a tool of a server."""
    separated = (f"mcp__{name}__{tool}", f"mcp_{name}_{tool}", f"mcp_{name}.{tool}", f"{name}_{tool}")
    return (*separated, f"{tool} ({name} MCP Server)")


def _free_name(servers: list[Any]) -> str:
    """A name that no server of the client's has."""
    taken = [at(server, "name") for server in servers]
    return next(
        name for name in (_NAME, *(f"{_NAME}-{number}" for number in range(2, len(taken) + 3))) if name not in taken
    )


def followed(connection: Connection, event: FromClient, ident: object) -> bytes:
    """A notice that a request is taken back, for the id under which the agent has it."""
    for key, awaited in connection.awaiting.items():
        if isinstance(awaited, Awaited) and same_id(awaited.client_id, ident):
            return put(event.line, ("params", "requestId"), key[1])
    return event.line


def _server(connection: Connection, name: str, token: str) -> dict[str, Any]:
    tools = connection.policy.tools() if connection.policy.tools is not None else None
    if tools is None:
        return {}
    if connection.takes_http_tools:
        headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
        return {"type": "http", "name": name, "url": tools.url, "headers": headers}
    environment = {"GOALPROXY_MCP_URL": tools.url, "GOALPROXY_MCP_TOKEN": token}
    shape: dict[str, Any] = {"type": "stdio"} if connection.is_v2 else {}
    return {
        **shape,
        "name": name,
        "command": tools.command[0],
        "args": list(tools.command[1:]),
        "env": [{"name": key, "value": value} for key, value in environment.items()],
    }
