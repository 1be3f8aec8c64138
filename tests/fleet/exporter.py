"""The page of all sidecars of a host."""

from __future__ import annotations

import fcntl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from goalproxy.metrics.catalogue import (
    CATALOGUE,
    COLLECT_DURATION,
    COLLECTED,
    EXPORTER,
    SIDECARS,
    SKIPPED,
    STALE,
    UNREADABLE,
)
from goalproxy.metrics.exposition import SeriesCollector
from goalproxy.metrics.fleet import Fleet
from goalproxy.metrics.series import Values, read


class Exporter:
    """Tells of all sidecars of a registry."""

    def __init__(self, registry: Path) -> None:
        metrics = CollectorRegistry()
        metrics.register(SeriesCollector(lambda: collect(registry), (*CATALOGUE, *EXPORTER)))

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(generate_latest(metrics))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


def collect(registry: Path) -> Values:
    """Every series of the sidecars, and the exporter's own."""
    fleet, living = Fleet(), 0
    for path in registry.glob("*.series"):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                live = False
            except BlockingIOError:
                live = True
            living += live
            fleet.add(read(file.read()), live=live)
    own = {
        SIDECARS: living,
        UNREADABLE: 0,
        SKIPPED: fleet.skipped,
        STALE: 0,
        COLLECT_DURATION: 0.01,
        COLLECTED: time.time(),
    }
    return {**fleet.series, **{(metric.name,): [float(value)] for metric, value in own.items()}}
