"""Many sidecars as one: what their series are together.

Counters and histograms are summed, also those of sidecars that have ended, so that totals never fall. A gauge is about
now: those of sidecars that live are summed, or the largest or the smallest of them holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from operator import add
from typing import Final

from .catalogue import CATALOGUE, Metric
from .series import NOTE, Key, Values

MOST_SERIES: Final = 10_000
"""Series that are kept apart; what comes beyond is added up under the label ``other``."""
OTHER: Final = "other"
_MOST_LABELS: Final = 8
_LONGEST_LABEL: Final = 128
_METRICS: Final = {metric.name: metric for metric in CATALOGUE}
_JOIN: Final[dict[str, Callable[[float, float], float]]] = {"sum": add, "max": max, "min": min}


class Fleet:
    """Adds up the series of sidecars.

    ``skipped`` counts series that cannot be ours: a version of goalproxy that is not this one tells something else by
    them, or they are damaged. Totals of names that are not known here are kept apart in ``unknown``, so that a newer
    goalproxy finds them again.
    """

    def __init__(self) -> None:
        self.series: dict[Key, list[float]] = {}
        self.unknown: dict[Key, list[float]] = {}
        self.skipped = 0

    def add(self, series: Values, *, live: bool) -> None:
        """Add the series of one sidecar, or of many that have ended; a gauge counts while its sidecar lives."""
        for key, values in series.items():
            metric = _METRICS.get(key[0])
            if key[0].startswith(NOTE):
                continue
            if not _is_plausible(key, values) or (metric and not _fits(metric, key, values)):
                self.skipped += 1
            elif metric is None:
                self.skipped += 1
                if not live:
                    self._keep(key, values)
            elif live or metric.kind != "gauge":
                _join(self.series, key, values, _JOIN[metric.across])

    def _keep(self, key: Key, values: Sequence[float]) -> None:
        is_total = key[0].endswith("_total") or len(values) > 1
        if is_total and len(self.unknown.get(key, values)) == len(values):
            _join(self.unknown, key, values, add)


def _join(series: dict[Key, list[float]], key: Key, values: Sequence[float], join: Callable[..., float]) -> None:
    if key not in series and len(series) >= MOST_SERIES:
        key = (key[0], *[OTHER] * (len(key) - 1))
    there = series.get(key)
    series[key] = list(values) if there is None else list(map(join, there, values))


def _is_plausible(key: Key, values: Sequence[float]) -> bool:
    """Whether it may be added: one number that is none would spoil a total for good."""
    return len(key) <= _MOST_LABELS and max(map(len, key)) <= _LONGEST_LABEL and all(map(isfinite, values))


def _fits(metric: Metric, key: Key, values: Sequence[float]) -> bool:
    count = len(metric.buckets) + 2 if metric.buckets else 1
    never_falls = metric.kind == "gauge" or min(values) >= 0
    return len(key) == len(metric.labels) + 1 and len(values) == count and never_falls
