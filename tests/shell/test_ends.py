"""How it ends: the agent and the client see of each other's end what they would see without the proxy."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from .conftest import Start
from .rig import Sidecar, Trigger, difference, now, python, shell

MIB = 1 << 20
LINE = b'{"jsonrpc":"2.0","method":"a"}\n'


def _write_for_ever(sidecar: Sidecar) -> None:
    while True:
        sidecar.input.write(LINE)


# The client ends


def test_what_the_agent_writes_after_the_clients_end_of_input_still_arrives(start: Start) -> None:
    agent = """
        import os, sys
        heard = sys.stdin.buffer.read()
        line = b'{"jsonrpc":"2.0","method":"b","params":"' + b"x" * 1000 + b'"}' + bytes([10])
        for _ in range(2000):
            os.write(1, line)
        os.write(1, b"heard %d" % len(heard))
    """
    sidecar = start(python(agent))
    sidecar.input.write(LINE * 3)
    sidecar.input.close()
    out = sidecar.output.rest()
    assert out.count(b"\n") == 2000
    assert out.endswith(b"heard %d" % (3 * len(LINE)))
    assert sidecar.wait() == 0


def test_a_client_that_reads_late_gets_all_that_the_agent_wrote_before_it_exited(start: Start) -> None:
    agent = """
        import os
        data = b"x" * (1 << 20) + bytes([10])
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
        os._exit(3)
    """
    sidecar = start(python(agent))
    assert sidecar.still_runs(1.5), "the client has not read anything yet"
    assert not difference(sidecar.output.rest(), b"x" * MIB + b"\n")
    assert sidecar.wait() == 3


def test_an_agent_that_ignores_the_end_of_input_lives_on_while_the_client_reads(start: Start, trigger: Trigger) -> None:
    agent = """
        import os, sys
        sys.stdin.buffer.read()
        os.write(1, b"end of input" + bytes([10]))
        for line in open(sys.argv[1], "rb"):
            os.write(1, line)
    """
    sidecar = start(python(agent, trigger.path))
    sidecar.input.close()
    assert sidecar.output.line() == b"end of input\n"
    assert sidecar.still_runs(2.2), "longer than a client that is gone for good is waited for"
    trigger.send(b"still here\n")
    assert sidecar.output.line() == b"still here\n"
    trigger.close()
    assert sidecar.wait() == 0


def test_a_dead_client_ends_even_an_agent_that_ignores_its_end_and_sigterm(start: Start) -> None:
    agent = """
        import os, signal, sys
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.write(1, b"ready" + bytes([10]))
        sys.stdin.buffer.read()
        while True:
            signal.pause()
    """
    sidecar = start(python(agent))
    sidecar.output.line()
    sidecar.input.close()
    sidecar.output.close()
    began = now()
    assert sidecar.wait() == -signal.SIGKILL
    assert now() - began < 10


def test_an_agent_whose_client_reads_no_more_is_told_when_it_writes(start: Start) -> None:
    agent = """
        import os, sys
        os.write(1, b"ready" + bytes([10]))
        try:
            while True:
                os.write(1, b"x" * 1000 + bytes([10]))
        except BrokenPipeError:
            os.write(2, b"broken pipe" + bytes([10]))
            sys.exit(5)
    """
    sidecar = start(python(agent))
    assert sidecar.output.line() == b"ready\n"
    sidecar.output.close()
    assert sidecar.errors.line() == b"broken pipe\n"
    assert sidecar.wait() == 5, "although the client still holds the proxy's stdin open"


def test_an_agent_that_only_reads_is_not_disturbed_by_a_client_that_reads_no_more(start: Start) -> None:
    agent = """
        import os, sys
        os.write(1, b"ready" + bytes([10]))
        os.write(2, b"read %d bytes" % len(sys.stdin.buffer.read()) + bytes([10]))
    """
    sidecar = start(python(agent))
    assert sidecar.output.line() == b"ready\n"
    sidecar.output.close()
    sidecar.input.write(LINE * 1000)
    sidecar.input.close()
    assert sidecar.errors.line() == b"read %d bytes\n" % (1000 * len(LINE))
    assert sidecar.wait() == 0


def test_an_agent_whose_proxy_is_killed_reads_the_end_of_its_input(start: Start) -> None:
    agent = """
        import os, sys
        os.write(1, b"ready" + bytes([10]))
        sys.stdin.buffer.read()
        os.write(2, b"end of input" + bytes([10]))
    """
    sidecar = start(python(agent))
    sidecar.output.line()
    sidecar.signal(signal.SIGKILL)
    assert sidecar.errors.line() == b"end of input\n"
    assert sidecar.wait() == -signal.SIGKILL


# The agent ends


@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_agents_exit_code_is_passed_on(start: Start, code: int) -> None:
    sidecar = start(shell(f"exit {code}"))
    assert sidecar.wait() == code, "although the client has not ended its input"
    assert sidecar.output.rest() == b""
    assert sidecar.errors.rest() == b""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGINT"])
def test_an_agent_that_dies_by_a_signal_takes_the_proxy_with_it_by_the_same(start: Start, name: str) -> None:
    sidecar = start(shell(f"kill -{name.removeprefix('SIG')} $$"))
    assert sidecar.wait() == -getattr(signal, name)


def test_the_client_reads_the_end_when_the_agent_has_ended(start: Start) -> None:
    sidecar = start(shell("echo last words"))
    assert sidecar.output.line() == b"last words\n"
    assert sidecar.output.line() == b""
    assert sidecar.wait() == 0


def test_a_client_that_writes_to_an_agent_that_has_closed_its_stdin_is_told_and_reads_on(
    start: Start, trigger: Trigger
) -> None:
    sidecar = start(shell('exec 0<&-; echo ready; exec cat "$1"', trigger.path))
    assert sidecar.output.line() == b"ready\n"
    with pytest.raises(BrokenPipeError):
        _write_for_ever(sidecar)
    trigger.send(LINE * 3)
    assert sidecar.output.exactly(len(LINE) * 3) == LINE * 3
    trigger.close()
    assert sidecar.output.rest() == b""
    assert sidecar.wait() == 0


def test_an_agent_that_closes_its_stdout_may_go_on_reading(start: Start) -> None:
    agent = """
        import os, sys
        os.write(1, b"last word" + bytes([10]))
        os.close(1)
        os.write(2, b"read %d bytes" % len(sys.stdin.buffer.read()) + bytes([10]))
        os._exit(4)
    """
    sidecar = start(python(agent))
    assert sidecar.output.line() == b"last word\n"
    sidecar.input.write(LINE * 1000)
    sidecar.input.close()
    assert sidecar.errors.line() == b"read %d bytes\n" % (1000 * len(LINE))
    assert sidecar.wait() == 4


# What the agent has started


def test_a_child_of_the_agent_that_outlives_it_is_ended(start: Start) -> None:
    sidecar = start(shell("sleep 1000 & echo started; exit 3"))
    assert sidecar.output.rest() == b"started\n"
    assert sidecar.wait() == 3
    assert sidecar.errors.rest() == b"", "the end of stderr: nobody holds it any more"


def test_a_child_of_the_agent_that_ignores_sigterm_is_ended(start: Start) -> None:
    child = """
        import os, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"ready" + bytes([10]))
        while True:
            signal.pause()
    """
    sidecar = start(shell('"$@" & read line; exit 3', *python(child)))
    assert sidecar.output.line() == b"ready\n"
    sidecar.input.write(b"exit\n")
    assert sidecar.wait() == 3
    assert sidecar.errors.rest() == b"", "the end of stderr: nobody holds it any more"


def test_a_process_that_holds_the_agents_stdout_open_does_not_hold_up_the_end(start: Start, trigger: Trigger) -> None:
    agent = """
        import os, subprocess, sys
        subprocess.Popen(["cat", sys.argv[1]], stderr=subprocess.DEVNULL, start_new_session=True)
        os.write(1, LINE := b"last word" + bytes([10]))
        os._exit(6)
    """
    sidecar = start(python(agent, trigger.path))
    assert sidecar.output.line() == b"last word\n"
    assert sidecar.wait() == 6, "while a process in a session of its own still holds the agent's stdout"
    assert sidecar.output.rest() == b""


def test_nothing_is_left_of_a_wrapper_and_its_agent_when_the_client_has_gone(start: Start, tmp_path: Path) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text("echo ready; cat; sleep 1000\n")
    sidecar = start(shell('sh "$1"; exit 9', str(agent)))
    assert sidecar.output.line() == b"ready\n"
    sidecar.input.close()
    sidecar.output.close()
    assert sidecar.wait() == -signal.SIGTERM
    assert sidecar.errors.rest() == b"", "the end of stderr: nobody holds it any more"
