"""Leave for the proxy's own tools: a round is unattended, and must not wait for a user to give it."""

from __future__ import annotations

from typing import Any

from msgspec import UnsetType

from goalproxy.mappers.base import at
from goalproxy.proxy.goal.tools import UPDATE_FIELDS
from goalproxy.proxy.wire import jsonrpc
from goalproxy.proxy.wire.envelope import load

from .actions import Relay, Swallow, ToAgent
from .connection import Connection
from .events import FromAgent
from .session import Session

_FOREIGN_KINDS = frozenset({"edit", "delete", "move", "execute", "fetch"})
"""Kinds of tool calls that the proxy's tools never are: a title may hold anything, a command too."""


def on_permission(connection: Connection, event: FromAgent) -> None:
    """The agent asks the user for leave. For the proxy's own tools, and nothing else, the proxy gives it."""
    params = at(load(event.line), "params")
    session = connection.sessions.get(event.envelope.session_id)
    option = _once(at(params, "options"))
    if session is None or option is None or not is_goal_tool(session, at(params, "toolCall")):
        connection.do(Relay())
        return
    outcome = {"outcome": {"outcome": "selected", "optionId": option}}
    ident = event.envelope.id
    connection.do(Swallow())
    if not isinstance(ident, UnsetType):
        connection.do(ToAgent(jsonrpc.result(ident, outcome)))


def _once(options: Any) -> Any:
    """The option that allows it once."""
    listed = options if isinstance(options, list) else []
    return next((at(option, "optionId") for option in listed if at(option, "kind") == "allow_once"), None)


def is_goal_tool(session: Session, call: Any) -> bool:
    """Whether a tool call is one of the proxy's own tools, by the names that agents give to the tools of a server."""
    kind, names = at(call, "kind"), (at(call, "title"), at(call, "_meta", "toolName"))
    if isinstance(kind, str) and kind in _FOREIGN_KINDS:
        return False
    if any(name in session.tool_titles for name in names if isinstance(name, str)):
        return True
    return _is_named_before(session, call) or _is_report(session, call)


def _is_named_before(session: Session, call: Any) -> bool:
    """Whether a call has nothing for a name but its id, and the round that runs knows it by that."""
    current = session.driver.round if session.driver is not None else None
    ident = at(call, "toolCallId")
    named = at(call, "title") is not None or not isinstance(ident, str)
    return current is not None and not named and ident in current.own_calls


def _is_report(session: Session, call: Any) -> bool:
    """Whether a call has nothing for a name but its arguments, and these are a report on this very goal."""
    title, given = at(call, "title"), at(call, "rawInput")
    goal = session.driver.goal if session.driver is not None else None
    if goal is None or not session.tool_titles or not isinstance(title, str) or not isinstance(given, dict):
        return False
    return (
        given.get("goal_id") == goal.id
        and given.keys() <= UPDATE_FIELDS
        and load(title.encode("utf-8", "replace")) == given
    )
