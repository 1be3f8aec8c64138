"""Series as the metrics of a Prometheus page, read when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from .catalogue import CATALOGUE, Metric
from .series import Key, Values, by_name

_FAMILIES: Final[dict[str, type[CounterMetricFamily | GaugeMetricFamily]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
}


class SeriesCollector(Collector):
    """Collects what ``read`` gives, in the order of the catalogue. A metric without a sample is described, too."""

    def __init__(self, read: Callable[[], Values], catalogue: Sequence[Metric] = CATALOGUE) -> None:
        self._read = read
        self._catalogue = catalogue

    def describe(self) -> Iterable[Family]:
        """The names, for the registry: nothing is read for it."""
        return [_family(metric, ()) for metric in self._catalogue]

    def collect(self) -> Iterable[Family]:
        """Every metric with its samples."""
        found = by_name(self._read())
        for metric in self._catalogue:
            yield _family(metric, found.get(metric.name, ()))


def _family(metric: Metric, samples: Iterable[tuple[Key, Sequence[float]]]) -> Family:
    if metric.kind == "histogram":
        return _histogram(metric, samples)
    family = _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, values in samples:
        family.add_metric(labels, values[0])
    return family


def _histogram(metric: Metric, samples: Iterable[tuple[Key, Sequence[float]]]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    bounds = [*map(str, map(float, metric.buckets)), "+Inf"]
    for labels, values in samples:
        *counts, total = values
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family
