"""All directories of a host together: totals never fall, whatever becomes of a directory."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from goalproxy.metrics import catalogue
from goalproxy.metrics.discovery import Sidecar
from goalproxy.metrics.fleet import Fleet
from goalproxy.metrics.host import Host, Look

STARTED, GOALS = (catalogue.GOALS_STARTED.name, "a", "native"), (catalogue.GOALS.name, "a", "native", "active")


def found(started: float, identity: int = 1, pids: tuple[int, ...] = (1,)) -> Look:
    """What was found in a directory."""
    fleet = Fleet()
    fleet.add({STARTED: (started,), GOALS: (1.0,)}, live=True)
    return Look(identity, fleet, tuple(Sidecar(pid, "a", None, None) for pid in pids), 0)


def told(host: Host, metric: catalogue.Metric) -> float:
    """A metric of the exporter's own."""
    return host.own_values(5.0, 0.25)[(metric.name,)][0]


def test_directories_add_up() -> None:
    host = Host()
    host.take({"a": found(3, pids=(5, 7)), "b": found(4, pids=(6,))})
    assert (host.values()[STARTED], host.values()[GOALS]) == ([7], [2])
    assert [sidecar.pid for sidecar in host.sidecars] == [5, 6, 7]
    assert told(host, catalogue.SIDECARS) == 3


def test_a_directory_that_cannot_be_read_now_is_shown_as_it_was_and_counted_as_stale() -> None:
    host = Host()
    host.take({"a": found(3), "b": found(4)})
    host.take({"a": None, "b": found(5)})
    assert host.values()[STARTED] == [8]
    assert told(host, catalogue.STALE) == 1
    host.take({"a": found(4), "b": found(5)})
    assert (host.values()[STARTED], told(host, catalogue.STALE)) == ([9], 0)


def test_of_a_directory_that_has_vanished_the_totals_stay_and_the_gauges_go() -> None:
    host = Host()
    host.take({"a": found(3), "b": found(4)})
    host.take({"b": found(4)})
    assert (host.values()[STARTED], host.values()[GOALS]) == ([7], [1])
    assert [host.knows("a"), host.knows("b")] == [False, True]


def test_a_new_directory_in_the_place_of_another_is_counted_beside_it() -> None:
    host = Host()
    host.take({"a": found(3, identity=1)})
    host.take({"a": found(1, identity=2)})
    host.take({"a": found(2, identity=2)})
    assert host.values()[STARTED] == [5]


def test_before_the_first_sidecar_there_is_a_zero_from_which_to_count() -> None:
    host = Host()
    host.take({})
    assert host.values() == {(catalogue.SIDECARS_STARTED.name,): [0.0]}


def test_the_exporter_says_when_it_looked_and_how_long_that_took() -> None:
    host = Host()
    assert (told(host, catalogue.COLLECTED), told(host, catalogue.COLLECT_DURATION)) == (5.0, 0.25)


STEP = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["stale", "more", "new"]))


@given(st.lists(STEP, max_size=20))
def test_totals_never_fall_whatever_becomes_of_directories(steps: list[Mapping[str, str]]) -> None:
    host, before, looks, identity = Host(), 0.0, dict[str, Look](), 0
    for step in steps:
        for name, what in step.items():
            if what == "new" or name not in looks:
                identity += 1
                looks[name] = found(1, identity)
            elif what == "more":
                looks[name] = found(looks[name].fleet.series[STARTED][0] + 1, int(str(looks[name].identity)))
        looks = {name: looks[name] for name in step}
        host.take({name: None if what == "stale" else looks[name] for name, what in step.items()})
        now = host.values().get(STARTED, [0.0])[0]
        assert now >= before
        before = now
