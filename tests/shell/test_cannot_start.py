"""An agent that cannot be started: one line that says so, and the exit code that a shell would give."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def command(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A command that cannot be started, by its kind."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "garbage").write_bytes(b"\x00\x01\x02\x03")
    (tmp_path / "garbage").chmod(0o755)
    (tmp_path / "no-interpreter").write_text("#!/no/such/interpreter\n")
    (tmp_path / "no-interpreter").chmod(0o755)
    (tmp_path / "loop").symlink_to("loop")
    return {
        "a name that is nowhere": "no-such-agent",
        "a path that is nowhere": "/no/such/agent",
        "a path through a file": str(tmp_path / "plain" / "agent"),
        "a script without its interpreter": str(tmp_path / "no-interpreter"),
        "a file that is not executable": str(tmp_path / "plain"),
        "a folder": str(tmp_path),
        "a file that is no program": str(tmp_path / "garbage"),
        "a link to itself": str(tmp_path / "loop"),
    }[request.param]


_MISSING = [
    "a name that is nowhere", "a path that is nowhere", "a path through a file", "a script without its interpreter",
]  # fmt: skip
_UNUSABLE = ["a file that is not executable", "a folder", "a file that is no program", "a link to itself"]
_WITH = pytest.mark.parametrize(
    "before", [[], ["--admin", "127.0.0.1:0"], ["doctor"]], ids=["", "with the admin server", "doctor"]
)


def _assert_one_line(stderr: bytes, command: str) -> None:
    lines = stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"goalproxy: cannot start {command!r}: ")


@pytest.mark.parametrize("command", _MISSING, indirect=True)
def test_a_command_that_does_not_exist_gives_127(run: Run, command: str) -> None:
    ended = run(["--", command, "argument"])
    _assert_one_line(ended.stderr, command)
    assert ended.stdout == b""
    assert ended.returncode == 127


@pytest.mark.parametrize("command", _UNUSABLE, indirect=True)
def test_a_command_that_cannot_be_run_gives_126(run: Run, command: str) -> None:
    ended = run(["--", command, "argument"])
    _assert_one_line(ended.stderr, command)
    assert ended.stdout == b""
    assert ended.returncode == 126


@pytest.mark.parametrize("command", ["a name that is nowhere"], indirect=True)
@_WITH
def test_it_is_the_same_however_it_is_asked_for(run: Run, command: str, before: list[str]) -> None:
    ended = run([*before, "--", command])
    _assert_one_line(ended.stderr, command)
    assert ended.stdout == b""
    assert ended.returncode == 127


@pytest.mark.parametrize("command", ["a folder"], indirect=True)
def test_the_doctor_gives_126_for_a_command_that_cannot_be_run(run: Run, command: str) -> None:
    ended = run(["doctor", "--", command])
    _assert_one_line(ended.stderr, command)
    assert ended.returncode == 126
