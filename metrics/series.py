"""Values of metrics in a block of memory that others can read at any time, and after its writer has died.

The layout, in the byte order of the machine, everything at a multiple of 8 bytes::

    8 bytes   MAGIC
    uint64    how many bytes are used, these 16 included; written last, so that no half-written series is ever read
    series:   uint32 length of the key, uint32 number of values, the key (JSON: name, labels…), padding, doubles

A counter or a gauge has one value. A histogram has the count of each bucket, that of infinity, and the sum. A gauge
that is no number is absent. A series is never moved or taken away, so its place can be kept. A key whose name begins
with ``#`` is a note, which is about the writer and no metric; its value means nothing.

What is read here may come from another user, or from a disk that was full: all of it is checked.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Final

import msgspec

from .catalogue import Metric

MAGIC: Final = b"GOALPX1\n"
NOTE: Final = "#"
"""What the name of a note begins with."""
FIRST_SIZE: Final = 1 << 14
"""Bytes to begin with: several times what a sidecar usually has to tell."""
HEAD_SIZE: Final = 16
"""Bytes in which it says how many there are."""
_ENTRY: Final = struct.Struct("=II")
_USED: Final = struct.Struct("=Q")
_MOST_VALUES: Final = 100
_KEY: Final = msgspec.json.Decoder(tuple[str, ...])

Key = tuple[str, ...]
"""The name of a metric and the values of its labels, in the order of the catalogue."""
Values = Mapping[Key, Sequence[float]]


class Unreadable(ValueError):
    """Memory that holds no series, or is damaged."""


class SeriesTable:
    """Writes series into memory. ``memory`` gives a block of at least so many bytes, with what it had before in it.

    ``values`` are the doubles of the whole block, to be looked up anew for each change. Threads may change different
    places at the same time; new places are made by one thread at a time.
    """

    def __init__(self, memory: Callable[[int], memoryview]) -> None:
        self._memory = memory
        self._places: dict[Key, int] = {}
        self._map(FIRST_SIZE)
        self._block[:8] = MAGIC
        self._used = HEAD_SIZE
        self._publish()

    def place(self, key: Key, count: int = 1) -> int:
        """Where the first value of a series is, among ``values``; a new series begins with zeros."""
        found = self._places.get(key)
        return self._make(key, count) if found is None else found

    def add(self, metric: Metric, amount: float, *labels: str) -> None:
        """Raise a counter."""
        place = self.place((metric.name, *labels))
        self.values[place] += amount

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """Set a gauge."""
        place = self.place((metric.name, *labels))
        self.values[place] = value

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Enter a value into a histogram."""
        place = self.place((metric.name, *labels), len(metric.buckets) + 2)
        values = self.values
        values[place + bisect_left(metric.buckets, value)] += 1
        values[place + len(metric.buckets) + 1] += value

    def note(self, name: str, text: str) -> None:
        """Leave a note for who reads the table."""
        self.place((NOTE + name, text))

    def clear(self, metric: Metric) -> None:
        """Take all values of a gauge away."""
        for key, place in self._places.items():
            if key[0] == metric.name:
                self.values[place] = nan

    def read(self) -> dict[Key, tuple[float, ...]]:
        """Everything that is in the table, for any thread: what is made meanwhile is not looked at."""
        size = self._used
        return read(_head(size) + bytes(self._block[HEAD_SIZE:size]))

    def _make(self, key: Key, count: int) -> int:
        entry = _entry(key, [0.0] * count)
        end = self._used + len(entry)
        if end > len(self._block):
            self._map(2 * end)
        self._block[self._used : end] = entry
        self._used = end
        self._publish()
        self._places[key] = end // 8 - count
        return self._places[key]

    def _publish(self) -> None:
        _USED.pack_into(self._block, 8, self._used)

    def _map(self, size: int) -> None:
        self._block = self._memory(size)
        self.values = self._block[: len(self._block) // 8 * 8].cast("d")


def used(head: bytes) -> int:
    """How many bytes of the memory are used, by its first ones. Raises Unreadable."""
    if len(head) < HEAD_SIZE or head[:8] != MAGIC:
        raise Unreadable("it holds no series")
    size: int = _USED.unpack_from(head, 8)[0]
    if size < HEAD_SIZE:
        raise Unreadable("it holds no series")
    return size


def read(data: bytes) -> dict[Key, tuple[float, ...]]:
    """The series in a copy of the memory. Raises Unreadable."""
    size = used(data)
    if size > len(data):
        raise Unreadable(f"{size} bytes should be there, and {len(data)} are")
    try:
        found = dict(_entries(data, size))
    except (struct.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"a series is damaged: {error}") from error
    return {key: values for key, values in found.items() if not isnan(values[0])}


def by_name(series: Values) -> dict[str, list[tuple[Key, Sequence[float]]]]:
    """The series of each metric: the values of their labels, and what they hold."""
    found: dict[str, list[tuple[Key, Sequence[float]]]] = {}
    for key, values in series.items():
        found.setdefault(key[0], []).append((key[1:], values))
    return found


def notes(series: Values, name: str) -> list[str]:
    """The texts of the notes with a name."""
    return [key[1] for key in series if key[0] == NOTE + name and len(key) == 2]  # noqa: PLR2004 - the name, the text


def dump(series: Values) -> bytes:
    """Series as ``read`` reads them."""
    body = b"".join(itertools.starmap(_entry, series.items()))
    return _head(HEAD_SIZE + len(body)) + body


def _head(size: int) -> bytes:
    return MAGIC + _USED.pack(size)


def _entry(key: Key, values: Sequence[float]) -> bytes:
    text = msgspec.json.encode([part.encode("utf-8", "replace").decode() for part in key])  # Halves of characters too.
    head = _ENTRY.pack(len(text), len(values)) + text
    return head.ljust(_padded(len(head)), b"\0") + struct.pack(f"={len(values)}d", *values)


def _entries(data: bytes, size: int) -> Iterator[tuple[Key, tuple[float, ...]]]:
    place = HEAD_SIZE
    while place < size:
        length, count = _ENTRY.unpack_from(data, place)
        first = _padded(place + _ENTRY.size + length)
        if not 0 < count <= _MOST_VALUES:
            raise Unreadable(f"a series has {count} values")
        key = _KEY.decode(data[place + _ENTRY.size : place + _ENTRY.size + length])
        if not key:
            raise Unreadable("a series has no name")
        yield key, struct.unpack_from(f"={count}d", data, first)
        place = first + 8 * count


def _padded(place: int) -> int:
    return (place + 7) // 8 * 8
