"""Many sidecars add up: totals never fall, gauges are about those that live."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.metrics import catalogue
from goalproxy.metrics.fleet import MOST_SERIES, Fleet
from goalproxy.metrics.series import SeriesTable

from .memory import table


def sidecar(goals: int = 0, **stand: float) -> SeriesTable:
    """The table of a sidecar with so many active goals."""
    made = table()
    made.add(catalogue.GOALS_STARTED, goals, "a", "native")
    made.set(catalogue.GOALS, goals, "a", "native", "active")
    made.set(catalogue.BUILD_INFO, 1, "1.0")
    for _ in range(goals):
        made.observe(catalogue.ROUNDS_PER_GOAL, 2, "a", "native", "complete")
    for name, value in stand.items():
        made.set({"most": catalogue.GOAL_MOST_ROUNDS, "idle": catalogue.GOAL_IDLE_SINCE}[name], value, "a")
    return made


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=20))
def test_counters_and_histograms_are_sums_and_gauges_are_of_the_living(sidecars: list[tuple[int, bool]]) -> None:
    fleet = Fleet()
    for goals, live in sidecars:
        fleet.add(sidecar(goals).read(), live=live)
    total, living = sum(goals for goals, _ in sidecars), [goals for goals, live in sidecars if live]
    found = fleet.series
    assert found.get((catalogue.GOALS_STARTED.name, "a", "native"), [0]) == [total]
    assert found.get((catalogue.GOALS.name, "a", "native", "active"), [0]) == [sum(living)]
    histogram = found.get((catalogue.ROUNDS_PER_GOAL.name, "a", "native", "complete"))
    assert (
        histogram is None
        if total == 0
        else histogram is not None and (sum(histogram[:-1]), histogram[-1]) == (total, 2 * total)
    )
    assert found.get((catalogue.BUILD_INFO.name, "1.0")) == ([1] if living else None)


def test_what_has_ended_can_be_added_up_in_steps() -> None:
    ended, again = Fleet(), Fleet()
    ended.add(sidecar(3).read(), live=False)
    again.add(ended.series, live=False)
    again.add(sidecar(4).read(), live=False)
    assert again.series[catalogue.GOALS_STARTED.name, "a", "native"] == [7]


def test_the_farthest_goal_and_the_longest_wait_stand_for_all() -> None:
    fleet = Fleet()
    for most, idle in ((3, 50.0), (9, 40.0), (5, 60.0)):
        fleet.add(sidecar(1, most=most, idle=idle).read(), live=True)
    assert fleet.series[catalogue.GOAL_MOST_ROUNDS.name, "a"] == [9]
    assert fleet.series[catalogue.GOAL_IDLE_SINCE.name, "a"] == [40]


def test_series_of_another_version_are_left_out_and_counted() -> None:
    fleet = Fleet()
    odd = {
        ("goalproxy_of_tomorrow_total",): (1.0,),
        (catalogue.GOALS_STARTED.name, "a"): (1.0,),
        (catalogue.ROUNDS_PER_GOAL.name, "a", "native", "complete"): (1.0, 2.0),
    }
    fleet.add(odd, live=True)
    assert (fleet.series, fleet.skipped) == ({}, 3)


@pytest.mark.parametrize(
    ("labels", "value"),
    [(("a", "native"), nan), (("a", "native"), inf), (("a", "native"), -1.0), (("a" * 300, "native"), 1.0)],
)
def test_a_number_that_would_spoil_a_total_is_left_out(labels: tuple[str, str], value: float) -> None:
    fleet = Fleet()
    fleet.add({(catalogue.GOALS_STARTED.name, *labels): (value,)}, live=True)
    assert (fleet.series, fleet.skipped) == ({}, 1)


def test_a_histogram_with_a_bucket_that_is_no_number_is_left_out() -> None:
    values = [1.0] * (len(catalogue.ROUNDS_PER_GOAL.buckets) + 2)
    fleet = Fleet()
    fleet.add({(catalogue.ROUNDS_PER_GOAL.name, "a", "native", "complete"): [*values[:-2], nan, 1.0]}, live=True)
    assert (fleet.series, fleet.skipped) == ({}, 1)


def test_notes_are_no_series_that_is_skipped() -> None:
    noted, fleet = sidecar(1), Fleet()
    noted.note("admin", "http://127.0.0.1:9464")
    fleet.add(noted.read(), live=True)
    assert fleet.skipped == 0
    assert not any(key[0].startswith("#") for key in fleet.series)


def test_totals_of_a_newer_version_are_kept_for_it_and_shown_by_none() -> None:
    fleet = Fleet()
    for _ in range(2):
        fleet.add({("goalproxy_new_total", "a"): (2.0,), ("goalproxy_new_rounds",): (1.0, 4.0)}, live=False)
        fleet.add({("goalproxy_new_gauge",): (7.0,)}, live=False)
        fleet.add({("goalproxy_new_total", "a"): (9.0,)}, live=True)
    assert fleet.series == {}
    assert fleet.unknown == {("goalproxy_new_total", "a"): [4.0], ("goalproxy_new_rounds",): [2.0, 8.0]}


def test_series_beyond_the_bound_are_one() -> None:
    fleet = Fleet()
    for number in range(MOST_SERIES + 500):
        fleet.add({(catalogue.GOALS_STARTED.name, f"agent-{number}", "native"): (1.0,)}, live=True)
    assert len(fleet.series) == MOST_SERIES + 1
    assert fleet.series[catalogue.GOALS_STARTED.name, "other", "other"] == [500]
