"""Prompts of the client's that the agent would lose while it works by itself: the work ends, then they are sent.

The user comes first. What is held is the line as it came, and it goes out as the same bytes.
"""

from __future__ import annotations

from goalproxy.proxy.wire import acp, jsonrpc

from .actions import Swallow, ToAgent
from .connection import Awaited, Connection
from .events import FromClient
from .replies import end_of_turn
from .session import Held, Session, Turn


def hold(connection: Connection, event: FromClient, session: Session) -> None:
    """Keep a prompt, and end the work that it would be lost in."""
    connection.do(Swallow())
    if event.envelope.key is None:
        return
    if not session.held:
        connection.do(ToAgent(jsonrpc.notification(acp.CANCEL, {"sessionId": session.id})))
    session.held.append(Held(event.envelope.key, event.envelope.id, event.line))


def release(connection: Connection, session: Session) -> None:
    """The agent is idle: send what was kept, in its order."""
    held, session.held = session.held, []
    for prompt in held:
        connection.awaiting[prompt.key] = Awaited(acp.PROMPT, session.id)
        session.turns[prompt.key] = Turn()
        session.prompted = True
        connection.do(ToAgent(prompt.line))


def answer_held(connection: Connection, session: Session) -> None:
    """The client takes its turn back: what was kept will not be sent."""
    held, session.held = session.held, []
    for prompt in held:
        connection.answer(prompt.id, end_of_turn(connection, "cancelled"))


def answer_open(connection: Connection, session: Session, stop: str = "end_turn") -> None:
    """What kept prompts open is over: end their turns."""
    opened, session.open_prompts = session.open_prompts, []
    for ident in opened:
        connection.answer(ident, end_of_turn(connection, stop))
