"""Goals for an agent that has none: the client's commands and prompts, and the rounds in between.

One prompt is in flight per session, ever. The user comes first: a prompt of the client's that arrives during a round
ends the round, or waits for its end, and the next round waits for the user's turn.
"""

from __future__ import annotations

from typing import Any

from msgspec import UnsetType

from goalproxy.mappers.base import at
from goalproxy.proxy.goal import control as controls
from goalproxy.proxy.goal.command import Command, can_hold_command, parse
from goalproxy.proxy.goal.control import Control, Refusal
from goalproxy.proxy.goal.owned import Refused
from goalproxy.proxy.goal.snapshot import describe
from goalproxy.proxy.wire import acp
from goalproxy.proxy.wire.envelope import Id, load

from . import injection
from .actions import LoadGoal, Relay, Swallow
from .connection import Connection
from .driver import RESTORED, RESTORED_CODE, Driver
from .events import FromClient, GoalLoaded
from .facts import CommandSeen, ControlAnswered
from .holding import answer_held, answer_open, take_back
from .ownership import commit, driver_of, interrupt
from .replies import cancelled, say, tell
from .rounds import start_round
from .session import Held, Session

# Prompts and commands


def on_prompt(connection: Connection, event: FromClient) -> None:
    """A prompt of the client: a command is carried out here, anything else is the agent's, when no round runs."""
    session, key = connection.sessions.get(event.envelope.session_id), event.envelope.key
    if session is None or key is None:
        connection.do(Relay())
        return
    prompt: Any = at(load(event.line), "params", "prompt") if can_hold_command(event.line) else None
    command = None if session.agent_owns else parse(prompt)
    if command is not None:
        connection.record(CommandSeen(command.word, "proxy"))
        _command(connection, event, session, prompt, command)
        return
    driver = driver_of(connection, session)
    driver.user_spoke(connection.now)
    if driver.round is None and not session.held:
        connection.open_turn(session, key)
        connection.do(Relay())
        return
    connection.do(Swallow())
    session.held.append(Held(key, event.envelope.id, bytes(event.line)))
    if connection.policy.on_prompt == "interrupt":
        interrupt(connection, session)


def _command(connection: Connection, event: FromClient, session: Session, prompt: list[Any], command: Command) -> None:
    driver = driver_of(connection, session)
    if command.word == "status":
        say(connection, event, session, prompt, describe(driver.shown))
        return
    try:
        _carry_out(connection, session, prompt, command)
    except (Refusal, Refused) as refusal:
        say(connection, event, session, prompt, str(refusal))
        return
    if _stays_open(connection, driver, command):
        connection.do(Swallow())
        session.open_prompts.append(event.envelope.id)
    else:
        say(connection, event, session, prompt, "")
    start_round(connection, session)


def _carry_out(connection: Connection, session: Session, prompt: list[Any], command: Command) -> None:
    """Do what a command says. Raises Refusal or Refused; nothing has changed then."""
    driver = driver_of(connection, session)
    edited = _edited(driver, command)
    if edited:
        commit(connection, session, driver.edit(connection.now, edited, None))
    elif command.word != "status":
        apply(connection, session, Control(session.id, command.word, command.objective, None))
        if command.word == "set":
            driver.first_content = [prompt[place] for place in command.others]


def on_steering(connection: Connection, event: FromClient) -> None:
    """Text for the turn that runs: a goal command is carried out here, anything else is the agent's."""
    session = connection.sessions.get(event.envelope.session_id)
    prompt: Any = at(load(event.line), "params", "prompt") if can_hold_command(event.line) else None
    command = None if session is None or session.agent_owns else parse(prompt)
    if session is None or command is None:
        connection.do(Relay())
        if session is not None and session.busy:
            driver_of(connection, session).user_spoke(connection.now)
        return
    connection.record(CommandSeen(command.word, "proxy"))
    connection.do(Swallow())
    starts = command.word in ("set", "resume") and not session.busy
    try:
        _carry_out(connection, session, prompt, command)
    except (Refusal, Refused) as refusal:
        connection.answer_error(event.envelope.id, acp.INVALID_PARAMS, str(refusal))
        return
    if command.word == "status":
        tell(connection, session, describe(driver_of(connection, session).shown))
    connection.answer(event.envelope.id, {"outcome": "startedNewTurn" if starts else "injected"})
    start_round(connection, session)


def _edited(driver: Driver, command: Command) -> str:
    """The new objective of ``/goal edit``; without a goal that is not over, ``edit`` is a word like any other."""
    words = command.objective.split(maxsplit=1)
    is_edit = command.word == "set" and len(words) > 1 and words[0].lower() == "edit"
    return words[1] if is_edit and driver.goal is not None and driver.goal.status != "complete" else ""


