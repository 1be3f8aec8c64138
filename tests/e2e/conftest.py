"""Fixtures and hooks of the tests with real agents."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from . import matrix
from .agents import Agent, NotInstalledError
from .scene import Scene

Closing: TypeAlias = Callable[[Scene], None]

MATRIX: Final = pytest.StashKey[matrix.Matrix]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that tie a test to the matrix."""
    config.addinivalue_line("markers", "family(*families): is about the builds of these families of agents")
    config.addinivalue_line("markers", "covers(*behaviours): runs for the builds that have these behaviours")
    config.addinivalue_line(
        "markers", "absent(*behaviours): runs for the builds that lack them, and tests what is true there"
    )
    config.stash[MATRIX] = matrix.Matrix()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the builds it is about."""
    if "agent" in metafunc.fixturenames:
        agents = matrix.agents_for(metafunc.definition)
        metafunc.parametrize("agent", agents, ids=[agent.key for agent in agents])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the tests that are about none of the chosen builds."""
    empty = [item for item in items if matrix.is_empty(item)]
    config.hook.pytest_deselected(items=empty)
    items[:] = [item for item in items if item not in empty]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Enter the outcome into the matrix, and show the traffic of a test that failed."""
    report = yield
    item.config.stash[MATRIX].enter(item, report)
    scenes = [each for each in getattr(item, "funcargs", {}).values() if isinstance(each, Scene)]
    if report.failed and scenes:
        report.sections.append(("traffic", scenes[0].traffic.tail(120)))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table of the README if this run was asked to."""
    session.config.stash[MATRIX].finish(session)


@pytest.fixture(scope="session")
def closing() -> Iterator[Closing]:
    """Stop scenes while the next tests run: an agent takes its time to exit, and nobody has to wait for it."""
    with ThreadPoolExecutor(thread_name_prefix="closing") as pool:
        ends: list[Future[None]] = []
        yield lambda scene: ends.append(pool.submit(scene.close))
        for end in ends:
            end.result()


def play(agent: Agent, folder: Path, protocol: int, closing: Closing) -> Iterator[Scene]:
    """Yield a scene with this agent behind the proxy; the whole run is judged afterwards."""
    try:
        agent.command()
    except NotInstalledError as missing:
        pytest.fail(str(missing), pytrace=False)
    scene = Scene(agent, folder, protocol=protocol)
    try:
        yield scene
    finally:
        faults = scene.complaints()
        closing(scene)
    assert not faults, "\n".join(faults)


@pytest.fixture
def scene(agent: Agent, tmp_path: Path, closing: Closing) -> Iterator[Scene]:
    """A scene on protocol 1 of ACP."""
    yield from play(agent, tmp_path, 1, closing)


@pytest.fixture
def scene_v2(agent: Agent, tmp_path: Path, closing: Closing) -> Iterator[Scene]:
    """A scene on protocol 2 of ACP."""
    yield from play(agent, tmp_path, 2, closing)
