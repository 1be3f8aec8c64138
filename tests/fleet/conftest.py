"""The host that the tests look at: started and played once, while a real Prometheus scrapes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from ..shell.conftest import clean_environment
from .exporter import Exporter
from .prometheus import Prometheus, poll
from .scene import Scene


@pytest.fixture(scope="package")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, when it knows all that has happened."""
    folder = tmp_path_factory.mktemp("fleet")
    home = folder / "home"
    home.mkdir()
    with ExitStack() as stack:
        scene = stack.enter_context(closing(Scene(clean_environment(home), folder)))
        exporter = stack.enter_context(closing(Exporter(home / "goalproxy")))
        jobs = {"goalproxy": [exporter.address], "sidecars": [scene.alone]}
        started = stack.enter_context(closing(Prometheus(folder, jobs)))
        known = "last_over_time(goalproxy:exporter[1h])"
        poll(lambda: started.query(known), bool, "the exporter")
        scene.play()
        poll(
            lambda: started.by("outcome", EXITS), lambda found: found.get("failed") == 3, "the last of what was played"
        )
        yield started


EXITS = 'sum by (outcome) (sum_over_time(goalproxy:growth{metric="goalproxy_agent_exits_total"}[1h]))'
