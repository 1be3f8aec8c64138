"""Where the sidecars of a host leave their numbers: a directory with one file for each, and the totals of those gone.

A sidecar keeps its metrics in a file that is mapped into memory, so they are there for others at any time, whatever
becomes of it, and nobody has to ask it. It holds a lock on the file for as long as it lives; the kernel lets go of the
lock, however it ends. ``<pid>-<random>.series`` is such a file, and beside it is the socket of the admin server,
``<pid>-<random>.sock``. ``.lock`` orders those who move numbers from files into ``totals`` and those who read both.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from goalproxy.metrics.series import SeriesTable

from .listeners import bind_path

SUFFIX: Final = ".series"
SOCKET: Final = ".sock"
LOCK: Final = ".lock"
NUMBERS: Final = re.compile(r"[0-9]{1,10}-[0-9a-f]{8}\.series")
UNFINISHED: Final = re.compile(r"\.[0-9]{1,10}-[0-9a-f]{8}")
"""The names of a sidecar's file, and of one that is not there for others yet."""
_MANY: Final = 64
"""Files in a directory from which on a sidecar tidies it up at its end, for hosts without an exporter."""
OFF: Final = "off"


class Unusable(Exception):
    """A directory that cannot be used; the text is a clause that says why."""


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's own directory, on this host and until its next start."""
    base = environment.get("XDG_RUNTIME_DIR")
    if base and _is_users(base):
        return Path(base) / "goalproxy"
    return temporary(environment) / f"goalproxy-{os.geteuid()}"


def temporary(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory for temporary files."""
    return Path(environment.get("TMPDIR") or "/tmp")  # noqa: S108 - ``prepare`` refuses what others could play with


def _is_users(base: str) -> bool:
    """Whether a directory is ours: who becomes another user may keep the variables of the one before."""
    try:
        return Path(base).stat().st_uid == os.geteuid()
    except OSError:
        return False


class Registration:
    """The file of this process, from now until its end. Without a directory, the numbers are kept to ourselves."""

    def __init__(self, directory: Path | None) -> None:
        """Take a place in the directory, and make it if it is not there. Raises Unusable."""
        self.path: Path | None = None
        self._file: int | None = None
        self._block: mmap.mmap | None = None
        if directory is None:
            self.table = SeriesTable(self._memory)
        else:
            try:
                self._register(directory)
            except OSError as error:
                raise Unusable(error.strerror or str(error)) from error

    def _register(self, directory: Path) -> None:
        prepare(directory)
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        hidden = directory / f".{name}"
        self._file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.table = SeriesTable(self._memory)
            self.path = hidden.rename(directory / (name + SUFFIX))  # It appears with its lock held, and can be read.
        except OSError:
            hidden.unlink(missing_ok=True)
            raise

    def settle(self) -> None:
        """Leave the directory tidy if there is much in it: what has ended is moved into the totals."""
        if self.path is None:
            return
        with contextlib.suppress(OSError, Unusable):  # Somebody will do it later.
            if sum(1 for _ in self.path.parent.glob(f"*{SUFFIX}")) > _MANY:
                from .ledger import fold  # noqa: PLC0415 - seldom needed

                fold(self.path.parent)

    def listen(self) -> socket.socket | None:
        """A socket beside the file, by which the sidecar can be asked; None where there can be none."""
        if self.path is None:
            return None
        try:
            return bind_path(self.path.with_suffix(SOCKET))
        except OSError:  # A path that is too long for a socket; everything else goes without it.
            return None

    def _memory(self, size: int) -> memoryview:
        """A block of so many bytes with what the one before had in it: the file as long as it can grow."""
        before = self._block
        if self._file is not None:
            try:
                os.posix_fallocate(self._file, 0, size)  # A page that the disk has no room for would kill us later.
                self._block = mmap.mmap(self._file, size)
            except OSError:
                if before is None:
                    raise
                self._file = None  # It stays open, and locked, with what it has.
            else:
                return memoryview(self._block)
        self._block = mmap.mmap(-1, size)
        self._block[: len(before or b"")] = before or b""
        return memoryview(self._block)


def prepare(directory: Path) -> None:
    """Make a directory for the user alone, unless it is there. Raises Unusable for one that others could play with."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable("it is no directory")
    if found.st_uid not in (os.geteuid(), 0):
        raise Unusable("it belongs to another user")
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise Unusable("everybody may write there, and its sticky bit is not set")
    with contextlib.suppress(PermissionError):  # In a directory of many users, it is the first one's.
        os.close(os.open(directory / LOCK, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
