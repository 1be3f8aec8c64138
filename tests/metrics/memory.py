"""Memory for tables of series, without a file."""

from __future__ import annotations

from goalproxy.metrics.series import SeriesTable


class Memory:
    """Grows like a mapped file: what was there stays, and ``data`` is what a reader of the file would read."""

    def __init__(self) -> None:
        self.data = bytearray()

    def __call__(self, size: int) -> memoryview:
        self.data = self.data + bytes(size - len(self.data))
        return memoryview(self.data)


def table() -> SeriesTable:
    """An empty table."""
    return SeriesTable(Memory())
