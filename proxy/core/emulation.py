"""Goals for an agent that has none: the client's commands and prompts, and the rounds in between.

One prompt is in flight per session, ever. The user comes first: a prompt of the client's that arrives during a round
ends the round, or waits for its end, and the next round waits for the user's turn.
"""

from __future__ import annotations

from typing import Any

from goalproxy.mappers.base import at
from goalproxy.proxy.goal import control as controls
from goalproxy.proxy.goal.changes import Change
from goalproxy.proxy.goal.command import Command, parse
from goalproxy.proxy.goal.control import ACTIONS, Control, Refusal
from goalproxy.proxy.goal.owned import OwnedGoal, Refused
from goalproxy.proxy.goal.snapshot import describe
from goalproxy.proxy.wire import acp, extension
from goalproxy.proxy.wire.envelope import load

from .actions import LoadGoal, Relay, Swallow
from .connection import Awaited, Connection
from .driver import Driver
from .events import FromClient, GoalLoaded
from .facts import CommandSeen, ControlAnswered
from .holding import answer_held, answer_open
from .replies import say
from .rounds import commit, driver_of, interrupt, start_round
from .session import Held, Session, Turn

# Prompts and commands


def on_prompt(connection: Connection, event: FromClient) -> None:
    """A prompt of the client: a command is carried out here, anything else is the agent's, when no round runs."""
    session, key = connection.sessions.get(event.envelope.session_id), event.envelope.key
    if session is None or key is None:
        connection.do(Relay())
        return
    prompt = at(load(event.line), "params", "prompt")
    command = parse(prompt)
    if command is not None:
        connection.record(CommandSeen(command.word, "proxy"))
        _command(connection, event, session, prompt, command)
        return
    driver = driver_of(connection, session)
    driver.waits_for_user = False
    if driver.round is None and not session.held:
        _pass(connection, session, event)
        return
    connection.do(Swallow())
    session.held.append(Held(key, event.envelope.id, bytes(event.line)))
    if connection.policy.on_prompt == "interrupt":
        interrupt(connection, session)


def _pass(connection: Connection, session: Session, event: FromClient) -> None:
    if event.envelope.key is not None:
        connection.awaiting[event.envelope.key] = Awaited(acp.PROMPT, session.id)
        session.turns[event.envelope.key] = Turn()
    connection.do(Relay())


def _command(connection: Connection, event: FromClient, session: Session, prompt: list[Any], command: Command) -> None:
    driver = driver_of(connection, session)
    if command.word == "status":
        say(connection, event, session, prompt, describe(driver.shown))
        return
    try:
        first, _, rest = command.objective.partition(" ")
        if command.word == "set" and first.lower() == "edit" and rest.strip():
            commit(connection, session, driver.edit(connection.now, rest.strip(), None))
        else:
            action = command.word
            apply(connection, session, Control(session.id, action, command.objective, None))
            driver.first_content = [prompt[place] for place in command.others] if action == "set" else []
    except (Refusal, Refused) as refusal:
        say(connection, event, session, prompt, str(refusal))
        return
    goal = driver.goal
    if connection.policy.turns == "held" and goal is not None and goal.status == "active":
        connection.do(Swallow())
        session.open_prompts.append(event.envelope.id)
    else:
        say(connection, event, session, prompt, "")
    start_round(connection, session)


# Controls


def on_control(connection: Connection, event: FromClient) -> None:
    """A control request of the client."""
    params = (load(event.line) or {}).get("params")
    connection.do(Swallow())
    try:
        is_alias = event.envelope.method == extension.SESSION_ALIAS
        control = controls.read_control(params, actions=ACTIONS, limit=None, update_is_set=is_alias, budgets=True)
        session = connection.visible_session(control.session_id)
        controls.check_expected(control.expected, driver_of(connection, session).shown)
        apply(connection, session, control)
    except (Refusal, Refused) as refusal:
        word = at(params, "action")
        connection.record(ControlAnswered(word if word in ACTIONS else "unknown", "invalid"))
        connection.answer_error(event.envelope.id, acp.INVALID_PARAMS, str(refusal))
        return
    connection.record(ControlAnswered(control.action, "ok"))
    connection.answer(event.envelope.id, {})
    start_round(connection, session)


