"""What the sidecars have done that have ended, as it is kept on disk, and which of their files are in it already.

The files are taken away after the totals have been written. Where that was interrupted, their names tell that what they
hold has been counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, NamedTuple

from .fleet import Fleet
from .series import NOTE, Values, dump, notes, read

_COUNTED: Final = "counted"


class Totals(NamedTuple):
    """Sums, and the names of files that are in them."""

    series: Values = MappingProxyType({})
    counted: frozenset[str] = frozenset()


def load(data: bytes) -> Totals:
    """What was saved. Raises Unreadable."""
    series = read(data)
    return Totals(series, frozenset(notes(series, _COUNTED)))


def save(fleet: Fleet, counted: Iterable[str]) -> bytes:
    """The totals of a fleet that has ended, after the files with these names were counted."""
    return dump({**fleet.unknown, **fleet.series, **{(NOTE + _COUNTED, name): (0.0,) for name in counted}})
