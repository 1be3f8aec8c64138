"""Agents that stop without a word: their silence is told for what it is."""

from __future__ import annotations

from .actions import SetTimer
from .connection import Connection
from .session import Session

SILENCE_TIMER = "silence:"


def heard(connection: Connection, session: Session) -> None:
    """The agent said something in a session."""
    mapper = connection.goals
    if mapper is None or mapper.silence is None:
        return
    session.heard = connection.now
    goal = session.tracker.shown
    if goal is not None and goal.status == "active" and not session.watched:
        session.watched = True
        session.tracker.note(None)
        connection.do(SetTimer(SILENCE_TIMER + session.id, mapper.silence))


def on_timer(connection: Connection, ident: str) -> None:
    """It may have been silent for too long."""
    mapper, session = connection.goals, connection.sessions.get(ident)
    if mapper is None or mapper.silence is None or session is None:
        return
    goal = session.tracker.shown
    left = session.heard + mapper.silence - connection.now
    if goal is None or goal.status != "active":
        session.watched = False
    elif session.turns or left > 0:
        connection.do(SetTimer(SILENCE_TIMER + ident, left if left > 0 else mapper.silence))
    else:
        session.watched = False
        seconds = mapper.silence // 1000
        session.tracker.note(f"No sign of work for {seconds} s; this agent may stop without saying so.")
        connection.publish(session)
