"""Prompts of the client: ordinary ones pass, ``/goal`` commands are watched, and answered here where the agent cannot.

An agent that understands ``/goal`` gets it as the client wrote it. The proxy steps in for what the agent would get
wrong: a question for the status (agents set a goal "status"), a command that would wait behind the turn it should
change, and content beside the command, which the agent would drop.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from goalproxy.mappers.base import Mapper, Request, at
from goalproxy.proxy.goal import control as controls
from goalproxy.proxy.goal.command import Command, can_hold_command, parse
from goalproxy.proxy.goal.control import Action, Control, Refusal
from goalproxy.proxy.goal.snapshot import describe
from goalproxy.proxy.wire import acp
from goalproxy.proxy.wire.envelope import load
from goalproxy.proxy.wire.splice import NotEditable, arrange

from . import emulation
from .actions import Relay, Rewrite, SetTimer, Swallow
from .commands import takes_command
from .connection import Connection
from .controls import GRACE, INTENT_TIMER, ask, send, submit
from .events import FromClient
from .facts import CommandSeen, NotRewritten
from .holding import answer_held, hold
from .replies import end_of_turn, say
from .session import Session


def on_prompt(connection: Connection, event: FromClient) -> None:
    """A prompt of the client."""
    if connection.emulates:
        emulation.on_prompt(connection, event)
        return
    mapper, session = connection.goals, _session(connection, event)
    if mapper is None or session is None or event.envelope.key is None:
        connection.do(Relay())
        return
    prompt: Any = at(load(event.line), "params", "prompt") if can_hold_command(event.line) else None
    command = _parse(mapper, prompt)
    if command is None or not _concerns(connection, mapper, session, command):
        if mapper.loses_prompts and (session.held or (session.running and not session.turns)):
            hold(connection, event, session)
        else:
            _relay(connection, event, session, None)
    elif command.word == "status":
        _seen(connection, command, "proxy")
        say(connection, event, session, prompt, describe(session.tracker.shown))
    elif _steps_in(connection, mapper, session, command):
        _seen(connection, command, "proxy")
        _carry_out(connection, event, session, prompt, command)
    elif mapper.command_stands_alone and command.others and command.word == "set" and "set" in mapper.actions:
        _seen(connection, command, "proxy")
        _work_with_content(connection, event, session, command)
    else:
        _seen(connection, command, "agent")
        _watch(connection, event, session, command)


def on_steering(connection: Connection, event: FromClient) -> None:
    """Text for the running turn. A goal command in it is a control: as text it would only be read by the model."""
    if connection.emulates:
        emulation.on_steering(connection, event)
        return
    mapper, session = connection.goals, _session(connection, event)
    command = _parse(mapper, at(load(event.line), "params", "prompt"))
    if mapper is None or session is None or command is None or command.word == "status":
        connection.do(Relay())
        return
    if command.word not in mapper.actions or command.others:
        connection.do(Relay())
        return
    _seen(connection, command, "proxy")
    connection.do(Swallow())
    reply = {"outcome": "injected" if session.busy else "startedNewTurn"}
    try:
        ask(connection, session, _control(session, command), event.envelope.id, reply)
    except Refusal as refusal:
        connection.answer_error(event.envelope.id, acp.INVALID_PARAMS, str(refusal))


def on_cancel(connection: Connection, event: FromClient) -> None:
    """The client stops the turn; its goal pauses with it, or it would start the next one."""
    if connection.emulates:
        emulation.on_cancel(connection, event)
        return
    connection.do(Relay())
    mapper, session = connection.goals, _session(connection, event)
    if mapper is None or session is None:
        return
    answer_held(connection, session)
    if connection.policy.on_cancel != "pause":
        return
    goal = session.tracker.shown
    if goal is not None and goal.status == "active" and "pause" in mapper.actions:
        send(connection, session, Control(session.id, "pause", "", None), UNSET, {})


def _parse(mapper: Mapper | None, prompt: object) -> Command | None:
    """The command in a prompt, as the agent would take it."""
    command = parse(prompt)
    return command if command is None or mapper is None else mapper.understand(command)


def _session(connection: Connection, event: FromClient) -> Session | None:
    """The session of a request; one that the client knows and the proxy does not is taken on."""
    ident = event.envelope.session_id
    if not ident or connection.goals is None:
        return None
    if ident not in connection.sessions:
        connection.session(ident).visible = True
    return connection.session(ident)


def _concerns(connection: Connection, mapper: Mapper, session: Session, command: Command) -> bool:
    """Whether a command works here at all; where it does not, it is text like any other."""
    if command.word == "status":
        return mapper.understands_command is not False
    return takes_command(connection, session) or command.word in mapper.actions


def _steps_in(connection: Connection, mapper: Mapper, session: Session, command: Command) -> bool:
    """Whether the proxy carries out a command that came as a prompt."""
    if not takes_command(connection, session) or command.word not in mapper.own_words:
        return True
    works = session.busy or mapper.may_work(session.view)
    if command.others or not works or command.word == "status":
        return False
    return isinstance(mapper.call(command.word, command.objective, session.view), Request)


def _control(session: Session, command: Command) -> Control:
    action: Action = "set" if command.word == "status" else command.word
    return Control(session.id, action, command.objective, None)


def _seen(connection: Connection, command: Command, answered_by: Any) -> None:
    connection.record(CommandSeen(command.word, answered_by))


def _relay(
    connection: Connection, event: FromClient, session: Session, generation: int | None, line: bytes | None = None
) -> None:
    if event.envelope.key is not None:
        connection.open_turn(session, event.envelope.key, generation)
    connection.do(Relay() if line is None else Rewrite(line))


def _watch(connection: Connection, event: FromClient, session: Session, command: Command) -> None:
    """The agent carries out the command; what it publishes is awaited like the answer to a control."""
    control = _control(session, command)
    line = _first(connection, event, command)
    try:
        controls.check_state(control, session.tracker.shown, known=session.tracker.known)
        controls.check_length(control.objective, connection.goals.objective_limit if connection.goals else None)
    except Refusal:
        _relay(connection, event, session, 0, line)  # the agent refuses it in its own words
        return
    generation, waits = submit(connection, session, control), session.busy
    _relay(connection, event, session, generation, line)
    if not waits:  # Behind a turn that runs, nothing is to be expected before its end.
        connection.do(SetTimer(f"{INTENT_TIMER}{generation}:{session.id}", GRACE))


def _first(connection: Connection, event: FromClient, command: Command) -> bytes | None:
    """The prompt with the command as its first block, for an agent that looks there only; None if it stands there."""
    if connection.goals is None or not connection.goals.command_stands_alone:
        return None
    text = at(load(event.line), "params", "prompt")[command.block]["text"]
    if command.block == 0 and text == text.lstrip():
        return None
    replaced = {} if text == text.lstrip() else {command.block: text.lstrip()}
    try:
        return arrange(event.line, ("params", "prompt"), (command.block, *command.others), replaced)
    except NotEditable:
        connection.record(NotRewritten(acp.PROMPT))
        return None


def _work_with_content(connection: Connection, event: FromClient, session: Session, command: Command) -> None:
    """An objective with images or resources: they go with an ordinary prompt, and the goal is set beside it."""
    try:
        controls.check_length(command.objective, connection.goals.objective_limit if connection.goals else None)
        order, replaced = (command.block, *command.others), {command.block: command.objective}
        line = arrange(event.line, ("params", "prompt"), order, replaced)
    except (Refusal, NotEditable):
        _relay(connection, event, session, 0)
        return
    _relay(connection, event, session, None, line)
    send(connection, session, _control(session, command), UNSET, {})


def _carry_out(
    connection: Connection, event: FromClient, session: Session, prompt: list[Any], command: Command
) -> None:
    """The proxy carries out the command as a control; the prompt is answered when that is."""
    try:
        ask(connection, session, _control(session, command), event.envelope.id, end_of_turn(connection))
    except Refusal as refusal:
        say(connection, event, session, prompt, str(refusal))
    else:
        connection.do(Swallow())
