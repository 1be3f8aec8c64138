"""The rounds of a goal that the proxy owns: when one starts, what its end means, and what waits for it meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UnsetType

from goalproxy.mappers.base import at, has
from goalproxy.proxy.goal.changes import Change, GoalStopped, StatusChanged
from goalproxy.proxy.goal.owned import Refused
from goalproxy.proxy.goal.rounds import Ended, Verdict, continuation
from goalproxy.proxy.goal.tools import UPDATE_FIELDS
from goalproxy.proxy.goal.usage import CUMULATIVE, UsageMeter, total_of
from goalproxy.proxy.wire import acp, jsonrpc
from goalproxy.proxy.wire.envelope import load

from . import injection
from .actions import Relay, RunCheck, SetTimer, StoreGoal, Swallow, ToAgent
from .connection import Connection
from .driver import Driver
from .events import CheckDone, FromAgent
from .facts import GoalChanged, RoundEnded
from .holding import release
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
        session.meter = UsageMeter(cumulative=name in CUMULATIVE)
    return session.meter


def driver_of(connection: Connection, session: Session) -> Driver:
    """The driver of a session's goal."""
    if session.driver is None:
        session.driver = Driver(connection.policy.limits, connection.last_times.pop(session.id, 0))
    return session.driver


def start_round(connection: Connection, session: Session) -> None:
    """Start the next round, if the goal is active and armed, and nothing else runs or waits in the session."""
    driver, now = session.driver, connection.now
    if driver is None or driver.goal is None or driver.goal.status != "active" or not driver.armed:
        return
    if driver.round is not None or session.busy or session.held or not session.visible:
        return
    if driver.waits_for_user or session.checking:
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
    changes = driver.begin_round(now)
    prompt = [{"type": "text", "text": text}, *content]
    ident = connection.request(acp.PROMPT, {"sessionId": session.id, "prompt": prompt})
    connection.awaiting[str, ident] = WaitingRound(session.id)
    connection.rounds += 1
    commit(connection, session, changes)


def on_timer(connection: Connection, ident: str) -> None:
    """It may be time for the next round."""
    session = connection.sessions.get(ident)
    if session is not None:
        start_round(connection, session)


def on_round_response(connection: Connection, event: FromAgent, waiting: WaitingRound) -> None:
    """The agent's answer to a round: its end, or, in version 2, that it has begun."""
    connection.do(Swallow())
    session, message = connection.sessions.get(waiting.session_id), load(event.line)
    connection.rounds -= 1
    if session is None or session.driver is None:
        return
    if event.envelope.failed:
        error = at(message, "error")
        words = " ".join(str(part) for part in (at(error, "message"), at(error, "data", "details")) if part)
        _end(connection, session, "error", words or "the agent gave no reason", None)
    elif connection.is_v2:
        connection.rounds += 1
        if session.driver.round is not None:
            session.driver.round.accepted = True
    else:
        stop = at(message, "result", "stopReason")
        _end(connection, session, stop if isinstance(stop, str) else "end_turn", "", at(message, "result"))


def on_update(connection: Connection, event: FromAgent) -> None:
    """An update of the agent's; during a round it is looked at, and it always passes."""
    connection.do(Relay())
    session, update = connection.sessions.get(event.envelope.session_id), at(load(event.line), "params", "update")
    if session is None or session.driver is None or not isinstance(update, dict):
        return
    kind, driver = update.get("sessionUpdate"), session.driver
    if has(update, "_meta", "goal") and kind == acp.SESSION_INFO:
        driver.armed = False  # The agent turns out to keep goals itself: never two drivers.
    elif kind == acp.STATE:
        _on_state(connection, session, update)
    elif driver.round is None or kind not in ROUND_KINDS:
        return
    elif kind == acp.MESSAGE_CHUNK:
        text = at(update, "content", "text")
        driver.round.said(text if isinstance(text, str) else "", update.get("messageId"))
        driver.round.tokens += total_of(at(update, "_meta", "usage")) or 0
    else:
        driver.round.called(update.get("toolCallId"), is_own=is_goal_tool(session, update))


def _on_state(connection: Connection, session: Session, update: dict[str, Any]) -> None:
    state = update.get("state")
    if state == "running":
        session.running = True
    elif state == "idle":
        session.running = False
        for key in [key for key, turn in session.turns.items() if turn.answered]:
            del session.turns[key]
        if session.driver is not None and session.driver.round is not None and session.driver.round.accepted:
            connection.rounds -= 1
            stop = update.get("stopReason")
            _end(connection, session, stop if isinstance(stop, str) else "end_turn", "", update)
        start_round(connection, session)


