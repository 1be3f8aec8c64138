"""The operator's check: it runs when the model says that a goal is reached, and decides whether that is so."""

from __future__ import annotations

from .actions import RunCheck
from .connection import Connection
from .events import CheckDone
from .facts import CheckRan
from .ownership import commit, driver_of
from .session import Claim, Session


def claim(connection: Connection, session: Session, reason: str | None) -> None:
    """The model says that the goal is reached. With a check, that holds only once the check has passed."""
    driver = driver_of(connection, session)
    goal = driver.movable("complete")
    if connection.policy.check is None:
        commit(connection, session, driver.move("complete", connection.now, reason=reason))
    else:
        session.claim = Claim(goal.id, goal.objective, reason)
        if session.id not in connection.checks:
            _run_check(connection, session, session.claim)


def _run_check(connection: Connection, session: Session, claim: Claim) -> None:
    connection.checks[session.id] = claim
    connection.do(RunCheck(session.id, session.directory))


def settle(connection: Connection, event: CheckDone) -> Session | None:
    """The check has run; it says nothing of a goal that has taken the place of the one it was for.

    Returns the session that it decided about.
    """
    connection.record(CheckRan(event.passed, event.milliseconds))
    checked, session = connection.checks.pop(event.session_id, None), connection.sessions.get(event.session_id)
    claim = session.claim if session is not None and session.checking else None
    if session is None or claim is None:
        return None
    if claim != checked:
        _run_check(connection, session, claim)
        return None
    session.claim, driver = None, driver_of(connection, session)
    if event.passed:
        commit(connection, session, driver.move("complete", connection.now, reason=claim.reason or event.reason))
    else:
        driver.goal = driver.present().used(connection.now, None, event.reason)
        commit(connection, session, [])
    return session
