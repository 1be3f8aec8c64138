"""The operator's check: whatever the command does, it ends in time, in bounded memory, with nothing left behind."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from goalproxy.proxy.shell.check import end_checks, run_check

LONG = 60.0
"""Seconds no test waits for."""


def fifo(directory: Path) -> int:
    """A pipe of the name ``alive``, opened for reading: it ends when the last process that holds it open is dead."""
    os.mkfifo(directory / "alive")
    return os.open(directory / "alive", os.O_RDONLY | os.O_NONBLOCK)


def wait_for_death(pipe: int) -> None:
    os.set_blocking(pipe, True)
    while os.read(pipe, 1024):
        pass
    os.close(pipe)


def test_a_command_that_succeeds_passes(tmp_path: Path) -> None:
    check = run_check("echo fine; echo really >&2", str(tmp_path), LONG)
    assert (check.passed, check.how, check.tail) == (True, "passed", "fine\nreally\n")
    assert 0 < check.seconds < LONG


@pytest.mark.parametrize("name", ["TERM", "INT", "PIPE"])
def test_a_command_gets_signals_as_any_other_program_though_the_proxy_takes_its_own_aside(
    tmp_path: Path, name: str
) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        check = run_check(f"kill -{name} $$; echo survived", str(tmp_path), LONG)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert (check.passed, check.tail) == (False, "")


@pytest.mark.parametrize(("command", "tail"), [("echo 2 tests fail; exit 3", "2 tests fail\n"), ("exit 255", "")])
def test_a_command_that_fails_does_not(tmp_path: Path, command: str, tail: str) -> None:
    assert run_check(command, str(tmp_path), LONG)[:2] == (False, tail)


def test_a_command_that_does_not_exist_says_so(tmp_path: Path) -> None:
    check = run_check("no-such-command-at-all", str(tmp_path), LONG)
    assert (check.passed, check.how) == (False, "failed")
    assert "no-such-command-at-all" in check.tail


def test_it_runs_in_the_directory_of_the_session(tmp_path: Path) -> None:
    assert run_check("pwd -P", str(tmp_path), LONG).tail.strip() == str(tmp_path.resolve())


@pytest.mark.parametrize("command", ["sleep 60", "exec sleep 60", "trap '' TERM INT HUP; sleep 60; sleep 60"])
def test_a_command_that_hangs_is_ended(tmp_path: Path, command: str) -> None:
    check = run_check(f"echo begun; {command}", str(tmp_path), 0.3)
    assert (check.passed, check.how, check.tail) == (False, "timeout", "begun\n")
    assert check.seconds < 5


def test_a_command_that_closes_its_output_is_waited_for_and_still_ended(tmp_path: Path) -> None:
    assert run_check("exec >&- 2>&-; exit 0", str(tmp_path), LONG).how == "passed"
    assert run_check("exec >&- 2>&-; exec sleep 60", str(tmp_path), 0.2).how == "timeout"


def test_a_command_that_stops_itself_is_ended(tmp_path: Path) -> None:
    assert run_check("kill -STOP $$", str(tmp_path), 0.2).how == "timeout"


def test_a_flood_is_read_to_its_end_in_little_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        check = run_check("head -c 200000000 /dev/zero | tr '\\0' x; echo; echo the end", str(tmp_path), LONG)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert check.passed
    assert check.tail.endswith("xxx\nthe end\n")
    assert len(check.tail) == 4096
    assert peak < 1_000_000


def test_a_flood_that_does_not_end_is_ended(tmp_path: Path) -> None:
    check = run_check("exec yes", str(tmp_path), 0.3)
    assert (check.how, len(check.tail)) == ("timeout", 4096)
    assert check.seconds < 5


def test_nobody_can_be_asked(tmp_path: Path) -> None:
    assert run_check("read answer || echo nobody", str(tmp_path), LONG).tail == "nobody\n"


def test_there_is_no_terminal(tmp_path: Path) -> None:
    check = run_check("echo question >/dev/tty", str(tmp_path), LONG)
    assert (check.passed, check.how) == (False, "failed")
    leader, session = run_check(
        f"echo $$; {shlex.quote(sys.executable)} -c 'import os; print(os.getsid(0))'; exit", str(tmp_path), LONG
    ).tail.split()
    assert leader == session


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM"])
def test_a_command_that_a_signal_kills_does_not_pass(tmp_path: Path, name: str) -> None:
    check = run_check(f"ulimit -c 0; echo begun; kill -{name} $$", str(tmp_path), LONG)
    assert check[:2] == (False, "begun\n")
    assert check.how == "killed"


def test_a_killed_child_of_the_command_is_a_failure(tmp_path: Path) -> None:
    assert run_check("sh -c 'kill -9 $$'", str(tmp_path), LONG)[:1] == (False,)


@pytest.mark.parametrize(("end", "how"), [("exit 0", "passed"), ("exit 1", "failed"), ("wait", "timeout")])
def test_what_is_left_behind_holds_nothing_up_and_is_killed(tmp_path: Path, end: str, how: str) -> None:
    pipe = fifo(tmp_path)
    check = run_check(f"(trap '' TERM HUP; exec 9>alive; sleep 60) & echo left; {end}", str(tmp_path), 0.5)
    assert (check.how, check.tail) == (how, "left\n")
    assert check.seconds < 5
    wait_for_death(pipe)


def test_what_leaves_the_group_and_floods_holds_nothing_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    escaped = "setsid sh -c 'echo $$ >pid; echo >ready; exec yes' & read line <ready"
    check = run_check(escaped, str(tmp_path), LONG)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert check.passed
    assert check.seconds < 5


def test_invalid_utf_8_is_shown_as_such(tmp_path: Path) -> None:
    assert run_check(r"printf 'a\377b\303'", str(tmp_path), LONG).tail == "a\ufffdb\ufffd"


@pytest.mark.parametrize("shift", range(4))
def test_the_tail_does_not_begin_within_a_character(tmp_path: Path, shift: int) -> None:
    (tmp_path / "text").write_text("🎯" * 3000 + "x" * shift)
    tail = run_check("cat text", str(tmp_path), LONG).tail
    assert tail == "🎯" * ((4096 - shift) // 4) + "x" * shift


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    check = run_check("true", str(tmp_path / "gone"), LONG)
    assert (check.passed, check.how) == (False, "cannot_start")
    assert "gone" in check.tail


def test_a_command_no_shell_can_be_given(tmp_path: Path) -> None:
    assert run_check("true\0false", str(tmp_path), LONG).how == "cannot_start"


def test_the_end_of_the_program_ends_what_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(run_check("echo >ready; sleep 60", str(tmp_path), LONG).how))
    thread.start()
    (tmp_path / "ready").read_text()
    end_checks()
    thread.join(LONG)
    assert found == ["killed"]


def test_many_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    found: dict[int, str] = {}

    def check(number: int) -> None:
        found[number] = run_check(f"echo {number}; exit $(({number} % 2))", str(tmp_path), LONG).how

    threads = [threading.Thread(target=check, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert found == {number: "failed" if number % 2 else "passed" for number in range(16)}
