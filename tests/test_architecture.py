"""The import arrows between the rooms hold, and nothing is imported under a second name."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {"proxy", "mappers", "metrics"}

MAY_IMPORT: dict[str, set[str]] = {
    "proxy.wire": {"proxy.wire"},
    "proxy.goal": {"proxy.goal", "proxy.wire"},
    "mappers": {"mappers", "proxy.goal", "proxy.wire"},
    "proxy.core": {"proxy.core", "proxy.goal", "proxy.wire", "mappers.base"},
    "metrics": {"metrics", "proxy.core.facts", "proxy.goal.changes"},
    "proxy.shell": {
        "proxy.shell",
        "proxy.core",
        "proxy.goal",
        "proxy.wire",
        "proxy.settings",
        "proxy.errors",
        "proxy.version",
        "mappers",
        "metrics",
    },
    "proxy.cli": {"proxy"},
    "proxy.options": {"proxy"},
    "proxy.settings": {"proxy.errors"},
    "proxy.errors": set(),
    "proxy.version": set(),
    "proxy.__main__": {"proxy.cli"},
    "proxy.__init__": set(),
}
OUTSIDE: dict[str, set[str]] = {
    "proxy.wire": {"msgspec"},
    "proxy.goal": {"msgspec"},
    "mappers": {"msgspec"},
    "proxy.core": {"msgspec"},
    "metrics": {"opentelemetry", "prometheus_client"},
}
"""What the pure rooms may import besides the standard library."""
IMPURE = {"asyncio", "os", "select", "signal", "socket", "subprocess", "sys", "threading", "time"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module by its dotted name below ``goalproxy``."""
    for room in sorted(ROOMS):
        for file in sorted((ROOT / room).rglob("*.py")):
            yield ".".join(file.relative_to(ROOT).with_suffix("").parts), ast.parse(file.read_text())


def imports(name: str, tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports; those of ours begin with ``goalproxy.``."""
    package = ["goalproxy", *name.split(".")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            source = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*source, alias.name]) for alias in node.names)


def room_of(name: str) -> str:
    """The room whose rule a module has to keep: the longest that fits."""
    return max((room for room in MAY_IMPORT if f"{name}.".startswith(f"{room}.")), key=len)


@pytest.mark.parametrize(("name", "tree"), [pytest.param(name, tree, id=name) for name, tree in modules()])
def test_a_module_imports_only_what_its_room_may(name: str, tree: ast.Module) -> None:
    room = room_of(name)
    for imported in imports(name, tree):
        first, _, ours = imported.partition(".")
        assert first not in ROOMS, f"{name} imports {imported}, which would be a second copy of goalproxy.{imported}"
        if first == "goalproxy":
            assert any(f"{ours}.".startswith(f"{allowed}.") for allowed in MAY_IMPORT[room]), f"{name} imports {ours}"
        elif room in OUTSIDE:
            assert first in OUTSIDE[room] or first not in IMPURE, f"{name}, which is pure, imports {imported}"


def test_only_the_command_line_imports_the_shell() -> None:
    users = {name for name, tree in modules() for imported in imports(name, tree) if ".proxy.shell" in f".{imported}"}
    assert {room_of(name) for name in users} <= {"proxy.cli", "proxy.options", "proxy.shell"}


SLOW = ["annotated_types", "pydantic", "typer", "hashlib", "aiohttp", "prometheus_client", "structlog", "opentelemetry"]
SLOWER = [*SLOW, "asyncio", "importlib.metadata", "sqlite3", "tempfile", "http", "logging"]


@pytest.mark.parametrize(
    ("module", "slow"),
    [("goalproxy.proxy.cli, goalproxy.proxy.shell.run", SLOW), ("goalproxy.proxy.shell.sidecar", SLOWER)],
    ids=["before the agent is started", "before its client is served"],
)
def test_the_way_to_the_first_message_loads_nothing_slow(module: str, slow: list[str]) -> None:
    code = f"import sys, {module}\nprint(*(name for name in {slow} if name in sys.modules))"
    # What the tests themselves put into every process, coverage first of all, is no part of the program.
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.run(command, env=bare, capture_output=True, text=True, check=True).stdout.split() == []


def test_files_are_small_and_say_what_they_are() -> None:
    for name, tree in modules():
        assert ast.get_docstring(tree), f"{name} does not say what it is"
        lines = len((ROOT / Path(*name.split("."))).with_suffix(".py").read_text().splitlines())
        assert lines <= 320, f"{name} has {lines} lines: split it"
