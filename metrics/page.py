"""The page of metrics in the docs, written from the catalogue."""

from __future__ import annotations

from typing import Final

from .catalogue import CATALOGUE, EXPORTER, Metric
from .otlp import UNITS, otel_name

_HEAD = """\
# Metrics

Written by `make docs` from `metrics/catalogue.py`. What an agent does not report has no sample, so it is never a false
zero. `agent` is the agent's own name without the scope of its package, `owner` is `native` for goals that the agent
keeps itself and `emulated` for those that goalproxy keeps. [fleet.md](fleet.md) says how to collect them.

| metric | type | labels | meaning |
|---|---|---|---|
"""

_TAIL = """
The page also has the standard `process_…` metrics of the sidecar.
"""


_EXPORTER = """
## The exporter

`goalproxy exporter` tells the metrics above for all sidecars of a host together, and of itself:

| metric | type | labels | meaning |
|---|---|---|---|
"""

_OPENTELEMETRY = """
## OpenTelemetry

What `--otlp` pushes: [opentelemetry.md](opentelemetry.md). Attributes are the labels.

| metric | name | type | unit |
|---|---|---|---|
"""
_TYPES: Final = {"counter": "Sum, monotonic", "gauge": "Gauge", "histogram": "Histogram"}


def render() -> str:
    """The page, as Markdown."""
    own = _EXPORTER + "".join(map(_row, EXPORTER))
    otel = _OPENTELEMETRY + "".join(map(_otel_row, (*CATALOGUE, *EXPORTER)))
    return _HEAD + "".join(map(_row, CATALOGUE)) + _TAIL + own + _buckets() + otel


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |\n"


def _otel_row(metric: Metric) -> str:
    unit = UNITS[metric.unit]
    return f"| `{metric.name}` | `{otel_name(metric)}` | {_TYPES[metric.kind]} | {unit and f'`{unit}`'} |\n"


def _buckets() -> str:
    rows = (
        f"| `{metric.name}` | {', '.join(f'{bound:g}' for bound in metric.buckets)} |\n"
        for metric in CATALOGUE
        if metric.buckets
    )
    return "\n## Buckets\n\n| histogram | upper bounds |\n|---|---|\n" + "".join(rows)
