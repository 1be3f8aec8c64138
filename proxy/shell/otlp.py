"""Pushes metrics to an OpenTelemetry collector, on a thread of its own: every so often, and once more at the end.

The libraries are an extra, and are loaded when the agent and its client have got going.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from goalproxy.metrics.catalogue import CATALOGUE, Metric
from goalproxy.metrics.series import Values
from goalproxy.proxy.errors import UsageError

from .log import complain

_NEEDED: Final = ("opentelemetry.sdk.metrics", "opentelemetry.exporter.otlp.proto.http")
_PATH: Final = "/v1/metrics"
_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
"""The variable of OpenTelemetry with the milliseconds between two pushes."""
_USUAL_INTERVAL: Final = 60.0
_LEAST_INTERVAL: Final = 0.01
_START: Final = 5.0
"""Seconds that the agent and its client have for themselves before the libraries are loaded."""
_LAST_PUSH: Final = 2.0
"""Seconds that the last push may take, with all that it needs."""


def endpoint(url: str) -> str:
    """Where metrics are sent: the base URL of a collector leads to its usual path for them.

    Raises UsageError if it is no URL, or if the libraries are missing.
    """
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if not is_complete:
        raise UsageError(f"an OTLP endpoint must be a URL such as http://127.0.0.1:4318, not {url!r}")
    if not all(map(_is_there, _NEEDED)):
        raise UsageError("to push metrics over OTLP, install the libraries for it: pip install 'goalproxy[otlp]'")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(_PATH) else path + _PATH).geturl()


class Pusher:
    """Pushes what ``read`` gives, from now until ``end``. Where it gives None, there is nothing to tell this time."""

    def __init__(
        self,
        url: str,
        read: Callable[[], Values | None],
        catalogue: Sequence[Metric] = CATALOGUE,
        *,
        instance: str | None = None,
        since: int | None = None,
    ) -> None:
        """Begin.

        ``instance`` is who tells, by default somebody new. What it tells is counted from ``since`` on, in nanoseconds
        of Unix time, by default from the first push: what was there before is what it begins with.
        """
        self._endpoint = endpoint(url)
        self._read = read
        self._catalogue = catalogue
        self._instance = instance or str(uuid.uuid4())
        self._since = since
        self._is_failing = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Push once more; that may take two seconds."""
        self._ending.set()
        self._thread.join(_LAST_PUSH)
        if self._thread.is_alive():
            self._fail(f"the last push took longer than {_LAST_PUSH:g} s")

    def _run(self) -> None:
        interval = _interval()
        self._ending.wait(min(interval, _START))
        try:
            from .otlp_exporter import Exporter  # noqa: PLC0415 - slow to load

            exporter = Exporter(self._endpoint, self._instance, self._catalogue)
            while True:
                is_last = self._ending.is_set()
                self._push(exporter.push)
                if is_last:
                    return
                self._ending.wait(interval)
        except Exception as error:  # Whatever the libraries raise, all else goes on.
            self._fail(f"{type(error).__name__}: {error}")

    def _push(self, push: Callable[[Values, int, int], str | None]) -> None:
        values, at = self._read(), time.time_ns()
        if values is None:
            return
        if self._since is None:
            self._since = at
        why = push(values, self._since, at)
        if why is None:
            self._is_failing = False
        else:
            self._fail(why)

    def _fail(self, why: str) -> None:
        """Say why nothing is pushed, once until it works again."""
        if not self._is_failing:
            parts = urlsplit(self._endpoint)
            where = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
            complain(f"no metrics are pushed to {where}: {' '.join(why.split())}")
        self._is_failing = True


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _interval() -> float:
    try:
        seconds = float(os.environ.get(_INTERVAL, "")) / 1000
    except ValueError:
        return _USUAL_INTERVAL
    return seconds if _LEAST_INTERVAL <= seconds <= threading.TIMEOUT_MAX else _USUAL_INTERVAL
