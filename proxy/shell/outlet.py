"""Where lines go out: one file descriptor, written in order, by whichever thread has something for it.

The thread that relays towards a peer writes itself and waits when the peer does not read: that is the back-pressure.
A thread that injects a line towards the *other* peer must not wait for it, or two full pipes would lock each other; it
leaves the line here, and a helper thread writes it.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque

from goalproxy.proxy.wire.ndjson import Block

_LIMIT = 1 << 20
"""Bytes of injected lines after which injecting waits, too: a peer that asks and never reads cannot fill memory."""
_JOINED = 1 << 16
"""Bytes up to which what is queued is copied together for one write."""


class Outlet:
    """The writing end towards one peer. ``broken`` says that the peer is gone; what is put then is lost."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: deque[Block] = deque()
        self._writing = threading.Lock()
        self._waiting = threading.Semaphore(0)
        self._helper: threading.Thread | None = None
        self.broken = False

    def put(self, data: Block) -> None:
        """Queue bytes; what was put first is written first. Nothing is written yet."""
        self._queue.append(data)

    @property
    def busy(self) -> bool:
        """Whether something waits for the peer to read."""
        return bool(self._queue) or self._writing.locked()

    def flush(self) -> None:
        """Write everything queued, waiting for the peer as long as it takes."""
        with self._writing:
            while self._queue:
                self._write(self._queue.popleft() if len(self._queue) == 1 else self._take())

    def nudge(self) -> None:
        """Have everything queued written without waiting for the peer."""
        if sum(map(len, self._queue)) > _LIMIT:
            self.flush()
            return
        if self._helper is None:
            self._helper = threading.Thread(target=self._help, name="outlet", daemon=True)
            self._helper.start()
        self._waiting.release()

    def close(self) -> None:
        """Write what is queued, and close the descriptor: the peer reads the end of its input."""
        self.flush()
        with self._writing:
            if not self.broken:
                self.broken = True
                os.close(self._descriptor)

    def _help(self) -> None:
        while True:
            self._waiting.acquire()
            self.flush()

    def _take(self) -> bytes:
        """Take the first of the queue, with those after it that are small enough to be written along."""
        parts = [self._queue.popleft()]
        size = len(parts[0])
        while self._queue and (size := size + len(self._queue[0])) <= _JOINED:
            parts.append(self._queue.popleft())
        return b"".join(parts)

    def _write(self, data: Block) -> None:
        if self.broken:
            return
        view = memoryview(data)
        try:
            while view:
                view = self._write_some(view)
        except OSError:
            self.broken = True

    def _write_some(self, view: memoryview) -> memoryview:
        try:
            return view[os.write(self._descriptor, view) :]
        except BlockingIOError:  # Whoever started the proxy shares the descriptor, and made it so.
            select.select([], [self._descriptor], [])
            return view
