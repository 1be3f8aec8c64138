"""Many sidecars add up: totals never fall, gauges are about those that live."""

from __future__ import annotations

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


def test_series_beyond_the_bound_are_one() -> None:
    fleet = Fleet()
    for number in range(MOST_SERIES + 500):
        fleet.add({(catalogue.GOALS_STARTED.name, f"agent-{number}", "native"): (1.0,)}, live=True)
    assert len(fleet.series) == MOST_SERIES + 1
    assert fleet.series[catalogue.GOALS_STARTED.name, "other", "other"] == [500]
