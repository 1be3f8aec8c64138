"""An ACP client on stdio for tests: it starts a command that speaks ACP, sends, and records everything that comes.

It is a plain client on purpose: it declares nothing about goals, so what reaches it is what any editor gets. Questions
of the agent are answered at once (permission: the first option; anything else: method not found).
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from .traffic import Entry, Json, Source, Traffic

GRACE: Final = 15.0
"""Seconds the command gets to exit after its input has ended, and again after SIGTERM."""


class LeftoverError(Exception):
    """A process has outlived the command that started it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request. `index` is its place in the traffic; one of result and error is None."""

    index: int
    result: Json | None
    error: Json | None


class Call:
    """A request that was sent. Its reply may be long in coming."""

    def __init__(self, traffic: Traffic, number: int, method: str, sent: int) -> None:
        """Remember request `number`, sent at index `sent` of the traffic."""
        self.number = number
        self.method = method
        self.sent = sent
        self._traffic = traffic

    def _answers(self, entry: Entry) -> bool:
        message = entry.message
        return entry.source is Source.AGENT and "method" not in message and message.get("id") == self.number

    @property
    def answered(self) -> bool:
        """Whether the reply is there."""
        return any(self._answers(entry) for entry in self._traffic.entries[self.sent :])

    def reply(self) -> Reply:
        """Wait for the reply."""
        entry = self._traffic.wait(f"the reply to {self.method} (id {self.number})", self._answers, self.sent)
        return Reply(entry.index, entry.message.get("result"), entry.message.get("error"))


class Client:
    """Starts a command and talks to it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path, traffic: Traffic) -> None:
        """Start the command in `cwd` with exactly this environment."""
        self.traffic = traffic
        self._command = list(command)
        self._env = dict(env)
        self._cwd = cwd
        self._number = 0
        self._sending = threading.Lock()
        self._start()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of the command."""
        return self._process

    def _start(self) -> None:
        self.traffic.begin()
        self.traffic.note(f"start: {' '.join(self._command)}")
        self._process = subprocess.Popen(
            self._command, env=self._env, cwd=self._cwd, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout,), name="standard output", daemon=True),
            threading.Thread(
                target=self._read_stderr, args=(self._process.stderr,), name="standard error", daemon=True
            ),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                self.traffic.add(Source.AGENT, {"not a message": line.decode("utf-8", "replace")})
                continue
            self.traffic.add(Source.AGENT, message)
            if "method" in message and "id" in message:
                self._answer(message)
        self.traffic.end("the agent has closed its output")

    def _read_stderr(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.traffic.add(Source.STDERR, {"line": line.decode("utf-8", "replace").rstrip()})

    def _answer(self, question: Json) -> None:
        if question["method"] == "session/request_permission":
            option = question["params"]["options"][0]["optionId"]
            self.send({"id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}})
        else:
            self.send({"id": question["id"], "error": {"code": -32601, "message": "Method not found"}})

    def send(self, message: Json) -> Entry:
        """Send one message and record it first, so that no reply can come before its request in the traffic."""
        whole = {"jsonrpc": "2.0", **message}
        stdin = self._process.stdin
        assert stdin is not None
        with self._sending:
            entry = self.traffic.add(Source.CLIENT, whole)
            try:
                stdin.write(json.dumps(whole).encode() + b"\n")
                stdin.flush()
            except BrokenPipeError:
                self.traffic.note("the agent does not read any more")
        return entry

    def post(self, method: str, params: Any) -> Call:
        """Send a request and do not wait."""
        self._number += 1
        entry = self.send({"id": self._number, "method": method, "params": params})
        return Call(self.traffic, self._number, method, entry.index)

    def call(self, method: str, params: Any) -> Reply:
        """Send a request and wait for its reply."""
        return self.post(method, params).reply()

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def end_input(self) -> bool:
        """End the input, as an editor does when it quits; return whether the command exits because of it."""
        assert self._process.stdin is not None
        _close(self._process.stdin)
        return self._exited()

    def terminate(self) -> bool:
        """Send SIGTERM; return whether the command exits because of it. Quicker than the end of its input."""
        self._process.terminate()
        return self._exited()

    def _exited(self) -> bool:
        """Wait for the exit for as long as is decent."""
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return False
        return True

    def clean_up(self) -> None:
        """Kill what is left of all that the command started, and wait until everything it wrote is in the traffic."""
        for process in descendants(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.traffic.note("nothing was left to kill")
        self._process.wait()
        for reader in self._readers:
            reader.join(GRACE)
            if reader.is_alive():
                raise LeftoverError(f"something that {self._command[0]} started still holds its {reader.name}")
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            _close(stream)

    def start_again(self) -> None:
        """Start the same command, after what is left of the first one has been stopped."""
        self.terminate()
        self.clean_up()
        self._start()


def _close(stream: IO[bytes]) -> None:
    """Close a pipe, whose other end may be gone while something is still in its buffer."""
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text("utf-8").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def descendants(parent: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started, and so on."""
    return [each for child in children(parent) for each in (child, *descendants(child))]
