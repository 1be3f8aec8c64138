"""The page of metrics in the docs, written from the catalogue."""

from __future__ import annotations

from .catalogue import CATALOGUE

_HEAD = """\
# Metrics

Written by `make docs` from `metrics/catalogue.py`. What an agent does not report has no sample, so it is never a false
zero. `agent` is the agent's own name without the scope of its package, `owner` is `native` for goals that the agent
keeps itself.

| metric | type | labels | meaning |
|---|---|---|---|
"""

_TAIL = """
The page also has the standard `process_…` metrics of the sidecar.
"""


def render() -> str:
    """The page, as Markdown."""
    rows = (
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.help} |\n"
        for metric in CATALOGUE
    )
    return _HEAD + "".join(rows) + _TAIL
