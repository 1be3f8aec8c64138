"""What is saved of sidecars that have ended is what they did, and tells whose files are in it."""

from __future__ import annotations

import pytest

from goalproxy.metrics import catalogue, totals
from goalproxy.metrics.fleet import Fleet
from goalproxy.metrics.series import Unreadable

STARTED = (catalogue.GOALS_STARTED.name, "a", "native")


def test_totals_are_loaded_as_they_were_saved() -> None:
    fleet = Fleet()
    fleet.add({STARTED: (3.0,), ("goalproxy_of_tomorrow_total",): (5.0,)}, live=False)
    loaded = totals.load(totals.save(fleet, ["1-00000001.series", "2-00000002.series"]))
    assert loaded.counted == {"1-00000001.series", "2-00000002.series"}
    again = Fleet()
    again.add(loaded.series, live=False)
    assert (again.series, again.unknown) == (fleet.series, fleet.unknown)


def test_totals_that_were_cut_off_are_unreadable() -> None:
    fleet = Fleet()
    fleet.add({STARTED: (3.0,)}, live=False)
    with pytest.raises(Unreadable):
        totals.load(totals.save(fleet, ["1-00000001.series"])[:-1])
