r"""Newline-delimited JSON: bytes in, whole lines out, and the same bytes in the same order.

Only ``b"\n"`` ends a line. A carriage return, U+2028 or any other character is content, whatever Unicode says of it.
"""

from __future__ import annotations


class LineBuffer:
    """Cut a stream of chunks into blocks of whole lines.

    Owns the bytes of an unfinished line, of any length; the work per chunk is linear in the chunk.
    """

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return every byte up to the last newline seen, or nothing."""
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            self._rest.append(chunk)
            return b""
        block = chunk if end == len(chunk) else chunk[:end]
        if self._rest:
            self._rest.append(block)
            block = b"".join(self._rest)
            self._rest.clear()
        if end < len(chunk):
            self._rest.append(chunk[end:])
        return block

    def finish(self) -> bytes:
        """Return the bytes of a last line without a newline, at the end of the stream."""
        rest = b"".join(self._rest)
        self._rest.clear()
        return rest


def lines(block: bytes) -> list[bytes]:
    """Split a block into lines, each with its newline; joined again they are the block."""
    if block.find(b"\n") in (-1, len(block) - 1):  # One line, which may be long: do not copy it.
        return [block] if block else []
    *whole, last = block.split(b"\n")
    return [part + b"\n" for part in whole] + ([last] if last else [])
