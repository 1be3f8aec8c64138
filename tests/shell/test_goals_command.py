"""``goalproxy goals``: why a goal is stuck, for a person and for a script."""

from __future__ import annotations

import json
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goalproxy.proxy.shell.registry import Registration

from .client import Client, Operator
from .conftest import Run, Start
from .rig import eventually, scripted


def lines(text: bytes) -> list[str]:
    """What was printed."""
    return text.decode().splitlines()


def test_each_goal_is_shown_with_what_it_waits_for(start: Start, run: Run) -> None:
    worker = start(scripted("worker"), "--min-interval", "3600", "--token-budget", "5000")
    client = Client(worker)
    client.open()
    client.control("s", "set", objective="Make the tests pass\nand the docs true \x1b[31m")
    ended = run(["goals"])
    assert (ended.returncode, ended.stderr) == (0, b"")
    *shown, last = lines(ended.stdout)
    assert shown == [
        f"sidecar {worker.pid}, worker",
        "  s  active, round 1, 0 s",
        "       Make the tests pass",
        "       and the docs true \\x1b[31m",
    ]
    assert re.fullmatch(r"       is worked for, in a round that began \d+ s ago", last)
    client.notify("_puppet/finish", {"text": "2 tests fail"})
    client.call("_puppet/ping", {})
    (waits,) = [line for line in lines(run(["goals"]).stdout) if "waits" in line]
    assert waits.startswith("       waits for the time of its next round, in 3")


def test_all_sidecars_are_asked_also_those_without_a_goal(start: Start, run: Run) -> None:
    robo, other = start(scripted("goals")), start(["cat"])
    client = Client(robo)
    session = client.open()
    client.agent_reports(session, {"objective": "Secret", "status": "blocked", "lastReason": "No network"})
    Operator(other)
    ended = run(["goals", "--json"])
    found = {answer["pid"]: answer for answer in json.loads(ended.stdout)}
    assert set(found) == {robo.pid, other.pid}
    assert found[other.pid] == {"pid": other.pid, "agent": "unknown", "goals": []}
    (goal,) = found[robo.pid]["goals"]
    assert (goal["owner"], goal["status"], goal["objective"], goal["lastReason"]) == (
        "native",
        "blocked",
        "Secret",
        "No network",
    )
    assert "  no goal" in lines(run(["goals"]).stdout)


def test_without_sidecars_that_is_said(run: Run, tmp_path: Path) -> None:
    assert run(["goals"]).stdout == b"No sidecar runs.\n"
    assert run(["goals", "--json", "--registry", str(tmp_path / "nowhere")]).stdout == b"[]\n"


def test_a_sidecar_that_hangs_is_named_and_the_others_are_shown(start: Start, run: Run) -> None:
    hung, other = start(["cat"]), start(["cat"])
    Operator(hung)
    Operator(other)
    hung.signal(signal.SIGSTOP)
    ended = run(["goals"])
    hung.signal(signal.SIGCONT)
    assert ended.returncode == 1
    shown = lines(ended.stdout)
    assert shown[shown.index(f"sidecar {hung.pid}, unknown") + 1] == "  gave no answer"
    assert shown[shown.index(f"sidecar {other.pid}, unknown") + 1] == "  no goal"


def test_nothing_that_a_terminal_would_obey_is_printed_whoever_said_it(start: Start, run: Run) -> None:
    sidecar = start(scripted("goals", json.dumps({"agentInfo": {"name": "\x1b[31mred", "version": "1"}})))
    Client(sidecar).open()
    assert lines(run(["goals"]).stdout) == [f"sidecar {sidecar.pid}, \\x1b[31mred", "  no goal"]


@pytest.mark.parametrize("body", ["null", "[7]", '[{"sessionId": 7}]', '[{"status": "active"}]', "["])
def test_what_makes_no_sense_is_no_answer(run: Run, tmp_path: Path, body: str) -> None:
    registration = Registration(tmp_path / "goalproxy")
    listener = registration.listen()
    assert listener is not None
    with listener, ThreadPoolExecutor() as pool:
        pool.submit(_answer, listener, body)
        ended = run(["goals"])
    assert (ended.returncode, lines(ended.stdout)[1:], ended.stderr) == (1, ["  gave no answer"], b"")


def _answer(listener: socket.socket, body: str) -> None:
    """Give one answer to whoever asks."""
    end, _ = listener.accept()
    with end:
        end.recv(1 << 16)
        end.sendall(f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


def test_a_sidecar_that_has_ended_is_not_asked(start: Start, run: Run) -> None:
    ended = start(["cat"])
    Operator(ended)
    ended.signal(signal.SIGKILL)
    ended.wait()
    eventually(lambda: run(["goals"]).stdout == b"No sidecar runs.\n")


def test_an_agents_command_makes_no_sense_here(run: Run) -> None:
    ended = run(["goals", "--", "cat"])
    assert ended.returncode == 2
    assert ended.stderr == b"goalproxy: this asks sidecars that run; leave out what stands after --\n"
