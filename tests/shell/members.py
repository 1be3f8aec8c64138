"""Sidecars that are no processes of their own, so that they end when a test wants it."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from goalproxy.metrics.catalogue import GOALS, GOALS_STARTED
from goalproxy.proxy.shell.registry import Registration

STARTED = (GOALS_STARTED.name, "a", "native")


class Member(Registration):
    """A sidecar."""

    def work(self, goals: float = 1) -> None:
        """Start goals."""
        self.table.add(GOALS_STARTED, goals, "a", "native")
        self.table.set(GOALS, 1, "a", "native", "active")

    def end(self) -> None:
        """End: the kernel lets go of the lock."""
        assert self._file is not None
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def name(self) -> str:
        """The name of its file."""
        assert self.path is not None
        return self.path.name


def ended(directory: Path, goals: float) -> Member:
    """A sidecar that has started goals and ended."""
    member = Member(directory)
    member.work(goals)
    member.end()
    return member


@contextlib.contextmanager
def locked(directory: Path, how: int) -> Iterator[None]:
    """Hold the lock of a directory: others can read, or nobody can."""
    with (directory / ".lock").open("a") as file:
        fcntl.flock(file, how)
        yield
