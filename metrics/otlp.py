"""Series in OpenTelemetry's data model, for its own exporter to send.

Names follow the rules by which OTLP becomes Prometheus ("Prometheus and OpenMetrics Compatibility" of OpenTelemetry's
specification): a collector that serves or writes to Prometheus gives back the names of the catalogue. The rules add
``_total`` to sums, and the words of the units ``s`` and ``1``; they drop ``{token}``, and do not repeat ``bytes``. What
has no unit says none: ``1`` would make a ratio of a gauge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from opentelemetry.sdk.metrics import export as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from .catalogue import Metric
from .series import Key, Values, by_name

UNITS: Final = {"": "", "seconds": "s", "tokens": "{token}", "bytes": "By", "ratio": "1"}
_ADDED: Final = ("seconds", "ratio")
"""Units whose word the rules add to a name, so that it must not be there."""
_NAMESPACES: Final = frozenset({"goal", "relay", "agent", "build", "exporter"})
"""Words after which a name goes on with a dot. One that is a metric itself, such as ``goals``, must not be one."""


class Span(NamedTuple):
    """From when on is counted, and the time of the values, in nanoseconds of Unix time."""

    since: int
    at: int


class Source(NamedTuple):
    """Who tells."""

    resource: Resource
    scope: InstrumentationScope


def otel_name(metric: Metric) -> str:
    """The name of a metric in OpenTelemetry."""
    whole = metric.name.removesuffix("_total")
    if metric.unit in _ADDED:
        whole = whole.removesuffix(f"_{metric.unit}")
    return whole.replace("_", ".", 2 if whole.split("_")[1] in _NAMESPACES else 1)


def metrics_data(source: Source, values: Values, catalogue: Sequence[Metric], span: Span) -> sdk.MetricsData:
    """All that is known, in the order of the catalogue. A metric without a sample is left out."""
    found = by_name(values)
    metrics = [
        sdk.Metric(otel_name(metric), metric.help, UNITS[metric.unit], _data(metric, found[metric.name], span))
        for metric in catalogue
        if metric.name in found
    ]
    scope = sdk.ScopeMetrics(source.scope, metrics, "")
    return sdk.MetricsData([sdk.ResourceMetrics(source.resource, [scope], "")])


def _data(metric: Metric, samples: Sequence[tuple[Key, Sequence[float]]], span: Span) -> sdk.DataT:
    told = [(dict(zip(metric.labels, labels, strict=True)), values) for labels, values in samples]
    if metric.kind == "histogram":
        bounds = [float(bound) for bound in metric.buckets]
        points = [_histogram_point(labels, values, bounds, span) for labels, values in told]
        return sdk.Histogram(points, sdk.AggregationTemporality.CUMULATIVE)
    numbers = [sdk.NumberDataPoint(labels, span.since, span.at, values[0]) for labels, values in told]
    if metric.kind == "gauge":
        return sdk.Gauge(numbers)
    return sdk.Sum(numbers, sdk.AggregationTemporality.CUMULATIVE, is_monotonic=True)


def _histogram_point(
    labels: dict[str, str], values: Sequence[float], bounds: Sequence[float], span: Span
) -> sdk.HistogramDataPoint:
    *buckets, total = values
    counts = [int(count) for count in buckets]
    # The least and the greatest are optional on the wire, and not known here.
    return sdk.HistogramDataPoint(
        labels,
        span.since,
        span.at,
        sum(counts),
        total,
        counts,
        bounds,
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
    )
