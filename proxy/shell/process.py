"""The agent's process: started in a group of its own, so that all of it can be ended; its end passed on as it was."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from goalproxy.proxy.errors import CannotStart

from .pipes import widen

_TERM_GRACE = 2.0
"""Seconds between asking what is left of the group to end, and killing it."""
_POLL = 0.02


class AgentProcess:
    """The running agent.

    ``stdin`` and ``stdout`` are the proxy's ends of its pipes. Its stderr is the proxy's own: what the agent writes
    there passes untouched, and can never fill a pipe.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the command. Raises CannotStart."""
        theirs_in, self.stdin = os.pipe()
        self.stdout, theirs_out = os.pipe()
        try:
            self._process = subprocess.Popen(command, stdin=theirs_in, stdout=theirs_out, process_group=0)
        except OSError as error:
            raise _cannot_start(command[0], error) from error
        except ValueError as error:
            raise CannotStart(f"cannot start {command[0]!r}: {error}", 126) from error
        os.close(theirs_in)
        os.close(theirs_out)
        widen(self.stdout)
        self.ended = threading.Event()
        """Set once the agent has ended."""
        self.drain: Callable[[], object] | None = None
        """What has to be done before the agent is asked to end, if there is anything."""
        self.asked = False
        """Whether the proxy itself asked the running agent to end, since its client has left."""
        self.signals: set[int] = set()
        """The signals that others sent, and that were passed on."""

    def wait(self) -> int:
        """Wait for the agent's end; the exit code, or the negative number of the signal that killed it."""
        status = self._process.wait()
        self.ended.set()
        return status

    def signal(self, number: int) -> bool:
        """Send a signal to the whole group; False if nobody is left in it."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def end_group(self) -> None:
        """End whatever is left of the group: ask, wait a little, kill."""
        self.asked |= not self.ended.is_set()
        if not self.signal(signal.SIGTERM):
            return
        deadline = time.monotonic() + _TERM_GRACE
        while time.monotonic() < deadline:
            if not self._lives():
                return
            time.sleep(_POLL)
        self.signal(signal.SIGKILL)

    def _lives(self) -> bool:
        """Whether anybody in the group still runs. In a container whose first process does not reap, the dead stay."""
        if not self.signal(0):
            return False
        states = [_state(status) for status in Path("/proc").glob("[0-9]*/stat")]
        return not states or any(group == self._process.pid and state not in "ZX" for group, state in states)


def _state(status: Path) -> tuple[int, str]:
    """The process group and the state of a process, of no group if it is gone."""
    try:
        state, _, group, *_ = status.read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0, "X"
    return int(group), state


def leave(status: int) -> None:
    """End this process as the agent ended: with its exit code, or by its signal (without a second core dump).

    Another thread than the main one can do so for signals that have no handler.
    """
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler to reset.
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


def _cannot_start(name: str, error: OSError) -> CannotStart:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return CannotStart(f"cannot start {name!r}: command not found", 127)
    return CannotStart(f"cannot start {name!r}: {error.strerror or error}", 126)
