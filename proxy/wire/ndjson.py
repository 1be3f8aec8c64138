r"""Newline-delimited JSON: bytes in, whole lines out, and the same bytes in the same order.

Only ``b"\n"`` ends a line. A carriage return, U+2028 or any other character is content, whatever Unicode says of it.
"""

from __future__ import annotations

Block = bytes | bytearray
"""Bytes that nobody changes any more."""


class LineBuffer:
    """Cut a stream of chunks into blocks of whole lines.

    Owns the bytes of an unfinished line, of any length; the work per chunk is linear in the chunk.
    """

    __slots__ = ("_pieces", "_rest")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._pieces = 0

    def feed(self, chunk: bytes) -> list[Block]:
        """Take a chunk; return every byte up to the last newline seen, as up to two blocks.

        A line that took more than two chunks is a block of its own, given away as it was put together: it may be long,
        and nobody has to copy it, nor does anybody have to copy it in order to look at the lines after it.
        """
        end = chunk.rfind(b"\n") + 1
        begin = chunk.find(b"\n") + 1 if self._pieces > 1 else 0
        blocks: list[Block] = []
        if begin:
            self._rest += chunk[:begin]
            blocks.append(self._rest)
            self._rest, self._pieces = bytearray(), 0
        if begin < end:
            blocks.append(bytes(self._rest) + chunk[begin:end])
            self._rest, self._pieces = bytearray(), 0
        if end < len(chunk):
            self._rest += chunk[end:]
            self._pieces += 1
        return blocks

    def finish(self) -> bytes:
        """Return the bytes of a last line without a newline, at the end of the stream."""
        rest = bytes(self._rest)
        self._rest, self._pieces = bytearray(), 0
        return rest


def lines(block: bytes) -> list[bytes]:
    """Split a block into lines, each with its newline; joined again they are the block."""
    if block.find(b"\n") in (-1, len(block) - 1):  # One line, which may be long: do not copy it.
        return [block] if block else []
    *whole, last = block.split(b"\n")
    return [part + b"\n" for part in whole] + ([last] if last else [])
