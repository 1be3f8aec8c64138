"""An OpenTelemetry collector as far as a client of it can tell: it takes OTLP over HTTP, and keeps what it was told."""

from __future__ import annotations

import gzip
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint, Metric, NumberDataPoint

from .rig import DEADLINE

Attributes = dict[str, str]
Points = dict[frozenset[tuple[str, str]], NumberDataPoint | HistogramDataPoint]


class Push(NamedTuple):
    """One request: the status that it was answered with, where it went, its headers, and what it told."""

    answer: int
    path: str
    headers: dict[str, str]
    resource: Attributes
    metrics: dict[str, Metric]

    def points(self, name: str) -> Points:
        """The points of a metric by their attributes."""
        metric = self.metrics[name]
        data = getattr(metric, metric.WhichOneof("data") or "")
        return {
            frozenset((each.key, each.value.string_value) for each in point.attributes): point
            for point in data.data_points
        }

    def value(self, name: str, **attributes: str) -> float:
        """The number of one point."""
        point = self.points(name)[frozenset(attributes.items())]
        assert isinstance(point, NumberDataPoint)
        return point.as_double


class Collector:
    """Listens on a free port until it is closed. ``status`` is what it answers; ``answers`` is cleared to answer nothing."""

    def __init__(self) -> None:
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()
        self._pushes: queue.Queue[Push] = queue.Queue()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = collector.status
                collector._take(status, self.path, {key.lower(): value for key, value in self.headers.items()}, body)
                collector.answers.wait(DEADLINE)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _take(self, status: int, path: str, headers: dict[str, str], body: bytes) -> None:
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        (told,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
        (scope,) = told.scope_metrics
        resource = {each.key: each.value.string_value for each in told.resource.attributes}
        self._pushes.put(Push(status, path, headers, resource, {metric.name: metric for metric in scope.metrics}))

    def next(self) -> Push:
        """The next push, as soon as it is there."""
        return self._pushes.get(timeout=DEADLINE)

    def last(self) -> Push:
        """The last of the pushes that have come."""
        while True:
            push = self.next()
            if self._pushes.empty():
                return push

    def close(self) -> None:
        """Listen no more."""
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()
