"""The names of the samples that a page of metrics can have."""

from __future__ import annotations

from typing import Final

from goalproxy.metrics.catalogue import CATALOGUE, EXPORTER, Metric


def _samples(metric: Metric) -> list[str]:
    return [f"{metric.name}{end}" for end in ("_bucket", "_count", "_sum")] if metric.buckets else [metric.name]


SAMPLE_NAMES: Final = frozenset(name for metric in (*CATALOGUE, *EXPORTER) for name in _samples(metric))
