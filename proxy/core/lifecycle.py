"""The life of sessions: from the response that makes one known to the client, to the one that ends it."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from goalproxy.mappers.base import at
from goalproxy.proxy.wire import acp
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import put

from . import emulation, injection, ownership
from .actions import LeaveLog, Relay, SetTimer, StoreGoal, Swallow
from .air import forward
from .commands import complete_result, offers_command
from .connection import Awaited, Connection
from .controls import follow, read_answer
from .events import FromAgent, FromClient
from .holding import let_go
from .rounds import start_round
from .session import Question, Session

COMMANDS_TIMER = "commands:"
_COMMANDS_WAIT = 1000
"""Milliseconds after which an agent that sent no list of commands is taken to have none."""


def on_opening(connection: Connection, event: FromClient) -> None:
    """The client asks for a session, a new one or an old one."""
    method, key = event.envelope.method, event.envelope.key
    ident = event.envelope.session_id if method in (acp.LOAD, acp.RESUME) else ""
    awaited = Awaited(method, ident, origin=event.envelope.session_id if method == acp.FORK else "")
    if key is None:
        connection.do(Relay())
        return
    if connection.emulates:
        awaited = injection.open_with_tools(connection, event, awaited)
    else:
        connection.do(Relay())
    connection.awaiting[key] = awaited
    if ident:
        session = connection.session(ident)
        session.opened = session.opened or session.visible
        session.visible = False  # What comes before the response is history.


def on_opened(connection: Connection, event: FromAgent, awaited: Awaited) -> None:
    """The agent answers: the client knows the session from here on, and may be told of its goal."""
    if event.envelope.failed and injection.refused(connection, event, awaited):
        return
    if awaited.client_id is not UNSET:
        event = FromAgent(put(event.line, ("id",), awaited.client_id), event.envelope, event.now)
    if event.envelope.failed:
        forward(connection, event.line)
        _give_up(connection, awaited)
        return
    message = load(event.line) or {}
    ident = at(message, "result", "sessionId") or awaited.session_id
    if not isinstance(ident, str) or not ident:
        forward(connection, event.line)
        return
    session = connection.session(ident)
    complete_result(connection, event, session, message)
    session.visible = session.opened = True
    session.began_here = awaited.method == acp.NEW
    session.origin = awaited.origin
    if connection.emulates:
        injection.given(connection, session, awaited)
        emulation.on_opened(connection, session, awaited.method, preserve=awaited.preserve)
    else:
        _publish_native(connection, session, awaited.method)
    if not session.commands_seen and offers_command(connection, session):
        connection.do(SetTimer(COMMANDS_TIMER + ident, _COMMANDS_WAIT))


def _publish_native(connection: Connection, session: Session, method: str) -> None:
    session.tracker.forget_publication()
    if method == acp.NEW and not session.tracker.known:
        session.tracker.none_yet()
    if connection.goals is None:
        return
    connection.publish(session)
    if method != acp.NEW:
        _inquire(connection, session)


def _inquire(connection: Connection, session: Session) -> None:
    """Find out about the goal of a session that may have one already, from wherever the agent tells it."""
    follow(connection, session, history=session.tracker.shown is None)
    question = connection.goals.question(session.id) if connection.goals is not None else None
    if question is not None:
        connection.awaiting[str, connection.request(question.method, question.params)] = Question(session.id)


def on_answer(connection: Connection, event: FromAgent, question: Question) -> None:
    """The agent's answer to a question of the proxy's own."""
    connection.do(Swallow())
    session = connection.sessions.get(question.session_id)
    if session is not None:
        read_answer(connection, session, at(load(event.line), "result"))
        connection.publish(session)


def _give_up(connection: Connection, awaited: Awaited) -> None:
    """A session that was loaded before stays; one that nobody ever saw goes."""
    connection.forget_token(awaited.token)
    session = connection.sessions.get(awaited.session_id)
    if session is None:
        return
    if session.opened or (not connection.emulates and (session.tracker.known or session.turns)):
        session.visible = True
        connection.publish(session)
        start_round(connection, session)
    else:
        end(connection, awaited.session_id)


def on_ending(connection: Connection, event: FromClient) -> None:
    """The client asks to close or delete a session."""
    connection.do(Relay())
    if event.envelope.key is not None:
        connection.awaiting[event.envelope.key] = Awaited(event.envelope.method, event.envelope.session_id)


def on_ended(connection: Connection, event: FromAgent, awaited: Awaited) -> None:
    """The session is gone, unless the agent refused: nothing is published for it any more."""
    forward(connection, event.line)
    if event.envelope.failed:
        session = connection.sessions.get(awaited.session_id)
        if session is not None:
            start_round(connection, session)
        return
    end(connection, awaited.session_id)
    if connection.emulates and awaited.method == acp.DELETE:
        connection.do(StoreGoal(awaited.session_id, None))


def end(connection: Connection, ident: str) -> None:
    """Forget a session."""
    session = connection.sessions.pop(ident, None)
    if session is not None:
        if connection.log_mark is not None:
            connection.do(LeaveLog(ident, forget=True))
        connection.last_times[ident] = session.book.last_time
        connection.record_changes(session.tracker.end())
        let_go(connection, session)
        if session.driver is not None:
            ownership.end(connection, session)


def early(connection: Connection, ident: str) -> Session | None:
    """The session an update is about, or may turn out to be about once a response has named it.

    None for a session that the client never asked for, such as a subagent's.
    """
    session = connection.sessions.get(ident)
    if session is None and ident and any(_names_later(awaited) for awaited in connection.awaiting.values()):
        session = connection.session(ident)
    return session


def _names_later(awaited: Any) -> bool:
    return isinstance(awaited, Awaited) and awaited.method in (acp.NEW, acp.FORK)
