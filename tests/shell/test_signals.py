"""Signals to goalproxy are signals to the agent, and to every process in its group."""

from __future__ import annotations

import signal

import pytest

from .conftest import Start
from .rig import Sidecar, python, shell

_TELLS = """
    # Say which signal came first, then die by it.
    import os, signal
    awaited = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    os.write(1, b"ready" + bytes([10]))
    number = signal.sigwait(awaited)
    os.write(2, b"got %d" % number + bytes([10]))
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
    os.kill(os.getpid(), number)
    signal.pause()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGQUIT", "SIGUSR1"])
def test_a_signal_reaches_the_agent_and_the_proxy_dies_as_the_agent_dies(start: Start, name: str) -> None:
    number = getattr(signal, name)
    sidecar = start(python(_TELLS))
    sidecar.output.line()
    sidecar.signal(number)
    assert sidecar.errors.line() == b"got %d\n" % number
    assert sidecar.wait() == -number


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_reaches_an_agent_behind_a_wrapper(start: Start, name: str) -> None:
    number = getattr(signal, name)
    sidecar = start(shell('"$@"; exit 9', *python(_TELLS)))
    sidecar.output.line()
    sidecar.signal(number)
    assert sidecar.errors.line() == b"got %d\n" % number
    assert sidecar.wait() == -number
    assert sidecar.errors.rest() == b"", "the end of stderr: nobody holds it any more"


def test_an_agent_that_ends_orderly_on_sigterm_has_its_last_words_and_its_exit_code_passed_on(start: Start) -> None:
    agent = """
        import os, signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.write(1, b"ready" + bytes([10]))
        signal.sigwait({signal.SIGTERM})
        os.write(1, b"saved" + bytes([10]))
        os._exit(8)
    """
    sidecar = start(python(agent))
    assert sidecar.output.line() == b"ready\n"
    sidecar.signal(signal.SIGTERM)
    assert sidecar.output.rest() == b"saved\n"
    assert sidecar.wait() == 8


def test_a_signal_ends_an_agent_and_its_proxy_although_the_client_does_not_read(start: Start) -> None:
    agent = """
        import os, select
        while select.select([], [1], [], 0.5)[1]:
            os.write(1, b"x" * 100 + bytes([10]))
        os.write(2, b"full" + bytes([10]))
        while True:
            os.write(1, b"x" * 100 + bytes([10]))
    """
    sidecar = start(python(agent))
    assert sidecar.errors.line() == b"full\n"
    sidecar.signal(signal.SIGTERM)
    assert sidecar.wait() == -signal.SIGTERM


def test_an_agent_may_survive_a_signal_and_the_session_goes_on(start: Start) -> None:
    agent = """
        import os, signal, sys
        signal.signal(signal.SIGINT, lambda *_: os.write(2, b"not now" + bytes([10])))
        os.write(1, b"ready" + bytes([10]))
        while line := os.read(0, 1000):
            os.write(1, line)
    """
    sidecar = start(python(agent))
    assert sidecar.output.line() == b"ready\n"
    sidecar.signal(signal.SIGINT)
    assert sidecar.errors.line() == b"not now\n"
    _assert_echoes(sidecar)
    assert sidecar.finish() == 0


@pytest.mark.parametrize("name", ["HUP", "INT"])
def test_a_signal_that_is_ignored_from_the_start_stays_ignored(start: Start, name: str) -> None:
    """``nohup`` ignores SIGHUP, a shell ignores SIGINT for what it runs in the background."""
    agent = """
        import os, signal, sys
        number = signal.Signals["SIG" + sys.argv[1]]
        os.write(1, b"ignored" if signal.getsignal(number) == signal.SIG_IGN else b"not ignored")
        os.write(1, bytes([10]))
        signal.signal(number, lambda *_: os._exit(9))
        while line := os.read(0, 1000):
            os.write(1, line)
    """
    sidecar = start(python(agent, name), through=f"trap '' {name}; exec \"$@\"")
    assert sidecar.output.line() == b"ignored\n", "as without the proxy"
    _assert_echoes(sidecar)
    sidecar.signal(getattr(signal, f"SIG{name}"))
    _assert_echoes(sidecar)
    assert sidecar.finish() == 0, "the signal was not passed on to an agent that would have ended by it"


def _assert_echoes(sidecar: Sidecar) -> None:
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"a"}\n')
    assert sidecar.output.line() == b'{"jsonrpc":"2.0","method":"a"}\n'


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_the_proxy_whose_agent_has_ended_and_whose_client_does_not_read(start: Start, name: str) -> None:
    agent = """
        import os, select
        while select.select([], [1], [], 0.5)[1]:
            os.write(1, b"x" * 100 + bytes([10]))
        os.write(2, b"full" + bytes([10]))
    """
    sidecar = start(python(agent))
    assert sidecar.errors.line() == b"full\n"
    assert sidecar.still_runs(0.5), "the client may still read"
    number = signal.Signals[name]
    sidecar.signal(number)
    assert sidecar.wait() == -number
    assert sidecar.errors.rest() == b""
