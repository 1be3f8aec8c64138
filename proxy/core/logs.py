"""The agent's log of a session, for agents that tell there what they do not tell on the wire."""

from __future__ import annotations

from goalproxy.mappers.base import GoalReported, Mapper
from goalproxy.proxy.goal.report import Report
from goalproxy.proxy.goal.tracker import Tracker
from goalproxy.proxy.wire.envelope import load

from .actions import LeaveLog, ReadLog
from .connection import Connection
from .controls import settle
from .events import LogRead
from .session import Session

UNTOLD = "The turn has ended; this agent does not say whether the goal is met."


def turn_ended(connection: Connection, session: Session) -> None:
    """A turn is over: what the log says now decides what became of the goal."""
    if connection.log_mark is None:
        return
    goal = session.tracker.shown
    if session.lapsing or session.tracker.waits or (goal is not None and goal.status == "active"):
        connection.do(ReadLog(session.id))


def asks_log(connection: Connection, session: Session, signal: GoalReported) -> bool:
    """Whether the agent said that its goal is gone and not how: the log is asked first."""
    if signal.ended != "ended_unknown" or connection.log_mark is None:
        return False
    session.gone = True
    connection.do(ReadLog(session.id))
    return True


def on_log(connection: Connection, event: LogRead) -> None:
    """Lines of the log."""
    mapper, session = connection.goals, connection.sessions.get(event.session_id)
    if mapper is None or session is None:
        return
    session.log_found = event.found
    said = _signals(mapper, session, event.lines)
    if event.history or session.origin:
        _restore(connection, session, said, found=event.found)
    else:
        for signal in said:
            connection.take(session, signal)
            settle(connection, session)
            connection.publish(session)
    if session.gone and not event.found:
        connection.take(session, GoalReported(None, "ended_unknown"))
    session.gone = False
    _lapse(connection, session, found=event.found)
    connection.publish(session)
    goal = session.tracker.shown
    if not session.tracker.waits and (goal is None or goal.status != "active"):
        connection.do(LeaveLog(session.id))


def _signals(mapper: Mapper, session: Session, lines: list[bytes]) -> list[GoalReported]:
    entries = (load(line) for line in lines)
    signals = (signal for entry in entries if entry is not None for signal in mapper.read_log(entry, session.view))
    return [signal for signal in signals if isinstance(signal, GoalReported)]


def _restore(connection: Connection, session: Session, said: list[GoalReported], *, found: bool) -> None:
    """What a log says of the past counts by its last word only. The log of a fork may come later than the fork."""
    if found:
        session.origin = ""
    if said and said[-1].report is not None:
        connection.take(session, said[-1])
        settle(connection, session)
    elif found:
        session.tracker.none_yet()
    elif session.origin in connection.sessions and not session.tracker.known:
        _inherit(connection, session, connection.sessions[session.origin].tracker)


def _inherit(connection: Connection, session: Session, origin: Tracker) -> None:
    """A fork without a log goes on with the goal that it was forked with; one that was paused was no goal there."""
    goal = origin.shown
    if goal is not None and goal.status != "paused":
        report = Report(goal.objective, goal.status, iterations=goal.iterations, last_reason=goal.last_reason)
        connection.take(session, GoalReported(report))
    elif origin.known:
        session.tracker.none_yet()


def _lapse(connection: Connection, session: Session, *, found: bool) -> None:
    """Settle the commands whose turn is over: a log knows whether they were carried out; without one, they were."""
    tracker, generations = session.tracker, session.lapsing
    session.lapsing = []
    for generation in generations:
        waited = tracker.is_pending(generation)
        changes = (tracker.lapsed if found else tracker.accepted)(generation, connection.now)
        connection.record_changes(changes)
        if waited and found and not changes and connection.goals is not None:
            connection.goals.undo(session.view)
    report = tracker.last_report
    is_told = report is not None and report.iterations is not None
    active = tracker.shown is not None and tracker.shown.status == "active"
    if active and not (found or is_told or session.busy):
        tracker.note(UNTOLD)
