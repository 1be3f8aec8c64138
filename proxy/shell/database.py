"""The file of the store: private from its first moment, shared by several processes, set aside when it is of no use.

A file that is being opened, set aside or let go of is under a lock beside it, so that no two processes do so at once.
A process that still has a file open when another sets it aside notices, because the path leads to another file then.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

SCHEMA: Final = 1
"""The version of the tables, in ``PRAGMA user_version``."""
_APPLICATION: Final = 0x676F616C
"""Marks the file as ours, in ``PRAGMA application_id``: a database of another program is left alone."""
_TABLES: Final = (
    """
    CREATE TABLE records (
        number INTEGER PRIMARY KEY, agent BLOB NOT NULL, session BLOB NOT NULL, written_at INTEGER NOT NULL, goal TEXT
    )
    """,
    "CREATE INDEX newest ON records (agent, session, number)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)
_PROBE: Final = "SELECT number, agent, session, written_at, goal FROM records LIMIT 1"
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside the file. Left to a new file of the same name, it would be taken for its own."""
_PATIENCE: Final = 5.0
"""Seconds to wait for other processes."""
_POLL: Final = 0.005


class Unusable(sqlite3.DatabaseError):
    """A file that cannot be a store and has to make room for a new one."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class Database:
    """One connection to the file, opened when it is first needed, and again when another file has taken its place.

    ``hurried`` is for a file that has just failed: no time is lost in waiting for it again. Not thread-safe.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self.path = Path(os.path.realpath(path))
        self.hurried = False
        self._warn = warn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._condemned: str | None = None

    def connection(self) -> sqlite3.Connection:
        """The connection to the file that the path leads to now. Raises sqlite3.Error or OSError."""
        if self._connection is None or not self.is_current():
            self.close()
            with self._alone():
                self._connection = self._open_or_replace()
        connection = self._connection
        connection.execute(f"PRAGMA busy_timeout = {self._patience * 1000:.0f}")
        if _number(connection, "user_version") != SCHEMA:
            # Not set aside: a newer version that is running has just taken it over.
            raise sqlite3.DatabaseError("a newer version of goalproxy uses it")
        return connection

    def is_current(self) -> bool:
        """Whether the path still leads to the file that was opened last."""
        return self._file is not None and self._file == _identity(self.path)

    def condemn(self, error: Exception) -> bool:
        """Whether an error means that the file is damaged; it is set aside then, before it is used again."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
            return False
        self.close()
        self._condemned = str(error)
        return True

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error), contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                stack.enter_context(self._alone())
            connection.close()

    @property
    def _patience(self) -> float:
        return 0.0 if self.hurried else _PATIENCE

    def _open_or_replace(self) -> sqlite3.Connection:
        """Open the file. One that is condemned, damaged or too new makes room for another first."""
        condemned, self._condemned = self._condemned, None
        if condemned is not None and self.is_current():
            self._set_aside(Unusable("corrupt", condemned))
        try:
            return self._open()
        except Unusable as error:
            self._set_aside(error)
            return self._open()

    def _open(self) -> sqlite3.Connection:
        self._create()
        self._file = _identity(self.path)
        connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            _prepare(connection)
        except sqlite3.Error as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
                raise Unusable("corrupt", str(error)) from error
            raise
        return connection

    def _create(self) -> None:
        """Begin a file, if there is none. SQLite gives what it keeps beside the file the same mode."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise OSError("it is not a file") from None
        else:
            for companion in _COMPANIONS:
                _beside(self.path, companion).unlink(missing_ok=True)

    def _set_aside(self, error: Unusable) -> None:
        """Rename the file and what belongs to it, to the first name that is free."""
        number = 1
        while any(os.path.lexists(_beside(self.path, f".{error.kind}-{number}{end}")) for end in ("", *_COMPANIONS)):
            number += 1
        target = _beside(self.path, f".{error.kind}-{number}")
        for end in (*_COMPANIONS, ""):
            with contextlib.suppress(FileNotFoundError):
                _beside(self.path, end).rename(_beside(target, end))
        self._warn(
            f"the store of goals {self.path} cannot be used: {error}; it is now {target}, and a new one is begun"
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the file. Raises OSError, also if another process does not give it up."""
        _make_private(self.path.parent)
        lock = os.open(_beside(self.path, ".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            deadline = time.monotonic() + self._patience
            while not _locked(lock):
                if time.monotonic() >= deadline:
                    raise TimeoutError("another process holds its lock")
                time.sleep(_POLL)
            yield
        finally:
            os.close(lock)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file; make sure that they are there in any other. Raises sqlite3.Error."""
    connection.execute("PRAGMA synchronous = FULL")  # What is acknowledged survives a loss of power, too.
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    empty = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    if application not in {0, _APPLICATION} or (application == 0 and version <= SCHEMA and not empty):
        raise sqlite3.DatabaseError("it is a database of another program")
    if version > SCHEMA:
        raise Unusable("newer", f"it is of version {version}, written by a newer goalproxy; this one knows {SCHEMA}")
    if empty:
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection):
            for statement in _TABLES:
                connection.execute(statement)
    try:
        connection.execute(_PROBE).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise Unusable("corrupt", str(error)) from error
        raise


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the statements or none of them; on the disk when this returns."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; None if it leads to none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _make_private(directory: Path) -> None:
    """Make a directory and those above it for nobody else; those that exist stay as they are."""
    if directory.is_dir():
        return
    _make_private(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
