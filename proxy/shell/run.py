"""The sidecar on stdio: wiring, signals, and the end.

Without the proxy, an agent sees its client's end of input, its signals and its closed pipe, and the client sees the
agent's end. With the proxy they see the same.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Sequence

from goalproxy.mappers import KINDS, choose, kind_of, wants_air
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.settings import Settings

from .agent_version import version_of
from .log import Log, complain
from .outlet import Outlet
from .pipes import widen
from .process import AgentProcess, leave
from .relay import Relay

_STDIN, _STDOUT = 0, 1
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_CLIENT_GONE_GRACE = 2.0
"""Seconds an agent has to end by itself once its client is gone for good, input and output."""
_LAST_WORDS = 1.0
"""Seconds to read what a process outside the agent's group may still write to the agent's output."""


def run(command: Sequence[str], settings: Settings) -> None:
    """Run the sidecar, and end this process as the agent ended. Raises Failure; nothing runs then."""
    listener = None
    if settings.admin is not None:
        from . import admin  # noqa: PLC0415 - only where it is wanted

        listener = admin.bind(settings.admin)
    process = AgentProcess(command)
    _forward_signals(process)
    widen(_STDOUT)
    log, client = Log(settings), Outlet(_STDOUT)
    relay = Relay(_engine(command, settings), client, Outlet(process.stdin), log.message if log.traces else None)
    relay.observers.append(log.fact)
    if listener is not None:
        complain(f"metrics on {admin.url(listener)}/metrics")
        observer, registry = admin.telemetry(relay.traffic)
        relay.observers.append(observer)
        admin.serve(listener, registry)
    leave(_supervise(process, relay, client))


def policy(command: Sequence[str], settings: Settings) -> Policy:
    """What the settings mean for an agent's command line."""
    kind = kind_of(command) if settings.agent_kind == "auto" else settings.agent_kind
    return Policy(settings.on_cancel, declares_air=wants_air(kind, lambda: version_of(command, KINDS[kind])))


def _engine(command: Sequence[str], settings: Settings) -> Engine:
    return Engine(policy(command, settings), choose, os.urandom(8).hex())


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


def _forward_signals(process: AgentProcess) -> None:
    """Send every signal that comes on to the agent's group; one that is ignored stays so.

    Where that ends the agent, it ends the proxy too, whether or not its client reads. So does one that comes when the
    agent has ended already.

    The signals are blocked in every thread, and one thread takes them as they come: a handler would run in the main
    thread alone, which can be on its way into a wait that nothing interrupts.
    """
    forwarded = {number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, forwarded)

    def forward() -> None:
        while True:
            number = signal.sigwait(forwarded)
            process.signals.add(number)
            process.signal(number)
            if process.ended.is_set():
                leave(-number)

    threading.Thread(target=forward, name="signals", daemon=True).start()


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
