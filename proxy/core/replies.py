"""Answers of the proxy's own to a prompt."""

from __future__ import annotations

from typing import Any

from goalproxy.proxy.wire import acp

from .actions import Swallow
from .connection import Connection
from .events import FromClient
from .session import Session


def end_of_turn(connection: Connection) -> dict[str, Any]:
    """The result of a prompt whose turn is over; in version 2 of one that was accepted."""
    return {} if connection.is_v2 else {"stopReason": "end_turn"}


def cancelled(connection: Connection) -> dict[str, Any]:
    """The result of a prompt that was cancelled; in version 2 the state tells that."""
    return {} if connection.is_v2 else {"stopReason": "cancelled"}


def say(connection: Connection, event: FromClient, session: Session, prompt: list[Any], text: str) -> None:
    """Answer a prompt with a text (or with none), as a turn of its own."""
    connection.do(Swallow())
    if not connection.is_v2:
        tell(connection, session, text)
        connection.answer(event.envelope.id, end_of_turn(connection))
        return
    connection.answer(event.envelope.id, {})
    ident = connection.ids.make(connection.awaiting)
    connection.update(session.id, {"sessionUpdate": "user_message", "messageId": ident + "-user", "content": prompt})
    tell(connection, session, text, ident)
    if not session.busy:
        connection.update(session.id, {"sessionUpdate": acp.STATE, "state": "idle", "stopReason": "end_turn"})


def tell(connection: Connection, session: Session, text: str, ident: str = "") -> None:
    """Show a text (or none) as a message of the agent's, which version 2 names by ``ident``, or by a new id."""
    if text:
        named = {"messageId": ident or connection.ids.make(connection.awaiting)} if connection.is_v2 else {}
        chunk = {"sessionUpdate": acp.MESSAGE_CHUNK, "content": {"type": "text", "text": text}}
        connection.update(session.id, {**chunk, **named})
