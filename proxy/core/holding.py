"""Prompts of the client's that the agent would lose while it works by itself: the work ends, then they are sent.

The user comes first. What is held is the line as it came, and it goes out as the same bytes.
"""

from __future__ import annotations

from typing import Any

from goalproxy.proxy.wire import acp, jsonrpc
from goalproxy.proxy.wire.envelope import Id, same_id

from .actions import Swallow, ToAgent
from .connection import Connection
from .events import FromClient
from .replies import cancelled
from .session import Held, Session


def hold(connection: Connection, event: FromClient, session: Session) -> None:
    """Keep a prompt, and end the work that it would be lost in."""
    connection.do(Swallow())
    if event.envelope.key is None:
        return
    if not session.held:
        connection.do(ToAgent(jsonrpc.notification(acp.CANCEL, {"sessionId": session.id})))
    session.held.append(Held(event.envelope.key, event.envelope.id, event.line))


def release(connection: Connection, session: Session, count: int | None = None) -> None:
    """The agent is idle: send what was kept, in its order; all of it, or so many."""
    held = session.held[:count]
    del session.held[:count]
    for prompt in held:
        connection.open_turn(session, prompt.key)
        connection.do(ToAgent(prompt.line))


def answer_held(connection: Connection, session: Session) -> None:
    """The client takes its turn back: what was kept will not be sent."""
    held, session.held = session.held, []
    for prompt in held:
        connection.answer(prompt.id, cancelled(connection))


def let_go(connection: Connection, session: Session) -> None:
    """The session is over: what is kept for it, or open in it, is answered."""
    answer_held(connection, session)
    answer_open(connection, session, cancelled(connection))


def answer_open(connection: Connection, session: Session, result: dict[str, Any]) -> None:
    """Answer the prompts that stayed open for a goal."""
    opened, session.open_prompts = session.open_prompts, []
    for ident in opened:
        connection.answer(ident, result)


def take_back(connection: Connection, session: Session, ident: Id) -> bool:
    """Whether a request that the client takes back is kept, or open, here; it is answered then."""
    held = [one for one in session.held if not same_id(one.id, ident)]
    opened = [one for one in session.open_prompts if not same_id(one, ident)]
    if len(held) + len(opened) == len(session.held) + len(session.open_prompts):
        return False
    session.held, session.open_prompts = held, opened
    connection.answer_error(ident, acp.REQUEST_CANCELLED, "The request was cancelled.")
    return True
