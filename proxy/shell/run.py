"""What runs first: the agent, which has the longest way to go, and whatever signals come for it meanwhile."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from goalproxy.proxy.errors import Failure
from goalproxy.proxy.settings import Settings

from .process import AgentProcess, leave

if TYPE_CHECKING:
    import socket

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_LEAVING = 10.0
"""Seconds in which the proxy leaves as an agent did that ended during a drain, unless the client does not read."""


def run(command: Sequence[str], settings: Settings) -> None:
    """Run the sidecar, and end this process as the agent ended. Raises Failure; nothing runs then."""
    if settings.otlp is not None:
        from .otlp import endpoint  # noqa: PLC0415 - only where it is wanted

        endpoint(settings.otlp)
    if settings.admin is None:
        listener, process = None, AgentProcess(command)
    else:
        listener, process = _start_with_admin(settings.admin, command)
    _forward_signals(process)
    from .sidecar import serve  # noqa: PLC0415 - the agent starts while it is loaded

    leave(serve(process, command, settings, listener))


def _start_with_admin(address: str, command: Sequence[str]) -> tuple[socket.socket, AgentProcess]:
    """Take the admin server's address, and start the agent if it can be had."""
    from .listeners import bind, release  # noqa: PLC0415 - only where it is wanted

    listener = bind(address)
    try:
        return listener, AgentProcess(command)
    except Failure:
        release(listener)
        raise


def _forward_signals(process: AgentProcess) -> None:
    """Send every signal that comes on to the agent's group; one that is ignored stays so.

    Where that ends the agent, it ends the proxy too, whether or not its client reads. So does one that comes when the
    agent has ended already.

    Before the first SIGTERM is sent on, the proxy's own work is drained; a second one is sent on at once.

    The signals are blocked in every thread, and one thread takes them as they come: a handler would run in the main
    thread alone, which can be on its way into a wait that nothing interrupts.
    """
    forwarded = {number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, forwarded)
    for each in forwarded:
        signal.signal(each, signal.SIG_DFL)  # Python's own handler of SIGINT would keep that from ending the process.

    def forward() -> None:
        while True:
            number = signal.sigwait(forwarded)
            drain = process.drain
            if number == signal.SIGTERM and drain is not None and not process.ended.is_set():
                process.drain = None
                threading.Thread(target=_drain, args=(process, drain), name="drain", daemon=True).start()
            else:
                _pass_on(process, number)

    threading.Thread(target=forward, name="signals", daemon=True).start()


def _drain(process: AgentProcess, drain: Callable[[], object]) -> None:
    try:
        drain()
    finally:
        _pass_on(process, signal.SIGTERM, patience=_LEAVING)


def _pass_on(process: AgentProcess, number: int, patience: float = 0.0) -> None:
    process.signals.add(number)
    process.signal(number)
    if process.ended.is_set():
        time.sleep(patience)
        leave(-number)
