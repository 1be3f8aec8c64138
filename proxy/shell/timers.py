"""Timers: one thread, started with the first of them."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable


class Timers:
    """Calls ``fire`` with a timer's key when its time has come. Times are milliseconds."""

    def __init__(self, fire: Callable[[str], None]) -> None:
        self._fire = fire
        self._heap: list[tuple[float, int, str]] = []
        self._count = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def set(self, key: str, after: int) -> None:
        """Start a timer."""
        with self._changed:
            self._count += 1
            heapq.heappush(self._heap, (time.monotonic() + after / 1000, self._count, key))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timers", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            self._fire(self._next())

    def _next(self) -> str:
        with self._changed:
            while True:
                if not self._heap:
                    self._changed.wait()
                    continue
                remaining = self._heap[0][0] - time.monotonic()
                if remaining <= 0:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(remaining)
