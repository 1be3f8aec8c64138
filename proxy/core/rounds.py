"""The rounds of a goal that the proxy owns: when one starts, what its end means, and what waits for it meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalproxy.mappers.base import at, has
from goalproxy.proxy.goal.changes import Change, StatusChanged, TokensUsed
from goalproxy.proxy.goal.differences import stopped
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.goal.rounds import Ended, Verdict, continuation
from goalproxy.proxy.goal.usage import CUMULATIVE, UsageMeter, total_of
from goalproxy.proxy.wire import acp, extension, jsonrpc
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, drop

from . import injection
from .actions import RunCheck, SetTimer, StoreGoal, Swallow, ToAgent
from .air import forward
from .connection import Awaited, Connection
from .driver import DRAINED, DRAINED_CODE, Driver
from .events import CheckDone, FromAgent
from .facts import BackedOff, CheckRan, OwnedGoalStopped, RoundEnded, RoundSpoke, RoundTokens
from .holding import answer_open, release
from .permissions import is_goal_tool
from .replies import end_of_turn
from .session import Claim, Session, WaitingRound

ROUND_TIMER = "round:"
ROUND_KINDS = frozenset({acp.MESSAGE_CHUNK, "tool_call", "tool_call_update"})
"""Updates that are looked at while a round runs."""
_STOPS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"})


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


def start_round(connection: Connection, session: Session) -> None:
    """Start the next round, if the goal is active and armed, and nothing else runs or waits in the session."""
    driver, now = session.driver, connection.now
    if driver is None or driver.goal is None or driver.goal.status != "active" or not driver.armed:
        return
    if connection.draining:
        _pause_to_drain(connection, session, driver)
        return
    if session.busy or session.held or not session.visible:
        return
    if driver.waits_for_user or session.checking or _is_ending(connection, session):
        return
    if now < driver.not_before:
        connection.do(SetTimer(ROUND_TIMER + session.id, driver.not_before - now))
        return
    limit = driver.goal.exceeded(now)
    if limit is not None:
        commit(connection, session, driver.move("limit", now, code=limit[0], reason=limit[1]))
        return
    text = continuation(driver.goal, tools=session.tool_names, blocked_after=connection.policy.limits.blocked_after)
    content, driver.first_content = driver.first_content, []
    started, changes = driver.begin_round(now)
    prompt = [{"type": "text", "text": text}, *content]
    ident = connection.request(acp.PROMPT, {"sessionId": session.id, "prompt": prompt})
    connection.awaiting[str, ident] = WaitingRound(session.id, started)
    connection.rounds += 1
    commit(connection, session, changes)


def _pause_to_drain(connection: Connection, session: Session, driver: Driver) -> None:
    """No round begins any more, and the goal says so as soon as none runs."""
    if driver.round is None:
        commit(connection, session, driver.move("pause", connection.now, code=DRAINED_CODE, reason=DRAINED))


def _is_ending(connection: Connection, session: Session) -> bool:
    """Whether the client has asked for the session to be closed or deleted, and the agent has not said no."""
    return any(
        isinstance(awaited, Awaited) and awaited.method in acp.ENDING and awaited.session_id == session.id
        for awaited in connection.awaiting.values()
    )


def on_timer(connection: Connection, ident: str) -> None:
    """It may be time for the next round."""
    session = connection.sessions.get(ident)
    if session is not None:
        start_round(connection, session)


def on_round_response(connection: Connection, event: FromAgent, waiting: WaitingRound) -> None:
    """The agent's answer to a round: its end, or, in version 2, that it has begun."""
    connection.do(Swallow())
    session, message = connection.sessions.get(waiting.session_id), load(event.line)
    if session is None or session.driver is None or session.driver.round is not waiting.round:
        return  # It has ended already, with its session or by the agent's state.
    if event.envelope.failed:
        error = at(message, "error")
        words = " ".join(str(part) for part in (at(error, "message"), at(error, "data", "details")) if part)
        _end(connection, session, "error", words or "the agent gave no reason", None)
    elif connection.is_v2:
        waiting.round.accepted = True
        if waiting.round.idle is not None:
            session.driver.let_settle(connection.now)
            _end_idle(connection, session, waiting.round.idle)
    else:
        stop = at(message, "result", "stopReason")
        _end(connection, session, stop if isinstance(stop, str) else "end_turn", "", at(message, "result"))


