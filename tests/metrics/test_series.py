"""A table of series: what is written can be read at any time, also while it grows, and damage is found."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.metrics.catalogue import CATALOGUE, GOALS, GOALS_STARTED, ROUNDS_PER_GOAL
from goalproxy.metrics.series import FIRST_SIZE, MAGIC, SeriesTable, Unreadable, dump, notes, read

from .memory import Memory, table

LABEL = st.text(max_size=70)


@given(st.lists(st.tuples(LABEL, LABEL, st.integers(0, 2**53)), max_size=60))
def test_counters_are_read_as_the_sums_of_what_was_added(added: list[tuple[str, str, int]]) -> None:
    memory, expected = Memory(), dict[tuple[str, ...], float]()
    made = SeriesTable(memory)
    for agent, owner, amount in added:
        made.add(GOALS_STARTED, amount, agent, owner)
        key = (GOALS_STARTED.name, agent, owner)
        expected[key] = expected.get(key, 0.0) + amount
    assert read(bytes(memory.data)) == {key: (value,) for key, value in expected.items()} == made.read()


def test_a_table_that_is_full_grows_and_keeps_what_it_has() -> None:
    memory = Memory()
    made = SeriesTable(memory)
    for number in range(2000):
        made.add(GOALS_STARTED, number, f"agent-{number}" * 4, "native")
    assert len(memory.data) > FIRST_SIZE
    assert list(made.read().values()) == [(float(number),) for number in range(2000)]


class Busy(SeriesTable):
    """Makes a series each time it is about to be read: another thread can do so at any time."""

    def __getattribute__(self, name: str) -> Any:
        """Give what ``read`` asks for, and change it then."""
        found = super().__getattribute__(name)
        if name in ("_block", "_used") and sys._getframe(1).f_code.co_name == "read":
            self.add(GOALS_STARTED, 1, f"agent-{len(self._places)}" * 1000, "native")
        return found


def test_a_table_can_be_read_while_another_thread_makes_series() -> None:
    made = Busy(Memory())
    for number in range(20):
        assert len(made.read()) >= number


def test_a_label_that_is_no_text_to_others_is_made_one() -> None:
    made = table()
    for _ in range(2):
        made.add(GOALS_STARTED, 1, "half a \ud83d", "native")
    assert made.read() == {(GOALS_STARTED.name, "half a ?", "native"): (2.0,)}


def test_a_place_in_a_histogram_is_the_first_bucket_that_is_large_enough() -> None:
    made = table()
    for value in (0, 1, 1.5, 500, 501):
        made.observe(ROUNDS_PER_GOAL, value, "a", "native", "complete")
    (*counts, total) = made.read()[ROUNDS_PER_GOAL.name, "a", "native", "complete"]
    assert dict(zip((*ROUNDS_PER_GOAL.buckets, math.inf), counts, strict=True)) == {
        **dict.fromkeys(ROUNDS_PER_GOAL.buckets, 0),
        1: 2,
        2: 1,
        500: 1,
        math.inf: 1,
    }
    assert total == 1003.5


def test_a_gauge_that_is_cleared_is_absent_until_it_is_set_again() -> None:
    made = table()
    made.set(GOALS, 3, "a", "native", "active")
    made.clear(GOALS)
    assert made.read() == {}
    made.set(GOALS, 2, "a", "native", "active")
    assert made.read() == {(GOALS.name, "a", "native", "active"): (2.0,)}


@pytest.mark.parametrize("size", range(0, 600, 7))
def test_a_file_that_ends_too_early_is_unreadable_and_never_wrong(size: int) -> None:
    memory = Memory()
    made = SeriesTable(memory)
    for metric in CATALOGUE[:6]:
        made.set(metric, 1, *metric.labels)
    whole = bytes(memory.data)
    (used,) = struct.unpack_from("=Q", whole, 8)
    if size < used:
        with pytest.raises(Unreadable):
            read(whole[:size])
    else:
        assert read(whole[:size]) == made.read()


@given(st.binary(max_size=200), st.integers(0, 300))
def test_any_bytes_are_read_or_refused(body: bytes, used: int) -> None:
    for data in (body, MAGIC + body, MAGIC + struct.pack("=Q", used) + body):
        try:
            found = read(data)
        except Unreadable:
            continue
        assert all(isinstance(key, tuple) and values for key, values in found.items())


def test_a_series_that_is_being_written_is_not_read_yet() -> None:
    memory = Memory()
    made = SeriesTable(memory)
    made.add(GOALS_STARTED, 1, "a", "native")
    before = bytes(memory.data[8:16])
    made.add(GOALS_STARTED, 1, "b", "native")
    half = bytearray(memory.data)
    half[8:16] = before
    assert read(bytes(half)) == {(GOALS_STARTED.name, "a", "native"): (1.0,)}


@given(
    st.dictionaries(st.lists(LABEL, min_size=1, max_size=4).map(tuple), st.lists(st.floats(0), min_size=1, max_size=20))
)
def test_what_is_saved_is_read_again_to_the_last_bit(series: dict[tuple[str, ...], list[float]]) -> None:
    assert read(dump(series)) == {key: tuple(values) for key, values in series.items()}


def test_a_note_can_be_read_by_its_name() -> None:
    made = table()
    made.note("admin", "http://127.0.0.1:1")
    made.note("other", "text")
    assert notes(made.read(), "admin") == ["http://127.0.0.1:1"]


@pytest.mark.parametrize("key", [b"[]", b"{}", b'"a"', b'["\\udc00"]', b'["\xff"]', b"[1]", b""])
def test_a_series_without_a_proper_key_is_damage(key: bytes) -> None:
    entry = struct.pack("=II", len(key), 1) + key.ljust(8, b"\0") + struct.pack("=d", 1)
    with pytest.raises(Unreadable):
        read(MAGIC + struct.pack("=Q", 16 + len(entry)) + entry)
