"""An open registry directory, and the only ways in which its files are touched.

It may belong to another user: nothing in it is followed elsewhere, waited for, or believed to be of a reasonable size.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from goalproxy.metrics.series import HEAD_SIZE, Unreadable, Values, read, used

from .registry import LOCK, NUMBERS, SOCKET, SUFFIX, UNFINISHED, Unusable

_TOTALS: Final = "totals"
_NEW_TOTALS: Final = ".totals.new"
_UNFINISHED_FOR: Final = 60.0
"""Seconds after which a file that has not got its name is that of a sidecar that was killed in that moment."""
_LARGEST: Final = 4 << 20
"""Bytes of a sidecar's file."""
_LARGEST_TOTALS: Final = 64 << 20
"""More than as many series as are kept apart can take, see ``metrics/fleet.py``."""
_MOST_FILES: Final = 10_000
_MOST_BYTES: Final = 16 << 20
"""Files and bytes that are read in a directory of somebody else's."""
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_FILE: Final = (errno.ELOOP, errno.ENXIO)
"""A symbolic link, and a socket."""
_POLL: Final = 0.005


class Entry(NamedTuple):
    """The file of a sidecar. ``series`` is None if it cannot be read, and ``why`` says why not."""

    name: str
    live: bool
    series: Values | None
    why: str = ""

    @property
    def pid(self) -> int:
        """The process of the sidecar."""
        return int(self.name.partition("-")[0])


class Directory:
    """To be closed after use. Raises FileNotFoundError if there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._there = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        state = os.fstat(self._there)
        self.identity = (state.st_dev, state.st_ino)
        self.is_ours = state.st_uid == os.geteuid()
        self._bytes_left = _MOST_BYTES

    def close(self) -> None:
        """Let go of it."""
        os.close(self._there)

    @contextlib.contextmanager
    def locked(self, how: int, deadline: float = 0.0) -> Iterator[bool]:
        """Hold the lock, or give False if it cannot be had until then."""
        descriptor = self._lock_file()
        try:
            while not (got := _take(descriptor, how)) and time.monotonic() < deadline:
                time.sleep(_POLL)
            yield got
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """The files of sidecars. Raises Unusable if another user has too many of them."""
        names = sorted(self._list(NUMBERS))
        if len(names) > _MOST_FILES and not self.is_ours:
            raise Unusable(f"it has {len(names)} files")
        return names

    def examine(self, name: str, *, with_living: bool) -> Entry | None:
        """A file; None if it is gone, or if its sidecar lives and that is not wanted.

        Raises OSError if it cannot be read now, and Unusable if it gets too much.
        """
        try:
            with self._opened(name) as descriptor:
                live = not _take(descriptor, fcntl.LOCK_SH)
                return None if live and not with_living else self._entry(Entry(name, live, None), descriptor)
        except FileNotFoundError:
            return None
        except PermissionError as error:  # Whether its sidecar lives is not known.
            return Entry(name, True, None, str(error.strerror))
        except Unreadable as error:
            return Entry(name, False, None, str(error))

    def socket(self, name: str) -> str | None:
        """The path of the socket beside a file, if there is one."""
        path = self.path / (name.removesuffix(SUFFIX) + SOCKET)
        return str(path) if path.is_socket() else None

    def totals(self) -> bytes | None:
        """What is kept of sidecars that have ended, if anything is. Raises Unreadable."""
        try:
            with self._opened(_TOTALS) as descriptor:
                return self._bytes(descriptor, _LARGEST_TOTALS)
        except FileNotFoundError:
            return None

    def save_totals(self, data: bytes) -> None:
        """Replace the totals, all of them or nothing."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_NEW_TOTALS, dir_fd=self._there)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(_NEW_TOTALS, flags, 0o600, dir_fd=self._there), "wb") as file:
            file.write(data)
        os.rename(_NEW_TOTALS, _TOTALS, src_dir_fd=self._there, dst_dir_fd=self._there)

    def set_totals_aside(self) -> Path:
        """Give the totals another name, and say which."""
        aside = f"{_TOTALS}.broken-{int(time.time())}"
        os.rename(_TOTALS, aside, src_dir_fd=self._there, dst_dir_fd=self._there)
        return self.path / aside

    def remove(self, name: str) -> bool:
        """Take a file away, and the socket beside it first, so that what is interrupted here is done again."""
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name.removesuffix(SUFFIX) + SOCKET, dir_fd=self._there)
            os.unlink(name, dir_fd=self._there)
        except OSError:
            return False
        return True

    def sweep(self) -> None:
        """Take away what sidecars left that were killed before their file had its name."""
        for name in self._list(UNFINISHED):
            with contextlib.suppress(OSError):
                made = os.stat(name, dir_fd=self._there, follow_symlinks=False).st_mtime
                if made < time.time() - _UNFINISHED_FOR:
                    os.unlink(name, dir_fd=self._there)

    def _list(self, names: re.Pattern[str]) -> list[str]:
        with os.scandir(self._there) as found:
            return [entry.name for entry in found if names.fullmatch(entry.name)]

    def _lock_file(self) -> int:
        try:
            return os.open(LOCK, _READING, dir_fd=self._there)
        except FileNotFoundError:
            if not self.is_ours:
                raise
            return os.open(LOCK, _READING | os.O_CREAT, 0o600, dir_fd=self._there)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            descriptor = os.open(name, _READING, dir_fd=self._there)
        except OSError as error:
            if error.errno in _NO_FILE:
                raise Unreadable("it is no file") from error
            raise
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _entry(self, found: Entry, descriptor: int) -> Entry:
        try:
            return found._replace(series=read(self._bytes(descriptor, _LARGEST)))
        except Unreadable as error:
            return found._replace(why=str(error))

    def _bytes(self, descriptor: int, most: int) -> bytes:
        """As much of a file as is used. Raises Unreadable, and Unusable if another user has too much."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no file")
        head = os.pread(descriptor, HEAD_SIZE, 0)
        size = used(head)
        if size > most:
            raise Unreadable(f"it says that it has {size} bytes")
        if not self.is_ours:
            self._bytes_left -= size
            if self._bytes_left < 0:
                raise Unusable("its files are too large")
        return head + os.pread(descriptor, size - HEAD_SIZE, HEAD_SIZE)  # There may be more by now.


def _take(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