def _stays_open(connection: Connection, driver: Driver, command: Command) -> bool:
    """Whether the prompt is answered when the goal stops. In version 2 prompts are answered at once, all of them."""
    if connection.policy.turns != "held" or connection.is_v2 or command.word not in ("set", "resume"):
        return False
    return driver.goal is not None and driver.goal.status == "active" and not driver.waits_for_user


# Controls


def on_control(connection: Connection, session: Session, control: Control, client_id: Id | UnsetType) -> None:
    """A control request of the client. Raises Refusal or Refused; nothing has changed then."""
    controls.check_expected(control.expected, driver_of(connection, session).shown)
    apply(connection, session, control)
    connection.record(ControlAnswered(control.action, "ok"))
    connection.answer(client_id, {})
    start_round(connection, session)


def apply(connection: Connection, session: Session, control: Control) -> None:
    """Carry out a control, and publish what came of it. Raises Refusal or Refused; nothing has changed then."""
    driver, now = driver_of(connection, session), connection.now
    if control.action in ("pause", "resume"):
        controls.check_changeable(control.action, driver.shown)
    if control.action == "set":
        interrupt(connection, session)
        changes = driver.set("goal-" + connection.secret(), control.objective, now, token_budget=control.token_budget)
    elif control.action == "clear":
        interrupt(connection, session)
        changes = driver.move("clear", now) if driver.goal is not None else []
    elif control.action == "pause":
        if driver.present().status == "paused":
            return
        interrupt(connection, session)
        changes = driver.move("pause", now)
    else:
        changes = driver.resume(now, token_budget=control.token_budget)
    commit(connection, session, changes)


def on_cancel(connection: Connection, event: FromClient) -> None:
    """The client stops the turn, whoever began it. Its goal pauses with it, unless the operator wants only the turn."""
    connection.do(Relay())
    session = connection.sessions.get(event.envelope.session_id)
    if session is None or session.driver is None:
        return
    driver = session.driver
    answer_held(connection, session)
    answer_open(connection, session, cancelled(connection))
    if driver.round is not None:
        driver.round.interrupted = driver.round.cancelled = True
    _stop(connection, session, driver)


def on_cancel_request(connection: Connection, event: FromClient, ident: Id) -> None:
    """The client takes one request back. To take back the prompt that is open for a goal is to cancel."""
    for session in connection.sessions.values():
        opened = list(session.open_prompts)
        if take_back(connection, session, ident):
            connection.do(Swallow())
            if session.open_prompts != opened and session.driver is not None:
                answer_open(connection, session, cancelled(connection))
                interrupt(connection, session)
                _stop(connection, session, session.driver)
            start_round(connection, session)
            return
    connection.forward(injection.followed(connection, event, ident))


def _stop(connection: Connection, session: Session, driver: Driver) -> None:
    if driver.goal is None or driver.goal.status != "active":
        return
    if connection.policy.on_cancel == "pause":
        commit(connection, session, driver.move("pause", connection.now, code="cancelled"))
    else:
        driver.waits_for_user = True


# Sessions


def on_opened(connection: Connection, session: Session, method: str, *, preserve: bool) -> None:
    """The client knows the session: a new one and a fork begin without a goal, another may have one in the store."""
    driver = driver_of(connection, session)
    driver.forget_publication()
    session.meter = None  # An agent that loads a session may go on with its sum, or begin anew.
    if not session.agent_owns and method not in (acp.NEW, acp.FORK) and driver.goal is None:
        connection.do(LoadGoal(session.id, preserve))
        return
    if method in (acp.LOAD, acp.RESUME) and not preserve:
        _disarm(connection, session, driver)
    connection.publish(session)
    start_round(connection, session)


def _disarm(connection: Connection, session: Session, driver: Driver) -> None:
    """The client has opened a session again that was open: its goal waits for a word, as one from the store does."""
    if driver.goal is not None and driver.goal.status == "active":
        interrupt(connection, session)
        commit(connection, session, driver.move("pause", connection.now, code=RESTORED_CODE, reason=RESTORED))


def on_loaded(connection: Connection, event: GoalLoaded) -> None:
    """What the store has for a session that was opened again."""
    session = connection.sessions.get(event.session_id)
    if session is None:
        return
    driver = driver_of(connection, session)
    if driver.goal is None and not session.agent_owns:
        session.stored = event.goal
        commit(connection, session, driver.restore(event.goal, connection.now, armed=event.armed))
    start_round(connection, session)
