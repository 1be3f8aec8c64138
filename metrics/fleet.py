"""Many sidecars as one: what their series are together.

Counters and histograms are summed, also those of sidecars that have ended, so that totals never fall. A gauge is about
now: those of sidecars that live are summed, or the largest or the smallest of them holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add
from typing import Final

from .catalogue import CATALOGUE, Metric
from .series import Key, Values

MOST_SERIES: Final = 10_000
"""Series that are kept apart; what comes beyond is added up under the label ``other``."""
OTHER: Final = "other"
_METRICS: Final = {metric.name: metric for metric in CATALOGUE}
_JOIN: Final[dict[str, Callable[[float, float], float]]] = {"sum": add, "max": max, "min": min}


class Fleet:
    """Adds up the series of sidecars. ``skipped`` counts series of versions of goalproxy that tell something else."""

    def __init__(self) -> None:
        self.series: dict[Key, list[float]] = {}
        self.skipped = 0

    def add(self, series: Values, *, live: bool) -> None:
        """Add the series of one sidecar, or of many that have ended; a gauge counts while its sidecar lives."""
        for key, values in series.items():
            metric = _METRICS.get(key[0])
            if metric is None or not _fits(metric, key, len(values)):
                self.skipped += 1
            elif live or metric.kind != "gauge":
                self._join(metric, key, values)

    def _join(self, metric: Metric, key: Key, values: Iterable[float]) -> None:
        if key not in self.series and len(self.series) >= MOST_SERIES:
            key = (key[0], *[OTHER] * (len(key) - 1))
        join = _JOIN[metric.across]
        there = self.series.get(key)
        self.series[key] = list(values) if there is None else list(map(join, there, values))


def _fits(metric: Metric, key: Key, count: int) -> bool:
    return len(key) == len(metric.labels) + 1 and count == (len(metric.buckets) + 2 if metric.buckets else 1)
