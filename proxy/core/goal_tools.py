"""Tool calls of the model: who may do what is decided by who began the turn that runs, never by what the call says.

A prompt of the client's is the user speaking: in its turn the model may do anything that the user can ask for. A round
is the proxy speaking: in it the model may only report how exactly that goal, at that revision, stands.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from goalproxy.proxy.goal import tools
from goalproxy.proxy.goal.owned import OwnedGoal, Refused
from goalproxy.proxy.goal.tools import CreateGoal, GetGoal, UpdateGoal

from .actions import AnswerTool
from .checks import claim
from .connection import Connection
from .driver import Driver
from .events import ToolCalled
from .facts import ToolAnswered
from .ownership import commit, driver_of, interrupt
from .rounds import start_round
from .session import Session


def on_call(connection: Connection, event: ToolCalled) -> None:
    """A tool call; it is answered at once."""
    session = connection.tokens.get(event.token)
    connection.note_listed(event.token)
    try:
        if session is None:
            raise Refused("no-session", "These tools belong to no session that is open.")  # noqa: TRY301 - one way out
        call = tools.read_call(event.name, event.arguments)
        body = _carry_out(connection, session, call)
    except Refused as refusal:
        name = event.name if event.name in tools.NAMES else "unknown"
        connection.record(ToolAnswered(name, refusal.code))
        current = session.driver.goal if session is not None and session.driver is not None else None
        body = {"error": {"code": refusal.code, "message": str(refusal)}, "goal": _told(current)}
        connection.do(AnswerTool(event.call, body, failed=True))
        return
    connection.record(ToolAnswered(event.name, "ok"))
    connection.do(AnswerTool(event.call, body, failed=False))
    if session is not None:
        start_round(connection, session)


def _carry_out(connection: Connection, session: Session, call: tools.Call) -> dict[str, Any]:
    driver = driver_of(connection, session)
    if isinstance(call, GetGoal):
        return {"goal": _told(driver.goal)}
    if isinstance(call, CreateGoal):
        _create(connection, session, call)
    else:
        _update(connection, session, driver, call)
    waiting = {"note": "The goal is complete once the check has passed; it runs now."} if session.checking else {}
    return {"goal": _told(driver.goal), **waiting}


def _create(connection: Connection, session: Session, call: CreateGoal) -> None:
    driver = driver_of(connection, session)
    _need_user(session)
    if driver.goal is not None and driver.goal.status != "complete":
        raise Refused("already-exists", "The session has a goal; edit it, or let the user clear it.")
    changes = driver.set("goal-" + connection.secret(), call.objective, connection.now)
    if call.max_rounds is not None:
        changes += driver.edit(connection.now, None, call.max_rounds)
    commit(connection, session, changes)


def _update(connection: Connection, session: Session, driver: Driver, call: UpdateGoal) -> None:
    goal = driver.check(call.goal_id, call.revision)
    if call.action in ("complete", "blocked"):
        _need_turn(session, driver, goal)
        _report(connection, session, driver, call)
        return
    _need_user(session)
    if call.action == "edit":
        commit(connection, session, driver.edit(connection.now, call.objective, call.max_rounds))
    elif call.action == "pause":
        interrupt(connection, session)
        commit(connection, session, driver.move("pause", connection.now))
    else:
        commit(connection, session, driver.resume(connection.now))


def _report(connection: Connection, session: Session, driver: Driver, call: UpdateGoal) -> None:
    if call.action == "complete":
        claim(connection, session, call.reason)
        return
    number, needed = driver.rounds_in_a_row, driver.limits.blocked_after
    if driver.round is not None and number < needed:
        raise Refused(
            "too-early",
            f"Blocked needs {needed} rounds in a row in which the user says nothing; this is number {number}.",
        )
    reason = call.reason or "The model reports that it is blocked."
    commit(connection, session, driver.move("block", connection.now, code="model-reported", reason=reason))


def _need_user(session: Session) -> None:
    """Only a turn that the client's own prompt began carries the user's authority."""
    if not session.turns:
        raise Refused("not-allowed", "Only the user can do this; it needs a turn that the user began.")


def _need_turn(session: Session, driver: Driver, goal: OwnedGoal) -> None:
    """A report needs the user's turn, or a round of exactly this goal."""
    if session.turns:
        return
    if driver.round is None:
        raise Refused("no-open-turn", "A goal can only be reported on in a turn.")
    if driver.round.goal_id != goal.id or driver.round.outdated:
        raise Refused(
            "wrong-round", "This round began for another goal, or for another objective; the next is for this."
        )
    if driver.round.interrupted:
        raise Refused("no-open-turn", "This round was stopped; what it reports does not count any more.")


def _told(goal: OwnedGoal | None) -> dict[str, Any] | None:
    """What the model is told of a goal."""
    if goal is None:
        return None
    known = asdict(goal)
    told = ("id", "revision", "objective", "status", "rounds", "max_rounds", "tokens", "token_budget", "reason")
    return {key: known[key] for key in told if known[key] is not None}
