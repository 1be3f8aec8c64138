"""The host that the tests look at: started and played once, while a real Prometheus scrapes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest

from ..shell.conftest import clean_environment, env, start
from ..shell.exporter import Exporter
from .prometheus import Prometheus, poll
from .scene import CRASHES, Scene

__all__ = ["env", "prometheus", "start"]
EXITS = 'sum by (outcome) (sum_over_time(goalproxy:growth{metric="goalproxy_agent_exits_total"}[1h]))'


@pytest.fixture(scope="package")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, when it knows all that has happened."""
    folder = tmp_path_factory.mktemp("fleet")
    environment = clean_environment(folder)
    with ExitStack() as stack:
        scene = stack.enter_context(closing(Scene(environment, folder)))
        exporter = stack.enter_context(
            closing(Exporter("--registry", str(folder / "goalproxy"), env=environment, folder=folder))
        )
        started = stack.enter_context(closing(Prometheus(folder, urlsplit(exporter.url).netloc)))
        started.until_known()
        scene.play()
        poll(
            lambda: started.by("outcome", EXITS),
            lambda found: found.get("failed") == CRASHES,
            "the last that was played",
        )
        yield started
