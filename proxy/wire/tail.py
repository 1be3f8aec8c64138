"""The end of a log that another program writes: bytes in, whole lines of interest out."""

from __future__ import annotations

_LONGEST_LINE = 1 << 20


class LogTail:
    """Cuts what is appended to a log into lines, and keeps those that ``mark`` is in.

    Owns the bytes of a line that is not finished. A line of more than a megabyte is passed over: lines about goals are
    short, and a log can hold whole files in one line.
    """

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._rest = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take what was appended; return the finished lines that the mark is in."""
        if self._skipping:
            end = chunk.find(b"\n")
            if end < 0:
                return []
            chunk, self._skipping = chunk[end:], False
        data = self._rest + chunk
        finished = data.rfind(b"\n") + 1
        self._rest = data[finished:]
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._skipping = b"", True
        if data.find(self._mark, 0, finished) < 0:
            return []
        return [line for line in data[:finished].split(b"\n") if self._mark in line]

    def restart(self) -> None:
        """The log is another one now: forget the line that was not finished."""
        self._rest, self._skipping = b"", False
