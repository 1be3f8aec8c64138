"""The rounds of a goal that the proxy owns: when one starts, what its end means, and what waits for it meanwhile."""

from __future__ import annotations

from typing import Any

from goalproxy.mappers.base import at, has
from goalproxy.proxy.goal.changes import TokensUsed
from goalproxy.proxy.goal.rounds import Ended, Verdict, continuation
from goalproxy.proxy.goal.usage import total_of
from goalproxy.proxy.wire import acp, extension
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, drop

from . import checks, injection
from .actions import SetTimer, Swallow
from .air import forward
from .connection import Awaited, Connection
from .driver import DRAINED, DRAINED_CODE, Driver
from .events import CheckDone, FromAgent
from .facts import BackedOff, RoundEnded, RoundSpoke, RoundTokens
from .holding import release
from .ownership import commit, driver_of, meter_of, stand_down
from .permissions import is_goal_tool
from .session import Session, WaitingRound

ROUND_TIMER = "round:"
ROUND_KINDS = frozenset({acp.MESSAGE_CHUNK, "tool_call", "tool_call_update"})
"""Updates that are looked at while a round runs."""
_STOPS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"})


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
    if driver.backoff:
        connection.record(BackedOff(driver.backoff))
        driver.backoff = 0
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
        connection.record(RoundSpoke(driver.round.lasted(connection.now)))
    if kind == acp.MESSAGE_CHUNK:
        text = at(update, "content", "text")
        driver.round.said(text if isinstance(text, str) else "", update.get("messageId"))
        driver.round.tokens += total_of(at(update, "_meta", "usage")) or 0
    else:
        driver.round.called(update.get("toolCallId"), update.get("status"), counts=not is_goal_tool(session, update))


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
    ended = Ended(stop, error, current.text, current.tools, current.lasted(now))
    verdict, changes = driver.end_round(ended, tokens, now)
    connection.rounds -= 1
    connection.record(RoundEnded(stop if stop in _STOPS else "other", ended.milliseconds, len(current.open_calls)))
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
        driver.backoff = max(0, verdict.delay - driver.limits.min_interval)
        return
    if verdict.operation == "complete":
        if not session.checking:  # The model has said so by its tools, too.
            checks.claim(connection, session, None)
    else:
        changes = driver.move(verdict.operation, connection.now, code=verdict.code, reason=verdict.reason)
        commit(connection, session, changes)


def on_check_done(connection: Connection, event: CheckDone) -> None:
    """The operator's check has run; if the goal goes on, it is time for the next round."""
    session = checks.settle(connection, event)
    if session is not None:
        start_round(connection, session)
