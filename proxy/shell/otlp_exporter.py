"""OpenTelemetry's own exporter, fed with series. Loaded for the first push: the libraries are slow to load.

What its variables say counts: headers, time limits, certificates, compression, attributes of the resource.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from goalproxy.metrics.catalogue import Metric
from goalproxy.metrics.otlp import Source, Span, metrics_data
from goalproxy.metrics.series import Values
from goalproxy.proxy.version import VERSION

_NAME: Final = "goalproxy"
_LOGGERS: Final = ("opentelemetry", "urllib3")


class Exporter:
    """Pushes to one endpoint. What the libraries log is kept from stderr, and is the reason where a push fails."""

    def __init__(self, endpoint: str, instance: str, catalogue: Sequence[Metric]) -> None:
        self._said = _FirstLine()
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self._said)
            logger.propagate = False
        ours = {"service.name": _NAME, "service.version": VERSION, "service.instance.id": instance}
        resource = Resource.create(ours).merge(OTELResourceDetector().detect())
        self._source = Source(resource, InstrumentationScope(_NAME, VERSION))
        self._exporter = OTLPMetricExporter(endpoint=endpoint)
        self._catalogue = catalogue

    def push(self, values: Values, since: int, at: int) -> str | None:
        """Push values; why that failed, if it did."""
        self._said.text = ""
        data = metrics_data(self._source, values, self._catalogue, Span(since, at))
        if self._exporter.export(data) is MetricExportResult.SUCCESS:
            return None
        return self._said.text or "no reason was given"


class _FirstLine(logging.Handler):
    """Keeps the first thing that is logged: of a push that fails, it says the most."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = self.text or record.getMessage()
