"""A goal that the proxy owns: what there is for a session, and how it is changed, stored, published and given up."""

from __future__ import annotations

from collections.abc import Iterable

from goalproxy.proxy.goal.changes import Change, StatusChanged
from goalproxy.proxy.goal.differences import stopped
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.goal.usage import CUMULATIVE, UsageMeter
from goalproxy.proxy.wire import acp, jsonrpc

from .actions import StoreGoal, ToAgent
from .connection import Connection
from .driver import Driver
from .facts import OwnedGoalStopped
from .holding import answer_open
from .replies import end_of_turn
from .session import Session


def meter_of(connection: Connection, session: Session) -> UsageMeter:
    """What reads the usage of a session's prompts."""
    if session.meter is None:
        name = connection.agent.name if connection.agent is not None else ""
        session.meter = UsageMeter(cumulative=name in CUMULATIVE, is_new=session.began_here)
    return session.meter


def driver_of(connection: Connection, session: Session) -> Driver:
    """The driver of a session's goal."""
    if session.driver is None:
        session.driver = Driver(connection.policy.limits, session.tracker.last_time)
    return session.driver


def interrupt(connection: Connection, session: Session) -> None:
    """End the round that runs, if one does: what comes next is more important."""
    driver = session.driver
    if driver is None or driver.round is None or driver.round.cancelled:
        return
    driver.round.interrupted = driver.round.cancelled = True
    connection.do(ToAgent(jsonrpc.notification(acp.CANCEL, {"sessionId": session.id})))


def commit(connection: Connection, session: Session, changes: Iterable[Change]) -> None:
    """Store what became of the goal, then tell: nothing is published that was not stored."""
    driver = driver_of(connection, session)
    connection.record_changes(changes, "emulated")
    if driver.goal != session.stored:
        if session.stored is not None and session.stored.status == "active":
            _record_stop(connection, driver.goal)
        session.stored = driver.goal
        connection.do(StoreGoal(session.id, driver.goal))
    connection.publish(session)
    if driver.goal is None or driver.goal.status != "active":
        answer_open(connection, session, end_of_turn(connection))


def _record_stop(connection: Connection, goal: OwnedGoal | None) -> None:
    if goal is None:
        connection.record(OwnedGoalStopped("clear"))
    elif goal.status != "active":
        connection.record(OwnedGoalStopped(goal.code or goal.status))


def end(connection: Connection, session: Session) -> None:
    """The session is over, and its goal with it, as far as this process is concerned."""
    connection.forget_tools(session)
    driver = session.driver
    if driver is None:
        return
    if driver.round is not None:
        driver.round = None
        connection.rounds -= 1
    if driver.shown is None:
        return
    if driver.shown.status == "active":
        connection.record_changes([stopped(driver.shown, "ended_unknown")], "emulated")
    connection.record_changes([StatusChanged(driver.shown.status, None)], "emulated")


def stand_down(connection: Connection, session: Session) -> None:
    """The agent turns out to keep the session's goal itself: there are never two drivers, and its own is the one."""
    if session.agent_owns:
        return
    session.agent_owns = True
    interrupt(connection, session)
    driver = driver_of(connection, session)
    commit(connection, session, driver.move("clear", connection.now) if driver.goal is not None else [])
    connection.forget_tools(session)
