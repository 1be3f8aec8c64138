"""When the agent works: by its own marks, and by the prompts of the client."""

from __future__ import annotations

from goalproxy.mappers.base import at
from goalproxy.proxy.wire.envelope import IdKey, load

from .air import forward
from .connection import Awaited, Connection
from .events import FromAgent
from .holding import release
from .logs import turn_ended
from .ownership import driver_of, meter_of
from .rounds import proceed
from .session import Session


def on_mark(connection: Connection, session: Session, *, running: bool) -> None:
    """The agent says whether it works. Work that no ordinary prompt asked for is a round of the goal."""
    began = running and not session.running
    if running:
        session.is_working()
    else:
        session.running = False
        release(connection, session)
    if began and not session.ordinary_prompt:
        connection.record_changes(session.tracker.round_started())


def on_state(connection: Connection, session: Session, state: object) -> None:
    """Version 2 says it by states. A state that nobody knows, or one that waits for the user, is not idle."""
    if state == "running":
        on_mark(connection, session, running=True)
    elif state == "idle":
        over = session.is_idle()
        on_mark(connection, session, running=False)
        for key in over:
            _end(connection, session, key)
        turn_ended(connection, session)


def on_prompt_response(connection: Connection, event: FromAgent, awaited: Awaited) -> None:
    """A prompt of the client is answered: in version 1 its turn has ended, in version 2 it was only accepted."""
    forward(connection, event.line)
    session, key = connection.sessions.get(awaited.session_id), event.envelope.key
    if session is None or key is None or key not in session.turns:
        return
    if event.envelope.failed:
        generation = session.turns.pop(key).generation
        if generation is not None and connection.log_mark is not None:
            session.lapsing.append(generation)  # An error of the model is no refusal of the goal.
        elif generation is not None:
            session.tracker.refused(generation)
    elif connection.is_v2:
        _accepted(connection, session, key)
    else:
        _end(connection, session, key)
    turn_ended(connection, session)
    if connection.emulates:
        meter_of(connection, session).pass_over(at(load(event.line), "result"))
        proceed(connection, session)
    connection.publish(session)


def _accepted(connection: Connection, session: Session, key: IdKey) -> None:
    """A prompt is accepted; its turn is over if the agent has been at work for it, and is idle."""
    turn = session.turns[key]
    turn.answered = True
    if not turn.idle:
        return
    if turn.ran:
        _end(connection, session, key)
    elif connection.emulates:
        # Agents that keep goals may have been idle after work of their own; here there was none before the prompt.
        driver_of(connection, session).let_settle(connection.now)
        _end(connection, session, key)


def _end(connection: Connection, session: Session, key: IdKey) -> None:
    generation = session.turns.pop(key).generation
    if generation is None:
        return
    if connection.log_mark is not None:
        session.lapsing.append(generation)  # The log tells; it is read as soon as the turn is over.
    else:
        connection.record_changes(session.tracker.lapsed(generation, connection.now))
