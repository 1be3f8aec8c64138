"""The program under test, its streams, and the waiting.

Every wait is for an event. What does not come within ``DEADLINE`` fails the test and says what was awaited.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import pytest

DEADLINE: Final = 20.0
"""Seconds after which something is taken never to come. Far more than anything takes."""
PROGRAM: Final = (sys.executable, "-m", "goalproxy.proxy")
_CHUNK: Final = 1 << 18
_POLL: Final = 0.01
_Found = TypeVar("_Found")


def python(script: str, *words: str) -> list[str]:
    """The command of an agent that is a short Python script; ``words`` are its arguments."""
    return [sys.executable, "-I", "-S", "-c", textwrap.dedent(script), *words]


def shell(script: str, *words: str) -> list[str]:
    """The command of an agent that is a shell script; ``words`` are its arguments, from ``$1`` on."""
    return ["sh", "-c", script, "sh", *words]


def scripted(name: str, *words: str) -> list[str]:
    """The command of an agent in the folder ``agents``."""
    return [sys.executable, "-I", "-S", str(Path(__file__).parent / "agents" / f"{name}.py"), *words]


def difference(got: bytes, wanted: bytes) -> str:
    """Where two byte strings differ, in few words however long they are; empty if they do not."""
    if got == wanted:
        return ""
    place = next((at for at, (left, right) in enumerate(zip(got, wanted, strict=False)) if left != right), None)
    place = min(len(got), len(wanted)) if place is None else place
    here = slice(max(0, place - 40), place + 40)
    return f"{len(got)} bytes instead of {len(wanted)}; at {place}: {got[here]!r} instead of {wanted[here]!r}"


class Reader:
    """The reading end of a stream."""

    def __init__(self, descriptor: int, name: str) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._name = name
        self._kept = bytearray()
        self._ended = False
        self._closed = False

    def line(self) -> bytes:
        """The next line with its newline, or what is left when the stream ends; empty at its end."""
        start = 0
        while True:
            place = self._kept.find(b"\n", start)
            if place >= 0:
                return self._take(place + 1)
            start = len(self._kept)
            if not self._more("a line"):
                return self._take(len(self._kept))

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        while len(self._kept) < size:
            if not self._more(f"{size} bytes"):
                pytest.fail(f"{self._name} ended after {bytes(self._kept[-500:])!r}, before {size} bytes came")
        return self._take(size)

    def rest(self) -> bytes:
        """Everything up to the end of the stream."""
        while self._more("its end"):
            pass
        return self._take(len(self._kept))

    def until(self, text: bytes) -> bytes:
        """The next line that contains a text; lines before it are dropped."""
        while True:
            line = self.line()
            if text in line:
                return line
            if not line:
                pytest.fail(f"{self._name} ended without a line with {text!r}")

    def poll(self) -> None:
        """Keep what is there to be read now, without waiting."""
        while not self._ended and select.select([self.descriptor], [], [], 0)[0]:
            self._read()

    @property
    def pending(self) -> int:
        """The number of bytes that are kept."""
        return len(self._kept)

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        return self._ended

    def close(self) -> None:
        """Read no more: whoever writes finds that nobody reads."""
        if not self._closed:
            self._closed = self._ended = True
            os.close(self.descriptor)

    def _more(self, what: str) -> bool:
        """Wait for more bytes; False at the end of the stream."""
        if self._ended:
            return False
        if not select.select([self.descriptor], [], [], DEADLINE)[0]:
            pytest.fail(f"waited for {what} of {self._name}; the last of it is {bytes(self._kept[-500:])!r}")
        return self._read()

    def _read(self) -> bool:
        try:
            chunk = os.read(self.descriptor, _CHUNK)
        except ConnectionResetError:  # a socket whose other end closed with bytes unread
            chunk = b""
        self._kept += chunk
        self._ended = not chunk
        return bool(chunk)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._kept[:size])
        del self._kept[:size]
        return taken


class Writer:
    """The writing end of a stream."""

    def __init__(self, descriptor: int, name: str) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._name = name
        self._closed = False

    def write(self, data: bytes) -> None:
        """Write all of it, waiting while the other side does not read."""
        view = memoryview(data)
        while view:
            if not select.select([], [self.descriptor], [], DEADLINE)[1]:
                pytest.fail(f"{self._name} was not read: {len(view)} of {len(data)} bytes could not be written")
            view = view[self.offer(view) :]

    def offer(self, data: bytes | memoryview) -> int:
        """Write what fits now; the number of bytes that did."""
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0

    def fill(self, data: bytes, quiet: float = 0.3) -> int:
        """Write until nothing has fitted for ``quiet`` seconds; the number of bytes that did."""
        written = 0
        while written < len(data) and select.select([], [self.descriptor], [], quiet)[1]:
            written += self.offer(memoryview(data)[written : written + _CHUNK])
        return written

    def close(self) -> None:
        """End the stream."""
        if not self._closed:
            self._closed = True
            os.close(self.descriptor)


def exchange(writer: Writer, data: bytes, reader: Reader, size: int) -> bytes:
    """Write ``data`` and read ``size`` bytes at the same time, as a client with two threads does."""
    view = memoryview(data)
    while view or reader.pending < size:
        outputs = [writer.descriptor] if view else []
        readable, writable, _ = select.select([reader.descriptor], outputs, [], DEADLINE)
        if not readable and not writable:
            pytest.fail(f"stuck: {len(view)} bytes are not written, {reader.pending} of {size} were read")
        if writable:
            view = view[writer.offer(view[:_CHUNK]) :]
        reader.poll()
        if reader.ended and reader.pending < size:
            break  # ``exactly`` says what is missing
    return reader.exactly(size)


class Sidecar:
    """A running goalproxy, its agent, and the client's ends of the three streams.

    A stream that is given as a descriptor is the test's own; the attribute for its other end is None then.
    ``through`` is a shell script that executes "$@", for what else has to be arranged before the program starts.
    """

    def __init__(
        self,
        agent: Sequence[str],
        options: Sequence[str] = (),
        *,
        env: Mapping[str, str],
        folder: Path,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        through: str = "",
    ) -> None:
        command = [*PROGRAM, *options, "--", *agent]
        if through:
            command = shell(through, *command)
        self._process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=folder,
            start_new_session=True,
            bufsize=0,
        )
        process = self._process
        self._runtime = Path(env["XDG_RUNTIME_DIR"])
        self._input = Writer(os.dup(process.stdin.fileno()), "stdin of goalproxy") if process.stdin else None
        self._output = Reader(os.dup(process.stdout.fileno()), "stdout of goalproxy") if process.stdout else None
        assert process.stderr is not None
        self.errors = Reader(os.dup(process.stderr.fileno()), "stderr of goalproxy and its agent")
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    @property
    def registry(self) -> Path:
        """Where goalproxy leaves its numbers, if nobody says another place."""
        return self._runtime / "goalproxy"

    @property
    def pid(self) -> int:
        """The process id of goalproxy."""
        return self._process.pid

    @property
    def input(self) -> Writer:
        """The client's end of goalproxy's stdin."""
        assert self._input is not None
        return self._input

    @property
    def output(self) -> Reader:
        """The client's end of goalproxy's stdout."""
        assert self._output is not None
        return self._output

    def signal(self, number: int) -> None:
        """Send a signal to goalproxy alone."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait for the end of goalproxy: its exit code, or the negative number of the signal that killed it."""
        try:
            return self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            _fail("goalproxy does not end")

    def still_runs(self, seconds: float) -> bool:
        """Whether goalproxy has not ended after so many seconds; for what must not happen, which no event tells."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def finish(self) -> int:
        """End the input as a client does that quits, and wait for the end."""
        self.input.close()
        return self.wait()

    def peak_memory(self) -> int:
        """The most memory that goalproxy ever had, in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def close(self) -> None:
        """Leave as a client that dies, and fail if goalproxy, or anything that it started, lives on.

        What the agent starts inherits its stderr, so the end of that stream is the end of the last of them.
        """
        for end in (self._input, self._output):
            if end is not None:
                end.close()
        try:
            self.wait()
            self.errors.rest()
        finally:
            self._kill_all()
            self.errors.close()

    def _kill_all(self) -> None:
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


class Trigger:
    """A named pipe by which a test tells an agent something when the agent's stdin cannot serve for that."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "trigger")
        os.mkfifo(self.path)
        self._descriptor: int | None = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)

    def send(self, line: bytes) -> None:
        """Let the agent read something there."""
        assert self._descriptor is not None
        os.write(self._descriptor, line)

    def close(self) -> None:
        """Let the agent read the end there."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def run(words: Sequence[str], env: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run goalproxy to its end, with nothing to read."""
    try:
        return subprocess.run(
            [*PROGRAM, *words],
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _fail(f"goalproxy {' '.join(words)} does not end")


def eventually(find: Callable[[], _Found | None]) -> _Found:
    """What is found, as soon as it is there; for what no stream tells."""
    deadline = now() + DEADLINE
    while not (found := find()):
        if now() > deadline:
            _fail("it does not come")
        time.sleep(_POLL)
    return found


def now() -> float:
    """The time, for measuring how long something took."""
    return time.monotonic()


def _fail(reason: str) -> NoReturn:
    pytest.fail(reason)
