"""Fixtures: an environment without the user's settings, and the program with a guaranteed end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from .rig import Sidecar, Trigger
from .rig import run as run_program

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[bytes]]


class Start(Protocol):
    """Starts goalproxy with an agent; see ``Sidecar`` for what can be given."""

    def __call__(
        self, agent: Sequence[str], *options: str, through: str = "", stdin: int = -1, stdout: int = -1
    ) -> Sidecar:
        """Start it."""


def clean_environment(home: Path) -> dict[str, str]:
    """The environment without settings of goalproxy, with an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOALPROXY_", "XDG_"))}
    return {**kept, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of the program; a test may add to it before it starts the program."""
    return clean_environment(tmp_path)


@pytest.fixture
def start(tmp_path: Path, env: dict[str, str]) -> Iterator[Start]:
    """Start sidecars that are ended with the test."""
    started: list[Sidecar] = []

    def begin(agent: Sequence[str], *options: str, through: str = "", stdin: int = -1, stdout: int = -1) -> Sidecar:
        sidecar = Sidecar(agent, options, env=env, folder=tmp_path, through=through, stdin=stdin, stdout=stdout)
        started.append(sidecar)
        return sidecar

    yield begin
    for sidecar in started:
        sidecar.close()


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str]) -> Run:
    """Run the program to its end with some words."""
    return partial(run_program, env=env, folder=tmp_path)


@pytest.fixture
def trigger(tmp_path: Path) -> Iterator[Trigger]:
    """A named pipe to an agent."""
    pipe = Trigger(tmp_path)
    yield pipe
    pipe.close()
