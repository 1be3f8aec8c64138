"""``initialize``: what the proxy declares towards the agent, who the agent is, and what the client is promised."""

from __future__ import annotations

from typing import Any

from goalproxy.mappers.base import Agent, at, has
from goalproxy.proxy.goal.control import ACTIONS
from goalproxy.proxy.goal.report import count
from goalproxy.proxy.wire import acp, extension
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, drop_meta, put

from .actions import Relay, Rewrite
from .connection import Awaited, Connection
from .events import FromAgent, FromClient
from .facts import AgentIdentified, NotRewritten

OPAQUE = frozenset({"rawInput", "rawOutput"})
"""Keys whose values are a tool's, not the protocol's."""


def on_request(connection: Connection, event: FromClient) -> None:
    """The client introduces itself; the goal extension is declared on its behalf."""
    params = (load(event.line) or {}).get("params")
    key = "capabilities" if acp.is_v2(_protocol(params)) else "clientCapabilities"
    capabilities = at(params, key)
    connection.client_is_air = isinstance(at(capabilities, "_meta", "jetbrains", "air"), dict)
    if event.envelope.key is not None:
        connection.awaiting[event.envelope.key] = Awaited(acp.INITIALIZE)
    try:
        line = bytes(event.line)
        for name, value in _declarations(connection, capabilities, _protocol(params)):
            line = put(line, ("params", key, "_meta", *name), value)
    except NotEditable:
        connection.record(NotRewritten(acp.INITIALIZE))
        connection.do(Relay())
    else:
        connection.do(Rewrite(line) if line != event.line else Relay())


def _declarations(connection: Connection, capabilities: Any, protocol: int) -> list[tuple[tuple[str, ...], Any]]:
    declared: list[tuple[tuple[str, ...], Any]] = []
    if not has(capabilities, "_meta", "goal"):
        declared.append((("goal",), {}))
    if connection.policy.declares_air and not connection.client_is_air:
        declared.append((("jetbrains", "air"), {}))
        # Without one of these two, an AIR client of version 1 is not sent the output of terminals as it comes.
        if not acp.is_v2(protocol) and not at(capabilities, "_meta", "terminal_output"):
            declared.append((("terminal_output_delta",), True))
    return declared


def on_response(connection: Connection, event: FromAgent) -> None:
    """The agent introduces itself: choose its mapper, and tell the client what works."""
    result = (load(event.line) or {}).get("result")
    if not isinstance(result, dict):
        connection.do(Relay())
        return
    connection.protocol = _protocol(result)
    agent = Agent.of(result)
    mapper = connection.mapper = connection.choose(agent)
    connection.agent = agent
    connection.takes_http_tools = bool(
        at(result, "agentCapabilities", "mcpCapabilities", "http")
        or has(result, "capabilities", "session", "mcp", "http")
    )
    why = mapper.why(agent) or ""
    connection.record(AgentIdentified(agent.name, agent.version, connection.protocol, mapper.dialect, why))
    try:
        line = _promise(connection, result, event.line)
    except NotEditable:
        connection.record(NotRewritten(acp.INITIALIZE))
        connection.do(Relay())
    else:
        connection.do(Rewrite(line) if line != event.line else Relay())


def _promise(connection: Connection, result: dict[str, Any], line: bytes) -> bytes:
    if connection.strips_air:
        line = drop_meta(line, "jetbrains", OPAQUE)
    if connection.goals is None and not connection.emulates:
        return line
    capability = extension.capability(ACTIONS if connection.goals is None else connection.goals.actions)
    line = put(line, ("result", "_meta", "goal"), capability)
    key = "capabilities" if connection.is_v2 else "agentCapabilities"
    line = put(line, ("result", key, "_meta", "goal"), capability)
    if connection.client_is_air and not has(result, "_meta", "jetbrains", "air", "goal"):
        line = put(line, ("result", "_meta", "jetbrains", "air", "goal"), capability)
    return line


def _protocol(holder: Any) -> int:
    return count(at(holder, "protocolVersion")) or 1
