"""What an operator can ask of a running sidecar, and tell it, by whatever way."""

from __future__ import annotations

import threading
from typing import Literal

from msgspec import Struct

from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import Drain
from goalproxy.proxy.core.views import GoalView

from .clock import now
from .goal_services import GoalServices
from .log import LEVELS, Log
from .process import AgentProcess
from .relay import Relay

_LAST_GRACE = 2.0
"""Seconds that an agent has to answer a round that is cancelled at the end of a drain."""
_ALIVE_WITHIN = 1.0
"""Seconds within which a relay that lives lets somebody ask it something."""


class Readiness(Struct, frozen=True):
    """Whether the sidecar can do its work, and what for if not."""

    ready: bool
    agent: Literal["starting", "initialized", "ended"]
    store: Literal["works", "fails", "not needed"]
    draining: bool


class Operator:
    """Asks and tells one sidecar. Any method may be called from any thread."""

    def __init__(
        self, relay: Relay, process: AgentProcess, services: GoalServices, log: Log, drain_seconds: float
    ) -> None:
        self._drain_seconds = drain_seconds
        self._relay = relay
        self._process = process
        self._services = services
        self._log = log
        self._draining = threading.Event()

    def lives(self) -> bool:
        """Whether messages can pass."""
        return self._relay.lives(_ALIVE_WITHIN)

    def readiness(self) -> Readiness:
        """Whether the agent has been introduced, goals can be stored if they have to be, and nothing is at its end."""
        introduced, keeps_goals = self._relay.ask(lambda engine: (engine.is_introduced, engine.keeps_goals))
        agent: Literal["starting", "initialized", "ended"] = "initialized" if introduced else "starting"
        if self._process.ended.is_set():
            agent = "ended"
        store: Literal["works", "fails", "not needed"] = "not needed"
        if keeps_goals:
            store = "works" if self._services.store_works() else "fails"
        draining = self._draining.is_set()
        return Readiness(agent == "initialized" and store != "fails" and not draining, agent, store, draining)

    def goals(self) -> list[GoalView]:
        """The goals of all sessions."""
        return self._relay.ask(Engine.goals)

    @property
    def level(self) -> str:
        """The level from which on log lines are written."""
        return self._log.level

    def set_level(self, level: str) -> None:
        """Write log lines from another level on. Raises ValueError for a word that is none."""
        if level not in LEVELS:
            raise ValueError(f"the log level must be one of {', '.join(LEVELS)}, not {level!r}")
        self._log.set_level(level)
        self._relay.trace = self._log.message if self._log.traces else None

    def drain(self, seconds: float | None = None) -> bool:
        """Let no round begin any more, and wait until none runs; after so many seconds they are cancelled.

        Without a time, it is that of the settings. A relay that does not answer is not waited for.
        Returns whether nothing of the proxy's own runs any more.
        """
        self._draining.set()
        self._tell(Drain(at_once=False, now=now()))
        if not self.lives():
            return False
        patience = self._drain_seconds if seconds is None else seconds
        if self._relay.drained.wait(min(patience, threading.TIMEOUT_MAX)):
            return True
        self._tell(Drain(at_once=True, now=now()))
        return self._relay.drained.wait(_LAST_GRACE)

    def _tell(self, event: Drain) -> None:
        """Tell the engine, which may take longer than there is: a peer that does not read can hold the relay up."""
        threading.Thread(target=self._relay.take, args=(event,), name="drain", daemon=True).start()
