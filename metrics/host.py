"""All sidecars of a host, from what was found in their directories."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

from . import catalogue
from .discovery import Sidecar
from .fleet import Fleet
from .series import Key, Values

_NOTHING: Final[Values] = {(catalogue.SIDECARS_STARTED.name,): (0.0,)}
"""What there is before the first sidecar, so that its start is seen as an increase."""


class Look(NamedTuple):
    """What one directory holds.

    ``identity`` is another one if a new directory has taken the place of an old one. ``trouble`` says what goes wrong
    there, but for the counts.
    """

    identity: Hashable
    fleet: Fleet
    sidecars: tuple[Sidecar, ...]
    unreadable: int
    trouble: str = ""


class Host:
    """Remembers the last look at each directory, and what those had that have vanished: totals never fall."""

    def __init__(self) -> None:
        self._looks: dict[str, Look] = {}
        self._vanished = Fleet()
        self._stale = 0

    def take(self, found: Mapping[str, Look | None]) -> None:
        """Take a look at every directory that there is; None stands for one that cannot be read now."""
        for name in [name for name, look in self._looks.items() if _is_gone(look, found, name)]:
            self._vanished.add(self._looks.pop(name).fleet.series, live=False)
        self._looks |= {name: look for name, look in found.items() if look is not None}
        self._stale = sum(look is None for look in found.values())

    def knows(self, name: str) -> bool:
        """Whether a directory was ever read, and has not vanished since."""
        return name in self._looks

    @property
    def sidecars(self) -> list[Sidecar]:
        """Those that live."""
        found = [sidecar for look in self._looks.values() for sidecar in look.sidecars]
        return sorted(found, key=lambda sidecar: sidecar.pid)

    def values(self) -> Values:
        """The metrics of all sidecars together."""
        whole = Fleet()
        whole.add(_NOTHING, live=False)
        whole.add(self._vanished.series, live=False)
        for look in self._looks.values():
            whole.add(look.fleet.series, live=True)
        return whole.series

    def own_values(self, at: float, took: float) -> dict[Key, tuple[float]]:
        """The metrics of the exporter itself, after a look at a time, in seconds, that took so many."""
        looks = self._looks.values()
        told = {
            catalogue.SIDECARS: len(self.sidecars),
            catalogue.UNREADABLE: sum(look.unreadable for look in looks),
            catalogue.SKIPPED: sum(look.fleet.skipped for look in looks),
            catalogue.STALE: self._stale,
            catalogue.COLLECT_DURATION: took,
            catalogue.COLLECTED: at,
        }
        return {(metric.name,): (value,) for metric, value in told.items()}


def _is_gone(look: Look, found: Mapping[str, Look | None], name: str) -> bool:
    there = found.get(name)
    return name not in found or (there is not None and there.identity != look.identity)
