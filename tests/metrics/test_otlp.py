"""What series become in OpenTelemetry's data model, and what a collector makes of it for Prometheus."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, NumberDataPoint, Sum
from opentelemetry.sdk.metrics.export import Metric as Told
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from goalproxy.metrics.catalogue import CATALOGUE, EXPORTER, Metric
from goalproxy.metrics.otlp import UNITS, Source, Span, metrics_data, otel_name
from goalproxy.metrics.series import Values

EVERYTHING = (*CATALOGUE, *EXPORTER)
SOURCE = Source(Resource({"service.name": "x"}), InstrumentationScope("x", "1"))
SPAN = Span(1000, 2000)

WORDS = {"s": "seconds", "By": "bytes", "1": "ratio"}
"""Units of OpenTelemetry that are used here, as the rules spell them for Prometheus; those in braces are dropped."""


def in_prometheus(name: str, unit: str, *, is_sum: bool, is_gauge: bool) -> str:
    """The name that the published rules give to a metric: what a collector serves to Prometheus.

    Characters that may not be there become one underscore; the unit is added unless the name has it, ``ratio`` to
    gauges alone; ``_total`` is added to sums.
    """
    whole = re.sub("_+", "_", re.sub("[^a-zA-Z0-9:]", "_", name))
    word = WORDS.get(unit, "")
    if word and word not in whole.split("_") and (word != "ratio" or is_gauge):
        whole += f"_{word}"
    return whole if not is_sum or whole.endswith("_total") else f"{whole}_total"


def told(values: Values) -> dict[str, Told]:
    """What is told of values, by name."""
    (resource,) = metrics_data(SOURCE, values, EVERYTHING, SPAN).resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


@pytest.mark.parametrize("metric", EVERYTHING, ids=lambda metric: metric.name)
def test_a_collector_gives_prometheus_the_name_of_the_catalogue(metric: Metric) -> None:
    width = len(metric.buckets) + 2 if metric.buckets else 1
    (found,) = told({(metric.name, *metric.labels): (1.0,) * width}).values()
    is_sum, is_gauge = isinstance(found.data, Sum), isinstance(found.data, Gauge)
    assert in_prometheus(found.name, found.unit or "", is_sum=is_sum, is_gauge=is_gauge) == metric.name
    assert (is_sum, is_gauge) == (metric.kind == "counter", metric.kind == "gauge")
    assert found.description == metric.help
    if not isinstance(found.data, Gauge):
        assert found.data.aggregation_temporality is AggregationTemporality.CUMULATIVE
    if isinstance(found.data, Sum):
        assert found.data.is_monotonic


def test_no_name_is_the_beginning_of_another() -> None:
    names = {otel_name(metric) for metric in EVERYTHING}
    assert len(names) == len(EVERYTHING)
    assert not {name for name in names for other in names if other.startswith(f"{name}.")}


def test_names_and_units_are_those_of_opentelemetry() -> None:
    for metric in EVERYTHING:
        assert re.fullmatch(r"goalproxy(\.[a-z]+(_[a-z]+)*)+", otel_name(metric))
        assert UNITS[metric.unit] in ("", "s", "By", "1", "{token}")


LABEL = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 2**40).map(float)


@st.composite
def tables(draw: st.DrawFn) -> dict[tuple[str, ...], tuple[float, ...]]:
    """Tables with some series of some metrics, notes among them, and metrics that nobody knows."""
    found: dict[tuple[str, ...], tuple[float, ...]] = {("#admin", "http://127.0.0.1:1"): (0.0,), ("unknown",): (1.0,)}
    for metric in draw(st.lists(st.sampled_from(EVERYTHING), max_size=6)):
        key = (metric.name, *draw(st.tuples(*[LABEL] * len(metric.labels))))
        if metric.buckets:
            counts = draw(st.lists(COUNT, min_size=len(metric.buckets) + 1, max_size=len(metric.buckets) + 1))
            found[key] = (*counts, draw(st.floats(0, 1e12)))
        else:
            found[key] = (draw(st.floats(0, 1e12)),)
    return found


@given(tables())
def test_what_is_in_the_table_is_told_and_nothing_else(table: dict[tuple[str, ...], tuple[float, ...]]) -> None:
    known = {otel_name(metric): metric for metric in EVERYTHING}
    back: dict[tuple[str, ...], tuple[float, ...]] = {}
    for name, found in told(table).items():
        metric = known[name]
        for point in found.data.data_points:
            attributes = dict(point.attributes or {})
            assert list(attributes) == list(metric.labels)
            assert (point.start_time_unix_nano, point.time_unix_nano) == SPAN
            key = (metric.name, *map(str, attributes.values()))
            if isinstance(point, NumberDataPoint):
                back[key] = (point.value,)
            else:
                assert point.count == sum(point.bucket_counts)
                assert tuple(point.explicit_bounds) == metric.buckets
                back[key] = (*point.bucket_counts, point.sum)
    assert back == {key: values for key, values in table.items() if key[0] not in ("#admin", "unknown")}


@given(tables())
def test_the_official_encoder_takes_it_all(table: dict[tuple[str, ...], tuple[float, ...]]) -> None:
    data = metrics_data(SOURCE, table, EVERYTHING, SPAN)
    (sent,) = encode_metrics(data).resource_metrics[0].scope_metrics
    assert [metric.name for metric in sent.metrics] == list(told(table))
