"""What a sidecar's numbers say of the sidecar itself, and what Prometheus is told of it."""

from __future__ import annotations

import pytest

from goalproxy.metrics import catalogue
from goalproxy.metrics.discovery import ADMIN, Sidecar, sidecar, targets

from .memory import table


def test_a_sidecar_is_known_by_its_agent_and_its_address() -> None:
    told = table()
    told.set(catalogue.AGENT_UP, 1, "unknown")
    told.clear(catalogue.AGENT_UP)
    told.set(catalogue.AGENT_UP, 1, "robo")
    told.note(ADMIN, "http://127.0.0.1:9464")
    assert sidecar(7, told.read(), "/run/7.sock") == Sidecar(7, "robo", "http://127.0.0.1:9464", "/run/7.sock")


def test_a_sidecar_that_has_told_nothing_yet_is_there() -> None:
    assert sidecar(7, {}, None) == Sidecar(7, "unknown", None, None)


@pytest.mark.parametrize("admin", [None, "unix:/run/goalproxy.sock"])
def test_only_what_can_be_scraped_is_a_target(admin: str | None) -> None:
    assert targets([Sidecar(7, "robo", admin, None)]) == []


def test_a_target_has_its_address_and_labels_that_hide_none_of_the_metrics() -> None:
    (found,) = targets([Sidecar(7, "robo", "http://[::1]:9464", None)])
    assert found == {
        "targets": ["[::1]:9464"],
        "labels": {"__meta_goalproxy_agent": "robo", "__meta_goalproxy_pid": "7"},
    }
