"""Controls: checked here, whoever keeps the goal; for an agent that does, sent in its own dialect, answered promptly.

Agents hold their replies for minutes. The client gets its reply when the agent has published what came of the command,
has answered, or has had time enough to refuse; the agent's late reply is swallowed, and a late error rolls back.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from goalproxy.mappers.base import Call, GoalReported, Prompt, at
from goalproxy.proxy.goal import control as controls
from goalproxy.proxy.goal.control import ACTIONS, Control, Refusal
from goalproxy.proxy.goal.owned import Refused
from goalproxy.proxy.wire import acp, extension, jsonrpc
from goalproxy.proxy.wire.envelope import Id, load, same_id

from . import emulation
from .actions import FollowLog, ReadLog, Relay, SetTimer, Swallow, ToAgent
from .connection import Connection
from .events import FromAgent, FromClient
from .facts import ControlAnswered
from .session import PendingControl, Session

CONTROL_TIMER = "control:"
INTENT_TIMER = "intent:"
LOG_TIMER = "log:"
GRACE = 300
"""Milliseconds that an agent has to publish or to refuse, before the expected state is shown."""


_LOG_GRACE = 2000
"""Milliseconds that an agent has to write into its log what came of a control that it has taken."""


def on_control(connection: Connection, event: FromClient) -> None:
    """A control request of the client, under the neutral name or an alias, whoever keeps the goal."""
    known = connection.sessions.get(event.envelope.session_id)
    if (connection.goals is None and not connection.emulates) or (known is not None and known.agent_owns):
        connection.do(Relay())
        return
    connection.do(Swallow())
    params = (load(event.line) or {}).get("params")
    try:
        control = _read(connection, event, params)
        session = connection.known_session(control.session_id)
        carry_out = emulation.on_control if connection.emulates else ask
        carry_out(connection, session, control, event.envelope.id)
    except (Refusal, Refused) as refusal:
        word = at(params, "action")
        connection.record(ControlAnswered(word if word in ACTIONS else "unknown", "invalid"))
        connection.answer_error(event.envelope.id, acp.INVALID_PARAMS, str(refusal))


def _read(connection: Connection, event: FromClient, params: Any) -> Control:
    """The control that a request asks for, if it works here. Raises Refusal."""
    mapper, update_is_set = connection.goals, event.envelope.method == extension.SESSION_ALIAS
    if mapper is None:
        return controls.read_control(params, actions=ACTIONS, limit=None, update_is_set=update_is_set, budgets=True)
    return controls.read_control(
        params,
        actions=mapper.actions,
        limit=mapper.objective_limit,
        update_is_set=update_is_set,
        no_control=mapper.no_control,
    )


def ask(
    connection: Connection, session: Session, control: Control, client_id: Id | UnsetType, reply: Any = None
) -> None:
    """Carry out a checked control, and answer the client's request with ``reply`` (by default ``{}``).

    Raises Refusal; nothing has changed then.
    """
    tracker, mapper = session.tracker, connection.goals
    if mapper is not None:
        controls.check_action(control.action, mapper.actions, mapper.no_control)
        controls.check_length(control.objective, mapper.objective_limit)
    controls.check_state(control, tracker.shown, known=tracker.known)
    if control.action == "pause" and tracker.shown and tracker.shown.status == "paused":
        connection.record(ControlAnswered("pause", "ok"))
        connection.answer(client_id, reply or {})
        return
    send(connection, session, control, client_id, reply or {})


def send(
    connection: Connection, session: Session, control: Control, client_id: Id | UnsetType, reply: dict[str, Any]
) -> None:
    """Send a control to the agent in its dialect; a client's request that waits gets ``reply``. Raises Refusal."""
    mapper = connection.goals
    call = mapper.call(control.action, control.objective, session.view) if mapper is not None else None
    if call is None:
        raise Refusal(f'This agent would read "{control.objective}" as a command; say it in other words.')
    generation = submit(connection, session, control)
    pending = PendingControl(session, control, generation, "", client_id, reply, is_prompt=isinstance(call, Prompt))
    _dispatch(connection, pending, call)
    connection.do(SetTimer(CONTROL_TIMER + pending.agent_id, GRACE))


def submit(connection: Connection, session: Session, control: Control) -> int:
    """A control is on its way, in whatever form; returns its generation."""
    if connection.goals is not None:
        connection.goals.begin(control.action, control.objective, session.view)
    if control.action in ("set", "resume"):
        follow(connection, session)
    return session.tracker.submit(control.action, control.objective)


def follow(connection: Connection, session: Session, *, history: bool = False) -> None:
    """Follow the agent's log of a session, if it keeps one."""
    if connection.log_mark is not None:
        connection.do(FollowLog(session.id, connection.log_mark, history))


def _dispatch(connection: Connection, pending: PendingControl, call: Call) -> None:
    session = pending.session
    if isinstance(call, Prompt):
        session.prompted = True
        prompt = [{"type": "text", "text": call.text}]
        pending.agent_id = connection.request(acp.PROMPT, {"sessionId": session.id, "prompt": prompt})
    else:
        pending.agent_id = connection.request(call.method, call.params)
    connection.awaiting[str, pending.agent_id] = pending
    if pending.control.action in ("set", "resume"):
        session.own.add(pending.agent_id)


def settle(connection: Connection, session: Session) -> None:
    """The agent published something: whoever waited for it is answered, after the snapshot."""
    for pending in _pending(connection):
        if pending.session is session and not session.tracker.is_pending(pending.generation):
            connection.publish(session)
            _answer(connection, pending)


