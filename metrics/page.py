"""The page of metrics in the docs, written from the catalogue."""

from __future__ import annotations

from .catalogue import CATALOGUE, EXPORTER, Metric

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


def render() -> str:
    """The page, as Markdown."""
    return _HEAD + "".join(map(_row, CATALOGUE)) + _TAIL + _EXPORTER + "".join(map(_row, EXPORTER)) + _buckets()


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |\n"


def _buckets() -> str:
    rows = (
        f"| `{metric.name}` | {', '.join(f'{bound:g}' for bound in metric.buckets)} |\n"
        for metric in CATALOGUE
        if metric.buckets
    )
    return "\n## Buckets\n\n| histogram | upper bounds |\n|---|---|\n" + "".join(rows)
