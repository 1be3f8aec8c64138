"""Counts of what passed, added on the relay path to the table of metrics: a few additions for a block of messages."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import Final, Literal

from goalproxy.metrics import catalogue
from goalproxy.metrics.series import SeriesTable

Direction = Literal["client_to_agent", "agent_to_client"]
Treatment = Literal["relayed", "rewritten", "injected", "swallowed"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("client_to_agent", "agent_to_client")
TREATMENTS: Final[tuple[Treatment, ...]] = ("relayed", "rewritten", "injected", "swallowed")
_BOUNDS: Final = catalogue.LATENCY.buckets
_SUM: Final = len(_BOUNDS) + 1


class Traffic:
    """Messages and bytes by direction and treatment, lines that were no message, and how long blocks took.

    Bytes are those that came in, for what was injected those that went out.
    """

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        ways = list(itertools.product(DIRECTIONS, TREATMENTS))
        self._messages = {way: table.place((catalogue.MESSAGES.name, *way)) for way in ways}
        self._bytes = {way: table.place((catalogue.BYTES.name, *way)) for way in ways}
        self._malformed = {each: table.place((catalogue.MALFORMED.name, each)) for each in DIRECTIONS}
        self._latency = {each: table.place((catalogue.LATENCY.name, each), _SUM + 1) for each in DIRECTIONS}

    def count(self, direction: Direction, treatment: Treatment, messages: int, size: int) -> None:
        """Add to the counts of one direction and treatment."""
        values = self._table.values
        values[self._messages[direction, treatment]] += messages
        values[self._bytes[direction, treatment]] += size

    def malformed(self, direction: Direction) -> None:
        """Count a line that was no message."""
        self._table.values[self._malformed[direction]] += 1

    def took(self, direction: Direction, seconds: float) -> None:
        """Enter the time from reading a block to having written it."""
        values, place = self._table.values, self._latency[direction]
        values[place + bisect_left(_BOUNDS, seconds)] += 1
        values[place + _SUM] += seconds
