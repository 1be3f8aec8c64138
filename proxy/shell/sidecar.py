"""The sidecar between a client on stdio and a running agent: wiring, and the end.

Without the proxy, an agent sees its client's end of input and its closed pipe, and the client sees the agent's end.
With the proxy they see the same.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from goalproxy.mappers import KINDS, choose, kind_of, wants_air
from goalproxy.metrics.discovery import ADMIN
from goalproxy.metrics.observer import Observer
from goalproxy.metrics.series import Values
from goalproxy.proxy.core.connection import Policy, ToolServer
from goalproxy.proxy.core.driver import Limits
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.facts import AgentExited
from goalproxy.proxy.settings import Settings
from goalproxy.proxy.version import VERSION

from . import admin
from .agent_version import version_of
from .goal_services import GoalServices
from .listeners import release, url
from .log import Log, complain
from .operator import Operator
from .outlet import Outlet
from .pipes import widen
from .process import AgentProcess
from .registry import OFF, Registration, Unusable, default_directory
from .relay import Relay
from .traffic import Traffic

_STDIN, _STDOUT = 0, 1
_CLIENT_GONE_GRACE = 2.0
"""Seconds an agent has to end by itself once its client is gone for good, input and output."""
_ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
_LAST_WORDS = 1.0
"""Seconds for what is still to be done when the agent has ended: to read what a process outside its group may write to
its output, and to have its end counted."""


def serve(process: AgentProcess, command: Sequence[str], settings: Settings, listener: socket.socket | None) -> int:
    """Relay until the agent ends; its exit status, negative for a signal. ``listener`` is the admin server's."""
    widen(_STDOUT)
    log, client = Log(settings), Outlet(_STDOUT)
    services = GoalServices(settings)
    engine = Engine(
        policy(command, settings, services.tools), choose, os.urandom(8).hex(), lambda: os.urandom(16).hex()
    )
    registration = _register(settings)
    table = registration.table
    relay = Relay(engine, client, Outlet(process.stdin), services, Traffic(table))
    services.emit = relay.take
    relay.observers += [services.observe, log.fact, Observer(table, VERSION)]
    operator = Operator(relay, process, services, log, settings.drain_timeout)
    operator.set_level(settings.log_level)
    process.drain = operator.drain
    listeners = [each for each in (listener, registration.listen()) if each is not None]
    if listener is not None:
        complain(f"metrics on {url(listener)}/metrics")
        table.note(ADMIN, url(listener))
    if listeners:
        admin.serve(listeners, table.read, operator, content=settings.log_content)
    end_pushing = _push(settings.otlp, table.read)
    status = _supervise(process, relay, client)
    relay.tell_last(AgentExited(_outcome(process, status)), _LAST_WORDS)
    services.end()
    end_pushing()
    for each in listeners:
        release(each)
    registration.settle()
    return status


def _register(settings: Settings) -> Registration:
    """A place for the numbers of this sidecar, in the directory where the exporter looks, if that can be."""
    if settings.registry == OFF:
        return Registration(None)
    directory = Path(settings.registry) if settings.registry else default_directory()
    try:
        return Registration(directory)
    except Unusable as error:
        complain(f"cannot leave metrics in {directory}: {error}")
        return Registration(None)


def _push(url: str | None, read: Callable[[], Values]) -> Callable[[], None]:
    """Push metrics from now on, if that is wanted; what is given ends it."""
    if url is None:
        return lambda: None
    from .otlp import Pusher  # noqa: PLC0415 - only where it is wanted

    return Pusher(url, read, since=time.time_ns()).end


def _outcome(process: AgentProcess, status: int) -> Literal["ended", "stopped", "failed", "killed"]:
    """How the agent ended, for who counts."""
    if status == 0:
        return "ended"
    if process.asked or process.signals & _ENDING:
        return "stopped"
    return "failed" if status > 0 else "killed"


def policy(command: Sequence[str], settings: Settings, tools: Callable[[], ToolServer] | None = None) -> Policy:
    """What the settings mean for an agent's command line."""
    kind = kind_of(command) if settings.agent_kind == "auto" else settings.agent_kind
    return Policy(
        settings.on_cancel,
        wants_air(kind, lambda: version_of(command, KINDS[kind])),
        settings.goals,
        settings.on_prompt,
        settings.turns,
        settings.check,
        Limits(
            settings.max_rounds,
            settings.token_budget,
            settings.time_budget,
            int(settings.min_interval * 1000),
            settings.blocked_after,
        ),
        tools,
    )


def _supervise(process: AgentProcess, relay: Relay, client: Outlet) -> int:
    """Relay until the agent ends; its exit status, negative for a signal."""
    threading.Thread(target=_read_client, args=(process, relay), name="client", daemon=True).start()
    reader = threading.Thread(target=relay.pump_agent, args=(process.stdout,), name="agent", daemon=True)
    reader.start()
    status = process.wait()
    process.end_group()
    reader.join(_LAST_WORDS)
    while reader.is_alive() and client.busy and -status not in process.signals:
        reader.join(_LAST_WORDS)  # The client reads late; what the agent has said is still its to read.
    return status


def _read_client(process: AgentProcess, relay: Relay) -> None:
    relay.pump_client(_STDIN)
    _wait_for_deaf_client()
    if not process.ended.wait(_CLIENT_GONE_GRACE):
        process.end_group()


def _wait_for_deaf_client() -> None:
    """Wait until nobody can read the proxy's output any more; for a file, that is never."""
    poll = select.poll()
    poll.register(_STDOUT, 0)
    while not poll.poll():
        pass
