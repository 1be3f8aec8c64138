"""Logs: silent unless something is wrong or wanted, and without the text of users unless that is asked for."""

from __future__ import annotations

import json

import pytest

from .client import Client
from .conftest import Start
from .rig import Sidecar, scripted

_SECRET = "Paint the barn"


def _play(sidecar: Sidecar) -> None:
    """An ordinary session with a goal, a mistake and a prompt, ended by the client."""
    client = Client(sidecar)
    session = client.open()
    client.control(session, "set", objective=_SECRET)
    client.control(session, "set", objective=f"{_SECRET} " * 3, expectedGoal="nonsense")
    client.prompt(session, f"/goal {_SECRET} red")
    client.prompt(session, f"Please, {_SECRET}")
    client.agent_reports(session, {"objective": _SECRET, "status": "complete", "lastReason": f"{_SECRET}: done"})
    client.control(session, "clear")
    sidecar.input.close()


def test_an_ordinary_session_leaves_nothing_on_stderr(start: Start) -> None:
    sidecar = start(scripted("goals"))
    _play(sidecar)
    assert sidecar.errors.rest() == b""
    assert sidecar.wait() == 0


def test_something_odd_is_a_warning_without_asking(start: Start) -> None:
    sidecar = start(scripted("goals"))
    client = Client(sidecar)
    session = client.open()
    client.agent_reports(session, {"objective": _SECRET, "status": "pondering"})
    line = sidecar.errors.line().decode()
    assert "level=warning" in line
    assert "unknown_status" in line
    assert _SECRET not in line


def test_level_info_tells_what_happens_to_goals_and_level_error_tells_nothing(start: Start) -> None:
    informed, quiet = (start(scripted("goals"), "--log-level", level) for level in ("info", "error"))
    _play(informed)
    _play(quiet)
    lines = informed.errors.rest().decode()
    for event in ("agent_identified", "goal_started", "goal_stopped", "control_answered", "command_seen"):
        assert f"event={event}" in lines
    assert "event=message" not in lines
    assert quiet.errors.rest() == b""


def test_level_debug_tells_each_message(start: Start) -> None:
    sidecar = start(["cat"], "--log-level", "debug", "--log-format", "json")
    lines = [b'{"jsonrpc":"2.0","id":"x","method":"a"}\n', b"no JSON\n", b'{"id":null,"result":1}\n', b"\n"]
    for line in lines:
        sidecar.input.write(line)
        assert sidecar.output.line() == line
    sidecar.input.close()
    logged = [json.loads(line) for line in sidecar.errors.rest().splitlines()]
    messages = [entry for entry in logged if entry["event"] == "message"]
    for direction in ("client_to_agent", "agent_to_client"):
        ours = [entry for entry in messages if entry["direction"] == direction]
        assert [entry["bytes"] for entry in ours] == [len(line) for line in lines]
        assert ours[0]["method"] == "a"
        assert [ours[0]["id"], ours[2]["id"]] == ["x", None]
        assert {entry["treatment"] for entry in ours} == {"relayed"}
        assert {entry["level"] for entry in ours} == {"debug"}


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("level", ["debug", "info"])
def test_no_level_tells_the_text_of_users(start: Start, level: str, log_format: str) -> None:
    sidecar = start(scripted("goals"), "--log-level", level, "--log-format", log_format)
    _play(sidecar)
    errors = sidecar.errors.rest()
    assert errors
    assert b"barn" not in errors
    assert b"secret-session" not in errors


def test_the_text_of_messages_is_told_when_it_is_asked_for(start: Start) -> None:
    sidecar = start(scripted("goals"), "--log-level", "debug", "--log-content", "--log-format", "json")
    _play(sidecar)
    contents = [entry.get("content", "") for entry in map(json.loads, sidecar.errors.rest().splitlines())]
    assert any(f"Please, {_SECRET}" in content for content in contents)


@pytest.mark.parametrize("content", [(), ("--log-content",)], ids=["", "with content"])
def test_each_line_of_format_json_is_one_object_whatever_passes(start: Start, content: tuple[str, ...]) -> None:
    lines = (
        b'{"method":"a\\nb\\u2028","id":"\\ud800"}\n{"id":1e400,"method":"a"}\n\xff\xfe\n[]\n'
        b'{"method":"a","id":12345678901234567890123}\n\n{"id":true,"result":"\xe2\x80\xa8"}\r\n'
    )
    sidecar = start(["cat"], "--log-level", "debug", "--log-format", "json", *content)
    sidecar.input.write(lines)
    sidecar.input.close()
    assert sidecar.output.rest() == lines
    logged = sidecar.errors.rest().split(b"\n")
    assert logged.pop() == b""
    assert len(logged) > 10
    for line in logged:
        entry = json.loads(line)
        assert {"timestamp", "level", "event"} <= set(entry)
        assert ("content" in entry) == (bool(content) and entry["event"] == "message")


def test_a_message_cannot_forge_a_log_line(start: Start) -> None:
    sidecar = start(["cat"], "--log-level", "debug", "--log-content")
    line = b'{"method":"a\\nlevel=error event=forged","id":"b\\nlevel=error event=forged"}\n'
    sidecar.input.write(line)
    sidecar.input.close()
    assert sidecar.output.rest() == line
    for logged in sidecar.errors.rest().decode().splitlines():
        assert logged.startswith("timestamp=")