def _end(connection: Connection, session: Session, stop: str, error: str, result: Any) -> None:
    driver, now = session.driver, connection.now
    if driver is None or driver.round is None:
        return
    current, tokens = driver.round, meter_of(connection, session).read(result)
    tokens = (current.tokens or None) if tokens is None else tokens
    ended = Ended(stop, error, current.text, current.tools, now - current.started)
    verdict, changes = driver.end_round(ended, tokens, now, has_tools=bool(session.tool_names))
    connection.record(RoundEnded(stop if stop in _STOPS else "other", ended.milliseconds))
    if session.tool_names and injection.missed(connection, session):
        session.tool_names = []
    commit(connection, session, changes)
    if verdict is not None:
        _follow(connection, session, verdict)
    release(connection, session)
    start_round(connection, session)


def _follow(connection: Connection, session: Session, verdict: Verdict) -> None:
    driver = session.driver
    if driver is None or verdict.operation == "continue":
        return
    if verdict.operation == "complete":
        claim(connection, session, None)
    else:
        changes = driver.move(verdict.operation, connection.now, code=verdict.code, reason=verdict.reason)
        commit(connection, session, changes)


def claim(connection: Connection, session: Session, reason: str | None) -> None:
    """The model says that the goal is reached. With a check, that holds only once the check has passed."""
    driver = driver_of(connection, session)
    if connection.policy.check is None:
        commit(connection, session, driver.move("complete", connection.now, reason=reason))
    else:
        _check(connection, session, Claim(driver.present().id, reason))


def _check(connection: Connection, session: Session, claim: Claim) -> None:
    """Run the check, one at a time: what it says has to be about one goal. Raises Refused while it is about another."""
    running, session.checking = session.checking, claim
    if running is None:
        connection.do(RunCheck(session.id, session.directory))
    elif running.goal_id != claim.goal_id:
        session.checking = running
        raise Refused("check-running", "The check of an earlier goal still runs; report again once it is done.")


def on_check_done(connection: Connection, event: CheckDone) -> None:
    """The operator's check has run."""
    session = connection.sessions.get(event.session_id)
    if session is None or session.driver is None or not session.checking:
        return
    claimed, session.checking = session.checking, None
    driver = session.driver
    if driver.goal is None or driver.goal.id != claimed.goal_id or driver.goal.status == "complete":
        pass  # Nothing that the check says is about what there is now.
    elif event.passed:
        commit(connection, session, driver.move("complete", connection.now, reason=claimed.reason or event.reason))
    elif driver.goal.status == "active":
        driver.goal = driver.goal.used(connection.now, None, event.reason)
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
    for change in changes:
        connection.record(GoalChanged("emulated", change))
    if driver.goal != session.stored:
        session.stored = driver.goal
        connection.do(StoreGoal(session.id, driver.goal))
    connection.publish(session)
    if driver.goal is None or driver.goal.status != "active":
        opened, session.open_prompts = session.open_prompts, []
        for ident in opened:
            connection.answer(ident, end_of_turn(connection))


def end(connection: Connection, session: Session) -> None:
    """The session is over, and its goal with it, as far as this process is concerned."""
    driver = session.driver
    if driver is None or driver.shown is None:
        return
    if driver.round is not None:
        connection.rounds -= 1
    if driver.shown.status == "active":
        connection.record(GoalChanged("emulated", GoalStopped("ended_unknown")))
    connection.record(GoalChanged("emulated", StatusChanged(driver.shown.status, None)))


def on_permission(connection: Connection, event: FromAgent) -> None:
    """The agent asks the user for leave. For the proxy's own tools, and nothing else, the proxy gives it."""
    params = at(load(event.line), "params")
    session = connection.sessions.get(event.envelope.session_id)
    option = _once(at(params, "options"))
    if session is None or option is None or not is_goal_tool(session, at(params, "toolCall")):
        connection.do(Relay())
        return
    outcome = {"outcome": {"outcome": "selected", "optionId": option}}
    ident = event.envelope.id
    connection.do(Swallow())
    if not isinstance(ident, UnsetType):
        connection.do(ToAgent(jsonrpc.result(ident, outcome)))


def _once(options: Any) -> Any:
    """The option that allows it once."""
    listed = options if isinstance(options, list) else []
    return next((at(option, "optionId") for option in listed if at(option, "kind") == "allow_once"), None)


def is_goal_tool(session: Session, call: Any) -> bool:
    """Whether a tool call is one of the proxy's own tools, by the names that agents give to the tools of a server."""
    names = {at(call, "title"), at(call, "_meta", "toolName")}
    return any(name in session.tool_titles for name in names if isinstance(name, str)) or _is_report(session, call)


def _is_report(session: Session, call: Any) -> bool:
    """Whether a call has nothing for a name but its arguments, and these are a report on this very goal."""
    title, given = at(call, "title"), at(call, "rawInput")
    goal = session.driver.goal if session.driver is not None else None
    if goal is None or not session.tool_titles or not isinstance(title, str) or not isinstance(given, dict):
        return False
    return (
        given.get("goal_id") == goal.id
        and given.keys() <= UPDATE_FIELDS
        and load(title.encode("utf-8", "replace")) == given
    )
