"""What the program prints about itself, and what it says when it is called in a way that makes no sense."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from .conftest import Run
from .rig import DEADLINE, PROGRAM


def test_the_version_is_that_of_the_installed_package(run: Run) -> None:
    ended = run(["--version"])
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode() == f"goalproxy {version('goalproxy')}\n"


def test_the_program_is_installed_under_its_name(env: dict[str, str]) -> None:
    script = Path(sys.executable).with_name("goalproxy")
    ended = subprocess.run([script, "--version"], env=env, capture_output=True, timeout=DEADLINE, check=True)
    assert ended.stdout.startswith(b"goalproxy ")


@pytest.mark.parametrize("words", [["--help"], []], ids=["asked for", "nothing said"])
def test_the_help_names_every_option_and_command(run: Run, words: list[str]) -> None:
    ended = run(words)
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    for word in (
        "--admin", "--on-cancel", "--agent-kind", "--config", "--log-level", "--log-format", "--log-content",
        "--version", "doctor", "exporter", "-- AGENT_COMMAND", "GOALPROXY_", "config.toml",
    ):  # fmt: skip
        assert word in text


def test_the_help_of_the_doctor_names_its_options_and_exit_codes(run: Run) -> None:
    ended = run(["doctor", "--help"])
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    for word in ("--json", "--timeout", "--agent-kind", "127"):
        assert word in text


def test_the_help_of_the_exporter_names_its_options_and_its_port(run: Run) -> None:
    ended = run(["exporter", "--help"])
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    for word in (
        "--listen", "--registry", "--all-users", "--textfile", "--file-sd", "--interval", "--once", "127.0.0.1:9465",
    ):  # fmt: skip
        assert word in text


@pytest.mark.parametrize(
    "words",
    [["codex-acp"], ["--"], ["--log-level", "debug"], ["--log-level", "debug", "--"], ["doctor"], ["doctor", "--"]],
    ids=" ".join,
)
def test_a_call_without_the_agents_command_says_where_it_goes(run: Run, words: list[str]) -> None:
    ended = run(words)
    assert ended.returncode == 2
    assert ended.stdout == b""
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("goalproxy: ")
    assert "--" in lines[0]
    assert "command" in lines[0]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_a_shell(run: Run, env: dict[str, str], name: str) -> None:
    env["_GOALPROXY_COMPLETE"] = f"source_{name}"
    ended = run([])
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"_GOALPROXY_COMPLETE" in ended.stdout


def test_completion_is_printed_for_the_shell_that_asks(env: dict[str, str], tmp_path: Path) -> None:
    ended = subprocess.run(
        ["bash", "-c", '"$@"; exit $?', "bash", *PROGRAM, "--show-completion"],
        env=env, cwd=tmp_path, capture_output=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"complete -o default -F" in ended.stdout


def test_an_option_is_completed(run: Run, env: dict[str, str]) -> None:
    env |= {"_GOALPROXY_COMPLETE": "complete_bash", "COMP_WORDS": "goalproxy --on-c", "COMP_CWORD": "1"}
    ended = run([])
    assert ended.stdout.decode().split() == ["--on-cancel"]
