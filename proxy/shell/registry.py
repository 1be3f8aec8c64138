"""Where the sidecars of a host leave their numbers: a directory with one file for each, and the totals of those gone.

A sidecar keeps its metrics in a file that is mapped into memory, so they are there for others at any time, whatever
becomes of it, and nobody has to ask it. It holds a lock on the file for as long as it lives; the kernel lets go of the
lock, however it ends. ``<pid>-<random>.series`` is such a file, and beside it is the socket of the admin server,
``<pid>-<random>.sock``. ``.lock`` orders those who move numbers from files into ``totals`` and those who read both.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from goalproxy.metrics.series import SeriesTable

from .listeners import bind_path

SUFFIX: Final = ".series"
SOCKET: Final = ".sock"
OFF: Final = "off"


class Unusable(Exception):
    """A directory that cannot be used; the text is a clause that says why."""


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's own directory, on this host and until its next start."""
    base = environment.get("XDG_RUNTIME_DIR")
    return Path(base) / "goalproxy" if base else Path(tempfile.gettempdir()) / f"goalproxy-{os.getuid()}"


class Registration:
    """The file of this process, from now until its end. Without a directory, the numbers are kept to ourselves."""

    def __init__(self, directory: Path | None) -> None:
        """Take a place in the directory, and make it if it is not there. Raises Unusable."""
        self.path: Path | None = None
        self._descriptor = -1
        if directory is None:
            self._descriptor = os.memfd_create("goalproxy")
        else:
            try:
                self._register(directory)
            except OSError as error:
                raise Unusable(error.strerror or str(error)) from error
        self.table = SeriesTable(self._memory)

    def _register(self, directory: Path) -> None:
        prepare(directory)
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        hidden = directory / f".{name}"
        self._descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = directory / (name + SUFFIX)
        hidden.rename(self.path)  # It appears with its lock held.

    def listen(self) -> socket.socket | None:
        """A socket beside the file, by which the sidecar can be asked; None where there can be none."""
        if self.path is None:
            return None
        try:
            return bind_path(self.path.with_suffix(SOCKET))
        except OSError:  # A path that is too long for a socket; everything else goes without it.
            return None

    def _memory(self, size: int) -> memoryview:
        """The file in memory, grown to so many bytes. Earlier views of it go on to be the same bytes."""
        os.ftruncate(self._descriptor, size)
        return memoryview(mmap.mmap(self._descriptor, size))


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
