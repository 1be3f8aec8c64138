"""Updates of the agent: goals and turns are read out of them, and what the proxy publishes itself is taken out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.mappers.base import GoalReported, Mapper, Signal, at, has
from goalproxy.proxy.wire import acp, extension
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, drop

from .actions import Relay, Rewrite, Swallow
from .air import strip
from .connection import Connection
from .controls import settle
from .events import FromAgent
from .facts import NotRewritten
from .lifecycle import early
from .logs import asks_log
from .session import Session
from .silence import heard
from .turns import on_mark, on_state


def on_update(connection: Connection, event: FromAgent) -> None:
    """An update that may be about a goal, a turn, or both."""
    mapper, message = connection.goals, load(event.line)
    update = at(message, "params", "update")
    if mapper is None or not isinstance(update, dict):
        connection.do(Relay())
        return
    connection.do(_forwarded(connection, mapper, event.line, update))
    session = early(connection, event.envelope.session_id)
    if session is None:
        return
    take(connection, session, mapper.read(update, session.view))
    if update.get("sessionUpdate") == acp.STATE:
        on_state(connection, session, update.get("state"))
    if connection.is_v2 and extension.clears(update):
        session.tracker.forget_publication()
    heard(connection, session)
    connection.publish(session)


def on_notification(connection: Connection, event: FromAgent) -> None:
    """A notification of the agent's own; it is the client's to have, too."""
    connection.do(Relay())
    params = at(load(event.line), "params")
    session = connection.sessions.get(event.envelope.session_id)
    if connection.goals is not None and session is not None and isinstance(params, dict):
        signals = connection.goals.read_notification(event.envelope.method, params, session.view)
        take(connection, session, signals)
        connection.publish(session)


def take(connection: Connection, session: Session, signals: Iterable[Signal]) -> None:
    """Enter what the agent said, and answer whoever waited for it."""
    for signal in signals:
        if isinstance(signal, GoalReported) and asks_log(connection, session, signal):
            continue
        if isinstance(signal, GoalReported):
            connection.take(session, signal)
            settle(connection, session)
        else:
            on_mark(connection, session, running=signal.running)


def _forwarded(
    connection: Connection, mapper: Mapper, line: bytes, update: dict[str, Any]
) -> Relay | Rewrite | Swallow:
    """The agent's update without the goal that is published in its place; nothing if nothing is left."""
    changed = strip(connection, line)
    for path in _replaced(mapper, update):
        try:
            changed = drop(changed, ("params", "update", *path))
        except NotEditable:
            connection.record(NotRewritten(acp.SESSION_INFO))
    if changed == line:
        return Relay()
    left = at(load(changed), "params", "update")
    return Swallow() if isinstance(left, dict) and set(left) <= {"sessionUpdate"} else Rewrite(changed)


def _replaced(mapper: Mapper, update: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    if mapper.replaced_keys and has(update, *mapper.replaced_keys):
        yield mapper.replaced_keys
    air = ("_meta", "jetbrains", "air")
    if mapper.replaces_air and has(update, *air, "goal"):
        yield air if set(at(update, *air)) <= {"version", "goal"} else (*air, "goal")