def on_timer(connection: Connection, agent_id: str) -> None:
    """The agent has had time enough to refuse: show what the command is expected to give, and answer."""
    pending = connection.awaiting.get((str, agent_id))
    if isinstance(pending, PendingControl) and pending.client_id is not UNSET:
        pending.session.tracker.expect(pending.generation, connection.now)
        connection.publish(pending.session)
        _answer(connection, pending)


def on_intent_timer(connection: Connection, key: str) -> None:
    """The same for a ``/goal`` prompt, which the agent answers itself."""
    generation, _, ident = key.partition(":")
    session = connection.sessions.get(ident)
    if session is not None:
        session.tracker.expect(int(generation), connection.now)
        connection.publish(session)


def on_response(connection: Connection, event: FromAgent, pending: PendingControl) -> None:
    """The agent's reply to a control; it is never the client's to see."""
    connection.do(Swallow())
    pending.session.own.discard(pending.agent_id)
    message, tracker = load(event.line), pending.session.tracker
    was_pending = tracker.is_pending(pending.generation)
    if event.envelope.failed:
        if was_pending and _tries_again(connection, pending, at(message, "error")):
            return
        tracker.refused(pending.generation)
        if was_pending and connection.goals is not None:
            connection.goals.undo(pending.session.view)
        connection.publish(pending.session)
        _refuse(connection, pending, at(message, "error"), late=was_pending)
        return
    read_answer(connection, pending.session, at(message, "result"))
    if connection.log_mark is not None:
        _leave_to_log(connection, pending)
        return
    verdict = tracker.lapsed if pending.is_prompt else tracker.accepted
    changes = verdict(pending.generation, connection.now)
    connection.record_changes(changes)
    connection.publish(pending.session)
    if was_pending and pending.is_prompt and not changes and pending.control.action != "clear":
        _refuse(connection, pending, {"message": "The agent did not take the command."}, late=True)
    else:
        _answer(connection, pending)


def _leave_to_log(connection: Connection, pending: PendingControl) -> None:
    """The agent has taken the control; its log will say what came of it. What is expected is shown meanwhile."""
    session = pending.session
    session.tracker.expect(pending.generation, connection.now)
    connection.publish(session)
    _answer(connection, pending)
    connection.do(SetTimer(f"{LOG_TIMER}{pending.generation}:{session.id}", _LOG_GRACE))


def on_log_timer(connection: Connection, key: str) -> None:
    """The agent had time enough to write what came of a control; what is not in the log now has not happened."""
    generation, _, ident = key.partition(":")
    session = connection.sessions.get(ident)
    if session is not None and session.tracker.is_pending(int(generation)):
        session.lapsing.append(int(generation))
        connection.do(ReadLog(ident))


def _tries_again(connection: Connection, pending: PendingControl, error: Any) -> bool:
    """Send the control once more, if the agent's refusal says how it has to be said."""
    if connection.goals is None or pending.retried or not isinstance(error, dict):
        return False
    control = pending.control
    call = connection.goals.again(control.action, control.objective, error, pending.session.view)
    if call is None:
        return False
    pending.retried = True
    _dispatch(connection, pending, call)
    return True


def read_answer(connection: Connection, session: Session, result: Any) -> None:
    """Enter what the agent's answer to a request of the proxy's own says about the goal."""
    if connection.goals is None or not isinstance(result, dict):
        return
    for signal in connection.goals.read_answer(result, session.view):
        if isinstance(signal, GoalReported):
            connection.take(session, signal)


def on_cancel_request(connection: Connection, event: FromClient) -> None:
    """The client takes a request back. One that the proxy holds is answered here, and taken back from the agent too."""
    ident = at(load(event.line), "params", "requestId")
    for pending in _pending(connection):
        if same_id(pending.client_id, ident):
            connection.do(
                Swallow(),
                ToAgent(jsonrpc.notification(acp.CANCEL_REQUEST, {"requestId": pending.agent_id})),
            )
            pending.session.tracker.refused(pending.generation)
            connection.publish(pending.session)
            _finish(connection, pending, acp.REQUEST_CANCELLED, "The request was cancelled.")
            return
    emulation.on_cancel_request(connection, event, ident)


def on_agent_gone(connection: Connection) -> None:
    """Nobody will answer any more: the requests that the proxy holds are answered, as the client cannot know of it."""
    for pending in _pending(connection):
        if pending.client_id is not UNSET:
            _finish(connection, pending, acp.INTERNAL_ERROR, "The agent ended before it took the command.")


def _pending(connection: Connection) -> list[PendingControl]:
    return [awaited for awaited in connection.awaiting.values() if isinstance(awaited, PendingControl)]


def _answer(connection: Connection, pending: PendingControl) -> None:
    if pending.client_id is UNSET:
        return
    connection.record(ControlAnswered(pending.control.action, "ok"))
    connection.answer(pending.client_id, pending.reply)
    pending.client_id = UNSET


def _refuse(connection: Connection, pending: PendingControl, error: Any, *, late: bool) -> None:
    if pending.client_id is not UNSET:
        code, message = at(error, "code"), at(error, "message")
        _finish(
            connection,
            pending,
            code if isinstance(code, int) else acp.INTERNAL_ERROR,
            message if isinstance(message, str) else "The agent refused the command.",
            at(error, "data"),
        )
    elif late:
        connection.record(ControlAnswered(pending.control.action, "late_error"))


def _finish(connection: Connection, pending: PendingControl, code: int, message: str, data: Any = None) -> None:
    connection.record(ControlAnswered(pending.control.action, "refused"))
    connection.answer_error(pending.client_id, code, message, data)
    pending.client_id = UNSET
