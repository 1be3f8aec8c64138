"""The end of a log: whole lines with the mark, each once and in order, however the bytes come; and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalproxy.proxy.wire import tail
from goalproxy.proxy.wire.tail import LogTail

MARK = b'"goal"'
LIMIT = 64

text = st.binary(max_size=24).map(lambda raw: raw.replace(b"\n", b" "))
lines = st.lists(st.tuples(text, st.sampled_from([b"", MARK, MARK[:3]]), text).map(b"".join), max_size=12)
cuts = st.lists(st.integers(min_value=0, max_value=400), max_size=20)


def feed_all(log: LogTail, data: bytes, at: list[int]) -> list[bytes]:
    """What comes of bytes that are cut at some places."""
    return [line for chunk in _cut(data, at) for line in log.feed(chunk)]


def _cut(data: bytes, at: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(data), *(place for place in at if place < len(data))})
    return (data[start:end] for start, end in pairwise(places))


@given(lines=lines, at=cuts, rest=text)
def test_every_marked_line_is_told_once_and_in_order_however_the_bytes_are_cut(
    lines: list[bytes], at: list[int], rest: bytes
) -> None:
    data = b"".join(line + b"\n" for line in lines) + rest
    assert feed_all(LogTail(MARK), data, at) == [line for line in lines if MARK in line]


@given(before=text, at=cuts)
def test_line_is_told_when_its_end_is_written(before: bytes, at: list[int]) -> None:
    log = LogTail(MARK)
    assert feed_all(log, before + MARK, at) == []
    assert log.feed(b" more\n") == [before + MARK + b" more"]


@given(sizes=st.lists(st.integers(min_value=0, max_value=4 * LIMIT), max_size=8), at=cuts)
@settings(max_examples=60)
def test_line_beyond_the_limit_is_passed_over_and_the_next_one_is_not(sizes: list[int], at: list[int]) -> None:
    rows = [b"%d " % number + b"x" * size + MARK for number, size in enumerate(sizes)]
    data = b"".join(row + b"\n" + MARK + b"%d" % number + b"\n" for number, row in enumerate(rows))
    log, told = LogTail(MARK), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_LONGEST_LINE", LIMIT)
        for chunk in _cut(data, [*at, *range(0, len(data), LIMIT)]):
            told += log.feed(chunk)
            assert len(log._rest) <= LIMIT
    short = [row for row in rows if len(row) <= LIMIT]
    assert [line for line in told if line in short or line.startswith(MARK)] == [
        line for number, row in enumerate(rows) for line in ([row] if row in short else []) + [MARK + b"%d" % number]
    ]
    assert all(len(line) <= 2 * LIMIT for line in told)


def test_line_of_a_real_log_may_be_long_and_a_longer_one_is_not_kept() -> None:
    log = LogTail(MARK)
    for _ in range(5):
        assert log.feed(b"x" * (1 << 20)) == []
    assert log.feed(MARK + b"\n" + MARK + b" after\n") == [MARK + b" after"]


def test_another_log_does_not_begin_with_the_rest_of_the_old_one() -> None:
    log = LogTail(MARK)
    log.feed(MARK + b" half")
    log.restart()
    assert log.feed(b"a\n" + MARK + b"\n") == [MARK]


def test_another_log_is_read_although_the_old_one_ended_in_a_long_line() -> None:
    log = LogTail(MARK)
    for _ in range(3):
        log.feed(b"x" * (1 << 20))
    log.restart()
    assert log.feed(MARK + b"\n") == [MARK]
