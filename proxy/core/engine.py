"""The engine: which decision belongs to which event.

    shell:  engine.concerns_client(envelope) ? engine.handle(FromClient(...)) : relay
            engine.concerns_agent(envelope) or engine.mark in line ? engine.handle(FromAgent(...)) : relay

``handle`` is called by one thread at a time, and its actions are performed in order before the next call. The others
may be called by any thread at any time: they read what a message of the same direction cannot change, or
what ``handle`` had written before the message they look at could exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from goalproxy.mappers.base import Agent, Mapper
from goalproxy.proxy.wire import acp
from goalproxy.proxy.wire.envelope import Envelope
from goalproxy.proxy.wire.extension import CONTROL_METHODS

from . import (
    commands,
    controls,
    cost,
    draining,
    emulation,
    goal_tools,
    handshake,
    lifecycle,
    logs,
    permissions,
    prompts,
    rounds,
    silence,
    standing,
    turns,
    updates,
)
from .actions import Action
from .air import MARK, forward
from .connection import Awaited, Connection, Policy
from .events import (
    AgentGone,
    CheckDone,
    Drain,
    Event,
    FromAgent,
    FromClient,
    GoalLoaded,
    LogRead,
    TimerFired,
    ToolCalled,
    ToolsListed,
)
from .facts import AgentEnded
from .session import PendingControl, Question, WaitingRound
from .views import GoalView, views

_Handler = Callable[[Connection, FromClient], None]

_CLIENT: Final[dict[str, _Handler]] = {
    acp.INITIALIZE: handshake.on_request,
    acp.PROMPT: prompts.on_prompt,
    acp.STEERING: prompts.on_steering,
    acp.CANCEL: prompts.on_cancel,
    acp.CANCEL_REQUEST: controls.on_cancel_request,
    **dict.fromkeys(acp.OPENING, lifecycle.on_opening),
    **dict.fromkeys(acp.ENDING, lifecycle.on_ending),
    **dict.fromkeys(CONTROL_METHODS, controls.on_control),
}
_UPDATES: Final = frozenset({acp.SESSION_INFO, acp.STATE, acp.COMMANDS, acp.USAGE})


class Engine:
    """All decisions about one connection.

    ``choose`` picks the mapper of an agent, ``token`` is random text that tells this proxy's ids from everybody else's,
    ``secret`` makes random text that nobody can guess.
    """

    def __init__(
        self, policy: Policy, choose: Callable[[Agent], Mapper], token: str, secret: Callable[[], str]
    ) -> None:
        self._connection = Connection(policy, choose, token, secret)
        self._kinds: frozenset[str] = _UPDATES
        self._notifications: frozenset[str] = frozenset()

    def concerns_client(self, envelope: Envelope) -> bool:
        """Whether a message of the client has to be handled; everything else is relayed."""
        return envelope.method in _CLIENT

    def concerns_agent(self, envelope: Envelope) -> bool:
        """Whether a message of the agent has to be handled; everything else is relayed, unless ``mark`` is in it."""
        if not envelope.method:
            return envelope.key in self._connection.awaiting
        if envelope.method != acp.UPDATE:
            return envelope.method in self._notifications
        kind = envelope.update
        return kind in self._kinds or (self._connection.rounds > 0 and kind in rounds.ROUND_KINDS)

    @property
    def mark(self) -> bytes | None:
        """Text that makes any message of the agent one that has to be handled."""
        if self._connection.strips_air:
            return MARK
        return self._connection.mapper.mark if self._connection.mapper is not None else None

    def handle(self, event: Event) -> list[Action]:
        """Decide about one event; the actions are to be performed in order."""
        connection = self._connection
        connection.now, connection.actions = event.now, []
        if isinstance(event, FromClient | FromAgent):
            connection.came = event.line
        if isinstance(event, FromClient):
            _CLIENT[event.envelope.method](connection, event)
        elif isinstance(event, FromAgent):
            known = connection.mapper
            _from_agent(connection, event)
            if connection.mapper is not None and connection.mapper is not known:
                self._listen(connection.mapper)
        else:
            _ELSEWHERE[type(event)](connection, event)
        standing.tell(connection)
        draining.tell(connection)
        return connection.actions

    def _listen(self, mapper: Mapper) -> None:
        """The agent has said who it is, and so what of it has to be handled."""
        self._kinds = _UPDATES | mapper.update_kinds
        self._notifications = frozenset({acp.PERMISSION}) if self._connection.emulates else mapper.notifications

    def goals(self) -> list[GoalView]:
        """The goals of all sessions, for somebody who asks; to be called as ``handle`` is."""
        return views(self._connection)

    @property
    def is_introduced(self) -> bool:
        """Whether the agent has said who it is."""
        return self._connection.mapper is not None

    @property
    def keeps_goals(self) -> bool:
        """Whether the proxy keeps the goals of this agent."""
        return self._connection.emulates


def _on_agent_gone(connection: Connection, _event: AgentGone) -> None:
    controls.on_agent_gone(connection)
    for ident in list(connection.sessions):
        lifecycle.end(connection, ident)
    connection.record(AgentEnded())


def _on_listed(connection: Connection, event: ToolsListed) -> None:
    connection.note_listed(event.token)


def _from_agent(connection: Connection, event: FromAgent) -> None:
    envelope = event.envelope
    if not envelope.method:
        _on_response(connection, event)
    elif envelope.method == acp.PERMISSION and connection.emulates:
        permissions.on_permission(connection, event)
    elif envelope.method != acp.UPDATE:
        updates.on_notification(connection, event) if _is_read(connection, envelope) else forward(
            connection, event.line
        )
    else:
        _on_update(connection, event)


def _on_update(connection: Connection, event: FromAgent) -> None:
    envelope = event.envelope
    if envelope.update == acp.USAGE:
        cost.on_usage(connection, event)
    if envelope.update == acp.COMMANDS:
        session = lifecycle.early(connection, envelope.session_id)
        commands.on_commands(connection, event, session)
    elif connection.emulates:
        rounds.on_update(connection, event)
    elif envelope.update == acp.USAGE and not _is_read_for_more(connection, event):
        forward(connection, event.line)
    else:
        updates.on_update(connection, event)


def _is_read_for_more(connection: Connection, event: FromAgent) -> bool:
    """Whether the agent's goals have to be read from an update that tells of usage, beside the cost."""
    mapper = connection.mapper
    if mapper is None:
        return False
    return acp.USAGE in mapper.update_kinds or (mapper.mark is not None and mapper.mark in event.line)