def apply(connection: Connection, session: Session, control: Control) -> None:
    """Carry out a control, and publish what came of it. Raises Refusal or Refused; nothing has changed then."""
    driver, now = driver_of(connection, session), connection.now
    goal = driver.goal
    if control.action == "set":
        interrupt(connection, session)
        changes = driver.set("goal-" + connection.secret(), control.objective, now, token_budget=control.token_budget)
    elif control.action == "clear":
        interrupt(connection, session)
        changes = driver.move("clear", now) if goal is not None else []
    elif goal is None or goal.status == "complete":
        what = "complete; there is nothing" if goal else "not there; there is nothing"
        raise Refusal(f"The goal is {what} to {control.action}.")
    elif control.action == "pause":
        if goal.status == "paused":
            return
        interrupt(connection, session)
        changes = driver.move("pause", now)
    else:
        changes = _resume(driver, goal, now, control.token_budget)
    commit(connection, session, changes)


def _resume(driver: Driver, goal: OwnedGoal, now: int, token_budget: int | None) -> list[Change]:
    if goal.status == "active" and driver.armed:
        return []
    if goal.status == "limited" or token_budget is not None:
        return driver.resume_raised(now, token_budget=token_budget)
    return driver.move("resume", now)


def on_cancel(connection: Connection, event: FromClient) -> None:
    """The client stops the turn, whoever began it. Its goal pauses with it, unless the operator wants only the turn."""
    connection.do(Relay())
    session = connection.sessions.get(event.envelope.session_id)
    if session is None or session.driver is None:
        return
    driver = session.driver
    answer_held(connection, session)
    answer_open(connection, session, "cancelled")
    if driver.round is not None:
        driver.round.interrupted = driver.round.cancelled = True
    _stop_goal(connection, session, driver)


def _stop_goal(connection: Connection, session: Session, driver: Driver) -> None:
    """The turn was stopped by the user."""
    if driver.goal is None or driver.goal.status != "active":
        return
    if connection.policy.on_cancel == "pause":
        commit(connection, session, driver.move("pause", connection.now, code="cancelled"))
    else:
        driver.waits_for_user = True


def take_back(connection: Connection, ident: Any) -> bool:
    """The client takes back a request that is not the agent's under this id; False if there is no such request."""
    for session in list(connection.sessions.values()):
        held = next((prompt for prompt in session.held if _same(prompt.id, ident)), None)
        is_open = any(_same(opened, ident) for opened in session.open_prompts)
        if held is None and not is_open:
            continue
        connection.do(Swallow())
        connection.answer_error(ident, acp.REQUEST_CANCELLED, "The request was cancelled.")
        session.held = [prompt for prompt in session.held if prompt is not held]
        session.open_prompts = [opened for opened in session.open_prompts if not _same(opened, ident)]
        if is_open and session.driver is not None:
            answer_open(connection, session, "cancelled")
            interrupt(connection, session)
            _stop_goal(connection, session, session.driver)
        start_round(connection, session)
        return True
    return False


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


# Sessions


def on_opened(connection: Connection, session: Session, method: str, *, preserve: bool) -> None:
    """The client knows the session: a new one and a fork begin without a goal, another may have one in the store."""
    driver = driver_of(connection, session)
    driver.forget_publication()
    if method in (acp.NEW, acp.FORK) or driver.goal is not None:
        connection.publish(session)
        start_round(connection, session)
    else:
        connection.do(LoadGoal(session.id, preserve))


def on_loaded(connection: Connection, event: GoalLoaded) -> None:
    """What the store has for a session that was opened again."""
    session = connection.sessions.get(event.session_id)
    if session is None:
        return
    driver = driver_of(connection, session)
    if driver.goal is None:
        session.stored = event.goal
        commit(connection, session, driver.restore(event.goal, connection.now, armed=event.armed))
    start_round(connection, session)
