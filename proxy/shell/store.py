"""Where the goals that the proxy keeps itself outlive it: records, appended, each the complete state after a change.

Loaded only where such goals are kept: it brings SQLite with it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from goalproxy.proxy.goal.owned import OwnedGoal

from .database import Database, transaction

_KEPT: Final = 100
"""Records of a session that are kept, the newest."""
_ATTEMPTS: Final = 3
"""How often a file is opened for one request: it may be damaged, and another process may replace it meanwhile."""
_INSERT: Final = "INSERT INTO records (agent, session, written_at, goal) VALUES (?, ?, ?, ?)"
_PRUNE: Final = """
    DELETE FROM records WHERE agent = :agent AND session = :session AND number <= (
        SELECT number FROM records WHERE agent = :agent AND session = :session ORDER BY number DESC LIMIT 1 OFFSET :kept
    )
"""
_SELECT: Final = (
    "SELECT CAST(goal AS BLOB), written_at FROM records WHERE agent = ? AND session = ? ORDER BY number DESC"
)

_Key = tuple[bytes, bytes]
_Result = TypeVar("_Result")


class GoalStore:
    """The goals of all sessions of all agents, in one file, which any number of processes may share.

    What ``append`` returned from is on the disk. If the file fails, ``warn`` is told once, the goals are kept in
    memory, and each later request tries the file again without waiting for it; nothing is raised, for the proxy has to
    relay. ``warn`` is called under the store's lock and must not call the store.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Nothing is opened before the first request."""
        self._database = Database(path, warn)
        self._warn = warn
        self._lock = threading.Lock()
        self._unsaved: dict[_Key, tuple[int, str | None]] = {}
        """The newest record of each session whose records did not reach the file."""

    def append(self, agent: str, session_id: str, goal: OwnedGoal | None, now: int) -> None:
        """Record the state of a session's goal after a change; None if it was cleared."""
        text = None if goal is None else msgspec.json.encode(goal).decode()
        with self._lock:
            self._unsaved[_key(agent, session_id)] = (now, text)
            self._save()

    def load(self, agent: str, session_id: str) -> OwnedGoal | None:
        """The goal of a session after its newest record that can be read."""
        key = _key(agent, session_id)
        with self._lock:
            if key in self._unsaved:
                self._save()
            if key in self._unsaved:
                _, text = self._unsaved[key]
                return None if text is None else msgspec.json.decode(text, type=OwnedGoal)
            return self._attempt(lambda connection: self._newest(connection, key, session_id))

    def works(self) -> bool:
        """Whether the file can be written now."""
        with self._lock:
            return bool(self._attempt(_begin))

    def close(self) -> None:
        """Let go of the file. A later request would open it again."""
        with self._lock:
            self._database.close()

    def _attempt(self, request: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """Carry out a request on the file; None if the file fails."""
        failure: Exception = OSError("it is replaced again and again")
        for _ in range(_ATTEMPTS):
            try:
                result = request(self._database.connection())
            except (sqlite3.Error, OSError) as error:
                failure = error
                if not self._database.condemn(error):
                    break
            else:
                if self._database.is_current():
                    self._database.hurried = False
                    return result
        self._fail(failure)
        return None

    def _fail(self, error: Exception) -> None:
        if not self._database.hurried:
            self._warn(
                f"the store of goals {self._database.path} fails: {error}; until it works again, changes of goals are"
                " kept in memory only"
            )
        self._database.hurried = True

    def _save(self) -> None:
        """Append what is not in the file yet."""
        if self._attempt(self._write):
            self._unsaved.clear()

    def _write(self, connection: sqlite3.Connection) -> bool:
        with transaction(connection):
            for (agent, session), (now, text) in self._unsaved.items():
                connection.execute(_INSERT, (agent, session, now, text))
                connection.execute(_PRUNE, {"agent": agent, "session": session, "kept": _KEPT})
        return True

    def _newest(self, connection: sqlite3.Connection, key: _Key, session_id: str) -> OwnedGoal | None:
        for text, written_at in connection.execute(_SELECT, key):
            if text is None:
                return None
            try:
                return msgspec.json.decode(text, type=OwnedGoal)
            except msgspec.MsgspecError as error:
                self._warn(
                    f"a record of the goal of session {session_id!r}, written at {written_at}, cannot be read: {error};"
                    " the one before it is taken"
                )
        return None


def _begin(connection: sqlite3.Connection) -> bool:
    """Begin to write, and write nothing."""
    with transaction(connection):
        return True


def default_path() -> Path:
    """The store of a user who names none."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification has relative paths ignored.
    state = Path(base) if base.startswith(os.sep) else _home() / ".local" / "state"
    return state / "goalproxy" / "goals.sqlite"


def _home() -> Path:
    """The user's directory. Where there is none the root, in which nothing can be stored, and the store says so."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)


def _key(agent: str, session_id: str) -> _Key:
    """The name of a session in the file. A command line may hold what is not UTF-8, and so may its name."""
    return agent.encode("utf-8", "surrogatepass"), session_id.encode("utf-8", "surrogatepass")
