"""How it stands: how many sessions there are, and whether an active goal runs away, nears its budget, or waits."""

from __future__ import annotations

from .connection import Connection
from .facts import GoalsStand, SessionsOpen
from .session import Session


def tell(connection: Connection) -> None:
    """Tell how many sessions there are and how the active goals are, if that has changed."""
    opened = sum(session.visible for session in connection.sessions.values())
    if opened != connection.opened:
        connection.opened = opened
        connection.record(SessionsOpen(opened))
    stand = _stand(connection)
    if stand != connection.stand:
        connection.stand = stand
        connection.record(stand)


def _stand(connection: Connection) -> GoalsStand:
    rounds, budgets, idle = [], [], []
    for session in connection.sessions.values():
        goal = session.book.shown
        if goal is None or goal.status != "active":
            session.idle_since = None
            continue
        _note_idle(connection, session)
        if goal.iterations is not None:
            rounds.append(goal.iterations)
        if isinstance(goal.token_budget, int) and goal.token_budget > 0 and goal.tokens_used is not None:
            budgets.append(goal.tokens_used / goal.token_budget)
        if session.idle_since is not None:
            idle.append(session.idle_since)
    return GoalsStand(max(rounds, default=None), max(budgets, default=None), min(idle, default=None))


def _note_idle(connection: Connection, session: Session) -> None:
    if session.busy or session.id in connection.checks:
        session.idle_since = None
    elif session.idle_since is None:
        session.idle_since = connection.now
