"""Follows the logs of agents that tell their goals there: read-only, and only while the engine wants to know.

The log of a session is ``projects/<any directory>/<session id>.jsonl`` below Claude's configuration directory; which
directory it is, nobody has to guess. While nothing is followed, no thread runs and nothing is looked at.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from goalproxy.proxy.core.actions import FollowLog, LeaveLog, ReadLog
from goalproxy.proxy.wire.tail import LogTail

_INTERVAL = 0.2
"""Seconds between two looks at the logs that are followed."""
_CHUNK = 1 << 20
_BEFORE = 256
"""Bytes before the place of reading that are compared, to see whether the log has been written anew."""
_REMEMBERED = 4096
"""Lines of interest that are known again when a log is written anew."""
_LONGEST_HISTORY = 1 << 28
"""Bytes of a log that are read for its history, from its end: a goal older than that is not found."""


class OnLines(Protocol):
    """What is called with the new lines of a session's log, on the follower's thread."""

    def __call__(self, session_id: str, lines: list[bytes], *, found: bool, history: bool) -> None:
        """Take lines; ``found`` says whether there is a log, ``history`` whether it was read from its beginning."""


class LogFollower:
    """Follows any number of logs on one thread."""

    def __init__(self, on_lines: OnLines, root: Path | None = None) -> None:
        self._on_lines = on_lines
        self._root = root
        self._logs: dict[str, _Log] = {}
        self._followed: set[str] = set()
        self._wanted: dict[str, bool] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def serve(self, action: FollowLog | ReadLog | LeaveLog) -> None:
        """Do what the engine wants."""
        if isinstance(action, FollowLog):
            self.follow(action.session_id, action.mark, history=action.history)
        elif isinstance(action, ReadLog):
            self.read(action.session_id)
        else:
            self.leave(action.session_id, forget=action.forget)

    def follow(self, session_id: str, mark: bytes, *, history: bool) -> None:
        """Begin to follow a log, or go on where it was left; ``history`` reads it from the beginning, once."""
        with self._changed:
            log = self._logs.get(session_id)
            if log is None or history:
                log = self._logs[session_id] = _Log(self._root or projects(), session_id, mark)
                if not history:
                    log.begin_at_end()
            self._followed.add(session_id)
            if history:
                self._want(session_id, history=True)
            self._wake()

    def read(self, session_id: str) -> None:
        """Look at a log now; its lines are reported even if there are none."""
        with self._changed:
            if session_id in self._logs:
                self._want(session_id, history=False)
                self._wake()

    def leave(self, session_id: str, *, forget: bool = False) -> None:
        """Do not look at a log any more; ``forget`` where it was read to, too."""
        with self._changed:
            self._followed.discard(session_id)
            if forget:
                self._wanted.pop(session_id, None)
                self._logs.pop(session_id, None)

    def _want(self, session_id: str, *, history: bool) -> None:
        self._wanted[session_id] = self._wanted.get(session_id, False) or history

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="logs", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        while True:
            for session_id, log, wanted, history in self._round():
                lines = list(log.read())
                if lines or wanted:
                    self._on_lines(session_id, lines, found=log.found, history=history)

    def _round(self) -> list[tuple[str, _Log, bool, bool]]:
        """The logs to look at: those asked for at once, those that are followed after a while."""
        with self._changed:
            if not self._followed and not self._wanted:
                self._changed.wait_for(lambda: self._followed or self._wanted)
            elif not self._wanted:
                self._changed.wait_for(lambda: bool(self._wanted), _INTERVAL)
            wanted, self._wanted = self._wanted, {}
            names = [*wanted, *(self._followed - wanted.keys())]
            return [(name, self._logs[name], name in wanted, wanted.get(name, False)) for name in names]


class _Log:
    """One session's log, found when it appears, read from where it was read to, whatever happens to it meanwhile."""

    def __init__(self, root: Path, session_id: str, mark: bytes) -> None:
        self._root = root
        self._name = f"{session_id}.jsonl"
        self._tail = LogTail(mark)
        self._path: Path | None = None
        self._file = (0, 0)
        self._read_to = 0
        self._known_to = 0
        self._seen: dict[bytes, None] = {}
        self._before = b""

    @property
    def found(self) -> bool:
        """Whether there is such a log."""
        return self._find() is not None

    def begin_at_end(self) -> None:
        """What is there already is no news. It is read all the same, to be known again if the log is written anew."""
        path = self._find()
        with contextlib.suppress(OSError):
            self._known_to = path.stat().st_size if path is not None else 0

    def read(self) -> Iterator[bytes]:
        """The new lines of interest, each once, though the log be cut short and written again."""
        path = self._find()
        if path is None:
            return
        try:
            with path.open("rb") as log:
                self._seek(log, os.fstat(log.fileno()))
                log.seek(self._read_to)
                while chunk := log.read(self._limit()):
                    yield from self._news(chunk)
        except OSError:
            self._path = None

    def _limit(self) -> int:
        """How much to read at once: not beyond the border between what is known and what is news."""
        left = self._known_to - self._read_to
        return min(_CHUNK, left) if left > 0 else _CHUNK

    def _news(self, chunk: bytes) -> list[bytes]:
        self._read_to += len(chunk)
        self._before = (self._before + chunk)[-_BEFORE:]
        new = [line for line in self._tail.feed(chunk) if self._is_new(line)]
        return new if self._read_to > self._known_to else []

    def _seek(self, log: BinaryIO, status: os.stat_result) -> None:
        file = (status.st_dev, status.st_ino)
        same = file == self._file and status.st_size >= self._read_to
        if same:
            log.seek(self._read_to - len(self._before))
            same = log.read(len(self._before)) == self._before
        if not same:
            self._before = b""
            self._known_to = self._known_to if self._file == (0, 0) else 0
            self._file = file
            self._read_to = max(0, status.st_size - _LONGEST_HISTORY)
            self._tail.restart()

    def _is_new(self, line: bytes) -> bool:
        if line in self._seen:
            return False
        self._seen[line] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    def _find(self) -> Path | None:
        if self._path is not None and self._path.exists():
            return self._path
        # A session's id is a file's name here, and must not lead anywhere else.
        safe = os.sep not in self._name and "\0" not in self._name
        try:
            named = self._root.glob(f"*/{_literal(self._name)}") if safe else iter(())
            self._path = next((path for path in named if path.exists()), None)
        except (OSError, ValueError):
            self._path = None
        return self._path


def projects() -> Path:
    """Where Claude keeps its logs."""
    base = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(base) if base else Path.home() / ".claude") / "projects"


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
