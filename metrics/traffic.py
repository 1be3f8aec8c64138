"""The counts of the relay path as metrics, read when they are asked for: the path itself pays nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from . import catalogue
from .catalogue import Metric


class Counts(Protocol):
    """What the relay path keeps: numbers by (direction, treatment), and by direction."""

    messages: dict[tuple[str, str], int]
    bytes: dict[tuple[str, str], int]
    malformed: dict[str, int]


class TrafficCollector(Collector):
    """Collects the counts of one relay."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterable[CounterMetricFamily]:
        """The three counters, with a sample for every label, zero or not: these are always known."""
        yield _family(catalogue.MESSAGES, self._counts.messages.items())
        yield _family(catalogue.BYTES, self._counts.bytes.items())
        yield _family(catalogue.MALFORMED, (((direction,), n) for direction, n in self._counts.malformed.items()))


def _family(metric: Metric, values: Iterable[tuple[tuple[str, ...], int]]) -> CounterMetricFamily:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family