def _is_read(connection: Connection, envelope: Envelope) -> bool:
    return connection.mapper is not None and envelope.method in connection.mapper.notifications


def _on_response(connection: Connection, event: FromAgent) -> None:
    key = event.envelope.key
    awaited = connection.awaiting.pop(key, None) if key is not None else None
    if isinstance(awaited, PendingControl):
        controls.on_response(connection, event, awaited)
    elif isinstance(awaited, WaitingRound):
        rounds.on_round_response(connection, event, awaited)
    elif isinstance(awaited, Question):
        lifecycle.on_answer(connection, event, awaited)
    elif isinstance(awaited, Awaited):
        _on_awaited(connection, event, awaited)
    else:
        forward(connection, event.line)


def _on_awaited(connection: Connection, event: FromAgent, awaited: Awaited) -> None:
    if awaited.method == acp.INITIALIZE:
        handshake.on_response(connection, event)
    elif awaited.method == acp.PROMPT:
        turns.on_prompt_response(connection, event, awaited)
    elif awaited.method in acp.OPENING:
        lifecycle.on_opened(connection, event, awaited)
    else:
        lifecycle.on_ended(connection, event, awaited)


def _on_timer(connection: Connection, event: TimerFired) -> None:
    key = event.key
    if key.startswith(controls.CONTROL_TIMER):
        controls.on_timer(connection, key.removeprefix(controls.CONTROL_TIMER))
    elif key.startswith(controls.INTENT_TIMER):
        controls.on_intent_timer(connection, key.removeprefix(controls.INTENT_TIMER))
    elif key.startswith(controls.LOG_TIMER):
        controls.on_log_timer(connection, key.removeprefix(controls.LOG_TIMER))
    elif key.startswith(rounds.ROUND_TIMER):
        rounds.on_timer(connection, key.removeprefix(rounds.ROUND_TIMER))
    elif key.startswith(silence.SILENCE_TIMER):
        silence.on_timer(connection, key.removeprefix(silence.SILENCE_TIMER))
    else:
        session = connection.sessions.get(key.removeprefix(lifecycle.COMMANDS_TIMER))
        if session is not None:
            commands.send_own(connection, session)


_ELSEWHERE: Final[dict[type, Callable[[Connection, Any], None]]] = {
    TimerFired: _on_timer,
    LogRead: logs.on_log,
    GoalLoaded: emulation.on_loaded,
    CheckDone: rounds.on_check_done,
    ToolsListed: _on_listed,
    ToolCalled: goal_tools.on_call,
    Drain: draining.on_drain,
    AgentGone: _on_agent_gone,
}
"""What to do about what comes from neither peer."""
