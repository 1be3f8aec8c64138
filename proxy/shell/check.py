"""The operator's check: a shell command that has to succeed before a goal counts as complete.

It may hang, flood, want a terminal or leave processes behind: it gets a time limit, a bounded memory of its output, no
terminal, and a process group that is killed at its end, however it ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Final, Literal, NamedTuple

_TAIL: Final = 4096
"""Bytes of output that are kept, the last."""
_BLOCK: Final = 1 << 16
_LAST_BLOCKS: Final = 32
"""Blocks that are read after the end: more than a pipe holds, though a process that got away may still write to it."""
_POLL: Final = 0.02
"""Seconds between two looks at whether the command has ended."""
_KILL_GRACE: Final = 2.0
"""Seconds that a killed command may take to be gone."""

_SHELL: Final = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.execv("/bin/sh", ["/bin/sh", "-c", sys.argv[1]])
"""
"""Becomes a shell that gets signals as any other program: those that the proxy blocks are so in all that it starts."""

How = Literal["passed", "failed", "timeout", "killed", "cannot_start"]


class Check(NamedTuple):
    """What came of a check: the end of its output, or why it could not be started, and how long it took."""

    passed: bool
    tail: str
    seconds: float
    how: How


def run_check(command: str, directory: str, timeout: float) -> Check:
    """Run a shell command in a directory, for at most so many seconds. Blocks; raises nothing."""
    began = time.monotonic()
    try:
        process = _start(command, directory)
    except (OSError, ValueError) as error:
        return Check(passed=False, tail=f"cannot run the check: {error}", seconds=0.0, how="cannot_start")
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    with process.stdout as pipe:
        output = _Output(pipe)
        code = _wait(process, output, began + timeout)
        _kill(process)
        output.drain()
    how = _how(code)
    return Check(passed=how == "passed", tail=output.tail(), seconds=time.monotonic() - began, how=how)


def end_checks() -> None:
    """Kill all checks that run. For the end of the program, which must leave nothing behind."""
    with _running_lock:
        for process in _running:
            _signal_group(process)


_running: set[subprocess.Popen[bytes]] = set()
_running_lock = threading.Lock()


class _Output:
    """The output of a command, of which only the end is kept."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.ended = False
        self._descriptor = pipe.fileno()
        self._kept = b""
        self._cut = False
        os.set_blocking(self._descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def read(self, seconds: float) -> bool:
        """Wait for output, at most so long, and take a block of it; False if there was none."""
        if self.ended or not self._poll.poll(seconds * 1000):
            return False
        try:
            block = os.read(self._descriptor, _BLOCK)
        except BlockingIOError:
            return False
        self.ended = not block
        self._cut = self._cut or len(self._kept) + len(block) > _TAIL
        self._kept = (self._kept + block)[-_TAIL:]
        return not self.ended

    def drain(self) -> None:
        """Take what is there already, from a pipe that may never end."""
        for _ in range(_LAST_BLOCKS):
            if not self.read(0):
                break

    def tail(self) -> str:
        """The end of the output as text, not beginning in the middle of a character."""
        text = self._kept.decode("utf-8", "replace")
        return text[:3].lstrip("\ufffd") + text[3:] if self._cut else text


def _start(command: str, directory: str) -> subprocess.Popen[bytes]:
    """Start the command as the leader of its own session, and so without a terminal. Raises OSError or ValueError."""
    with _running_lock:
        process = subprocess.Popen(
            [sys.executable, "-ISc", _SHELL, command],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        _running.add(process)
    return process


def _wait(process: subprocess.Popen[bytes], output: _Output, deadline: float) -> int | None:
    """The exit status of the command itself, whoever still holds its output open; None if its time is up."""
    while (code := process.poll()) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        if not output.ended:
            output.read(min(_POLL, left))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(left)
    return code


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the group."""
    with _running_lock:
        _running.discard(process)
        _signal_group(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_GRACE)


def _signal_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _how(code: int | None) -> How:
    if code is None:
        return "timeout"
    if code < 0:
        return "killed"
    return "passed" if code == 0 else "failed"
