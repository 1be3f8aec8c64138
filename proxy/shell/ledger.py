"""Reads what is in a registry directory, and folds: moves what sidecars have done that have ended into ``totals``.

Folding holds the directory's lock alone, reading holds it with other readers, so nothing is missed or counted twice. A
fold that is interrupted leaves files behind that are in ``totals`` already; their names are in there, too. Only the
owner of a directory folds there.
"""

from __future__ import annotations

import fcntl
from contextlib import closing
from pathlib import Path

from goalproxy.metrics import totals
from goalproxy.metrics.discovery import Sidecar, sidecar
from goalproxy.metrics.fleet import Fleet
from goalproxy.metrics.host import Look
from goalproxy.metrics.series import Unreadable
from goalproxy.metrics.totals import Totals

from .directory import Directory, Entry
from .log import complain
from .registry import Unusable


def look(path: Path, deadline: float) -> Look:
    """What a directory holds, folded if it is ours; until ``deadline`` we may wait for a turn.

    Raises FileNotFoundError if there is no directory, and Unusable or OSError if it cannot be read now.
    """
    with closing(Directory(path)) as directory:
        try:
            return _folded(directory, with_living=True) or _read(directory, deadline)
        except FileNotFoundError as error:
            raise Unusable(f"{error.filename} is missing there") from error


def fold(path: Path) -> None:
    """Fold a directory, if it is ours and nobody uses it now. Raises OSError."""
    with closing(Directory(path)) as directory:
        _folded(directory, with_living=False)


def _folded(directory: Directory, *, with_living: bool) -> Look | None:
    if not directory.is_ours:
        return None
    with directory.locked(fcntl.LOCK_EX) as held:
        if not held:
            return None
        count = _Count(directory, _own_totals(directory), with_living=with_living)
        try:
            count.settle()
        except OSError as error:  # The disk is full: the files stay, and are counted where they are.
            return count.look()._replace(trouble=f"cannot write totals in {directory.path}: {error.strerror}")
        return count.look()


def _read(directory: Directory, deadline: float) -> Look:
    with directory.locked(fcntl.LOCK_SH, deadline) as held:
        if not held:
            raise Unusable("another process holds its lock")
        try:
            return _Count(directory, _totals(directory), with_living=True).look()
        except Unreadable as error:
            raise Unusable(f"its totals cannot be read: {error}") from error


def _totals(directory: Directory) -> Totals:
    saved = directory.totals()
    return Totals() if saved is None else totals.load(saved)


def _own_totals(directory: Directory) -> Totals:
    """The totals; those that cannot be read are set aside."""
    try:
        return _totals(directory)
    except Unreadable as error:
        aside = directory.set_totals_aside()
        complain(f"the totals in {directory.path} cannot be read: {error}; they are {aside} now, and begin anew")
        return Totals()


class _Count:
    """What is in the files of a directory. Needs the lock; ``settle`` needs it alone."""

    def __init__(self, directory: Directory, before: Totals, *, with_living: bool) -> None:
        self._directory = directory
        self._ended, self._living = Fleet(), Fleet()
        self._sidecars: list[Sidecar] = []
        self._unreadable: list[Entry] = []
        self._counted: list[str] = []
        """Files that are in the totals already."""
        self._to_count: list[str] = []
        self._ended.add(before.series, live=False)
        for name in directory.names():
            if name in before.counted:
                self._counted.append(name)
            elif (entry := directory.examine(name, with_living=with_living)) is not None:
                self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        if entry.series is None:
            self._unreadable.append(entry)
        elif entry.live:
            self._living.add(entry.series, live=True)
            self._sidecars.append(sidecar(entry.pid, entry.series, self._directory.socket(entry.name)))
        else:
            self._ended.add(entry.series, live=False)
            self._to_count.append(entry.name)

    def settle(self) -> None:
        """Write the totals, and take the files away that are in them. Raises OSError."""
        names = [*self._counted, *self._to_count]
        if self._to_count:
            self._directory.save_totals(totals.save(self._ended, names))
        for name in names:
            self._directory.remove(name)
        for entry in [entry for entry in self._unreadable if not entry.live]:
            if self._directory.remove(entry.name):
                self._unreadable.remove(entry)
                complain(f"{self._directory.path / entry.name} is removed, since it cannot be read: {entry.why}")
        self._directory.sweep()

    def look(self) -> Look:
        """The whole."""
        whole = Fleet()
        whole.add(self._ended.series, live=False)
        whole.add(self._living.series, live=True)
        whole.skipped = self._ended.skipped + self._living.skipped
        return Look(self._directory.identity, whole, tuple(self._sidecars), len(self._unreadable))