def on_update(connection: Connection, event: FromAgent) -> None:
    """An update of the agent's; during a round it is looked at, and it always passes."""
    session, update = connection.sessions.get(event.envelope.session_id), at(load(event.line), "params", "update")
    forward(connection, _without_null(session, update, event.line))
    if session is None or session.driver is None or not isinstance(update, dict):
        return
    kind, driver = update.get("sessionUpdate"), session.driver
    if connection.is_v2 and extension.clears(update):
        driver.forget_publication()
        connection.publish(session)
    elif kind == acp.SESSION_INFO and at(update, "_meta", "goal") is not None:
        stand_down(connection, session)
    elif kind == acp.STATE:
        _on_state(connection, session, update)
    if driver.round is None or kind not in ROUND_KINDS:
        return
    if not driver.round.spoke:
        driver.round.spoke = True
        connection.record(RoundSpoke(connection.now - driver.round.started))
    if kind == acp.MESSAGE_CHUNK:
        text = at(update, "content", "text")
        driver.round.said(text if isinstance(text, str) else "", update.get("messageId"))
        driver.round.tokens += total_of(at(update, "_meta", "usage")) or 0
    else:
        driver.round.called(update.get("toolCallId"), counts=not is_goal_tool(session, update))


def _without_null(session: Session | None, update: Any, line: bytes) -> bytes:
    """The agent has no goal, which says nothing of the proxy's: the client must not take it for that."""
    if session is None or session.agent_owns or at(update, "sessionUpdate") not in (acp.SESSION_INFO, acp.STATE):
        return line
    if not has(update, "_meta", "goal") or at(update, "_meta", "goal") is not None:
        return line
    try:
        return drop(line, ("params", "update", "_meta", "goal"))
    except NotEditable:
        return line


def _on_state(connection: Connection, session: Session, update: dict[str, Any]) -> None:
    state, driver = update.get("state"), driver_of(connection, session)
    if state == "running":
        session.is_working()
        if driver.round is not None:
            driver.round.idle = None
    elif state == "idle":
        for key in session.is_idle():
            del session.turns[key]
        if driver.round is None:
            meter_of(connection, session).pass_over(update)
            proceed(connection, session)
        elif driver.round.accepted:
            _end_idle(connection, session, update)
        else:
            driver.round.idle = update


def _end_idle(connection: Connection, session: Session, update: dict[str, Any]) -> None:
    stop = update.get("stopReason")
    _end(connection, session, stop if isinstance(stop, str) else "end_turn", "", update)


def _end(connection: Connection, session: Session, stop: str, error: str, result: Any) -> None:
    driver, now = session.driver, connection.now
    if driver is None or driver.round is None:
        return
    current, meter = driver.round, meter_of(connection, session)
    tokens, kinds = meter.read(result), meter.split(result)
    tokens = (current.tokens or None) if tokens is None else tokens
    ended = Ended(stop, error, current.text, current.tools, now - current.started)
    verdict, changes = driver.end_round(ended, tokens, now)
    connection.rounds -= 1
    connection.record(RoundEnded(stop if stop in _STOPS else "other", ended.milliseconds))
    if session.tool_names and injection.missed(connection, session):
        session.tool_names = []
    if any(isinstance(change, TokensUsed) for change in changes):
        connection.record(RoundTokens(kinds))
    commit(connection, session, changes)
    if verdict is not None:
        _follow(connection, session, verdict)
    proceed(connection, session)


def proceed(connection: Connection, session: Session) -> None:
    """Something has ended: a prompt of the client's that was kept is next, one at a time; else a round."""
    if session.held and not session.busy:
        release(connection, session, 1)
    else:
        start_round(connection, session)


def _follow(connection: Connection, session: Session, verdict: Verdict) -> None:
    driver = session.driver
    if driver is None:
        return
    if verdict.operation == "continue":
        extra = verdict.delay - driver.limits.min_interval
        if extra > 0:
            connection.record(BackedOff(extra))
        return
    if verdict.operation == "complete":
        if not session.checking:  # The model has said so by its tools, too.
            claim(connection, session, None)
    else:
        changes = driver.move(verdict.operation, connection.now, code=verdict.code, reason=verdict.reason)
        commit(connection, session, changes)


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


def on_check_done(connection: Connection, event: CheckDone) -> None:
    """The operator's check has run; it says nothing of a goal that has taken the place of the one it was for."""
    connection.record(CheckRan(event.passed, event.milliseconds))
    checked, session = connection.checks.pop(event.session_id, None), connection.sessions.get(event.session_id)
    claim = session.claim if session is not None and session.checking else None
    if session is None or claim is None:
        return
    if claim != checked:
        _run_check(connection, session, claim)
        return
    session.claim, driver = None, driver_of(connection, session)
    if event.passed:
        commit(connection, session, driver.move("complete", connection.now, reason=claim.reason or event.reason))
    else:
        driver.goal = driver.present().used(connection.now, None, event.reason)
        commit(connection, session, [])
    start_round(connection, session)


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
