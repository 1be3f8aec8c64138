"""The ``goal`` entry in an agent's list of commands."""

from __future__ import annotations

from typing import Any

from goalproxy.mappers.base import at
from goalproxy.proxy.wire import acp, extension
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, append

from .air import strip
from .connection import Connection
from .events import FromAgent
from .facts import NotRewritten
from .session import Session


def takes_command(connection: Connection, session: Session) -> bool:
    """Whether the agent itself understands ``/goal``."""
    mapper = connection.goals
    if mapper is None:
        return False
    return session.has_command if mapper.understands_command is None else mapper.understands_command


def offers_command(connection: Connection, session: Session) -> bool:
    """Whether ``/goal`` works in a session, by the agent or by the proxy."""
    mapper = connection.goals
    if connection.emulates:
        return True
    if mapper is None or mapper.understands_command is False:
        return False
    return takes_command(connection, session) or bool(mapper.actions)


def on_commands(connection: Connection, event: FromAgent, session: Session | None) -> None:
    """The agent sends its list: add ``goal`` where it works and is not listed."""
    message = load(event.line)
    commands = at(message, "params", "update", "availableCommands")
    path = ("params", "update", "availableCommands")
    connection.forward(_completed(connection, event.line, session, commands, path))


def complete_result(connection: Connection, event: FromAgent, session: Session, message: dict[str, Any]) -> None:
    """Version 2 sends the list in the response that opens a session."""
    commands = at(message, "result", "availableCommands")
    connection.forward(_completed(connection, event.line, session, commands, ("result", "availableCommands")))


def send_own(connection: Connection, session: Session) -> None:
    """The agent never sent a list: send one with ``goal`` alone."""
    if session.commands_seen or not session.visible or not offers_command(connection, session):
        return
    session.commands_seen = True
    entry = extension.command_entry(connection.protocol)
    connection.update(session.id, {"sessionUpdate": acp.COMMANDS, "availableCommands": [entry]})


def _completed(
    connection: Connection, line: bytes, session: Session | None, commands: Any, path: tuple[str, ...]
) -> bytes:
    changed = strip(connection, line)
    if session is not None and isinstance(commands, list):
        session.commands_seen = True
        session.has_command = any(at(entry, "name") == extension.COMMAND_NAME for entry in commands)
        if not session.has_command and offers_command(connection, session):
            try:
                changed = append(changed, path, extension.command_entry(connection.protocol))
            except NotEditable:
                connection.record(NotRewritten(acp.COMMANDS))
    return changed
