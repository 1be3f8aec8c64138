"""``/metrics`` after a scripted session: each number is right, and what nobody reported is not there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

from goalproxy.metrics.catalogue import CATALOGUE

from .client import Admin, Client, Samples, key
from .conftest import Start, clean_environment
from .rig import DEADLINE, Sidecar, scripted

_NATIVE = {"agent": "robo", "owner": "native"}


class Told(NamedTuple):
    """A session that has been played, and what the admin server says of it."""

    client: Client
    page: str
    samples: Samples


def _play(client: Client) -> None:
    """A session in which everything happens that can be counted."""
    first = client.open()
    _one_goal(client, first)
    _more_goals(client, first)
    _mistakes(client, first)
    second = client.new()
    client.control(second, "set", objective="Secret six")
    client.call("session/close", {"sessionId": second})
    _old_session(client, "secret-old-session")
    client.write(b"no JSON\n")
    client.notify("_puppet/say", {"text": "no JSON either"})
    client.call("_puppet/ping", {})


def _one_goal(client: Client, session: str) -> None:
    goal = {"objective": "Secret one", "createdAt": 1_700_000_000_000}
    client.control(session, "set", objective="Secret one")
    client.agent_reports(session, {**goal, "status": "active", "tokensUsed": 120, "timeUsedSeconds": 7})
    client.agent_reports(session, {**goal, "status": "active", "tokensUsed": 150, "timeUsedSeconds": 9})
    client.control(session, "pause")
    client.control(session, "resume")
    client.agent_reports(session, {**goal, "status": "pondering", "tokensUsed": 150, "timeUsedSeconds": 9})
    client.agent_reports(session, {**goal, "status": "complete", "tokensUsed": 200, "timeUsedSeconds": 12})


def _more_goals(client: Client, session: str) -> None:
    client.control(session, "set", objective="Secret two")
    client.agent_reports(session, {"objective": "Secret two", "status": "active", "updatedAt": 1_800_000_000_000})
    client.agent_reports(session, {"objective": "Secret one", "status": "complete", "updatedAt": 1_700_000_000_000})
    client.control(session, "set", objective="Secret three")  # replaces two
    client.agent_reports(session, {"objective": "Secret three", "status": "blocked"})
    client.control(session, "resume")
    client.agent_reports(session, {"objective": "Secret three", "status": "usageLimited"})
    client.control(session, "set", objective="Secret four")
    client.control(session, "clear")


def _mistakes(client: Client, session: str) -> None:
    client.control(session, "do-it-now")
    client.control(session, "set", objective="  ")
    client.control(session, "pause")  # there is no goal
    client.control(session, "set", objective="Secret refused")
    client.control(session, "set", objective="Secret held")
    client.notify("_puppet/fail", {})
    client.call("_puppet/ping", {})


def _old_session(client: Client, session: str) -> None:
    client.notify("_puppet/ping", {})
    client.call("session/load", {"sessionId": session, "cwd": "/", "mcpServers": []})
    client.agent_reports(session, {"objective": "Secret five", "status": "active", "tokensUsed": 9000})
    client.prompt(session, "/goal")
    client.control(session, "set", objective="Secret five again")
    client.prompt(session, " /goal pause ")
    own = {"name": "goal", "description": "by the agent"}
    client.agent_updates(session, {"sessionUpdate": "available_commands_update", "availableCommands": [own]})
    client.prompt(session, "/goal Secret seven")


_STOPS = {"complete": 1, "blocked": 1, "limited": 1, "cleared": 1, "replaced": 2, "ended_unknown": 1}
EXPECTED = {
    key("goalproxy_sessions", agent="robo"): 2,
    key("goalproxy_goals", **_NATIVE, status="active"): 0,
    key("goalproxy_goals", **_NATIVE, status="paused"): 1,
    key("goalproxy_goals", **_NATIVE, status="complete"): 0,
    key("goalproxy_goals", **_NATIVE, status="blocked"): 0,
    key("goalproxy_goals", **_NATIVE, status="limited"): 0,
    key("goalproxy_goals_started_total", **_NATIVE): 6,
    key("goalproxy_goals_restored_total", **_NATIVE): 1,
    **{key("goalproxy_goals_finished_total", **_NATIVE, outcome=outcome): number for outcome, number in _STOPS.items()},
    **{
        key("goalproxy_goal_duration_seconds_count", **_NATIVE, outcome=outcome): number
        for outcome, number in {**_STOPS, "replaced": 1}.items()  # The age of the one that was restored is not known.
    },
    key("goalproxy_goal_used_tokens_count", **_NATIVE, outcome="replaced"): 1,
    key("goalproxy_goal_used_tokens_count", **_NATIVE, outcome="complete"): 1,
    key("goalproxy_goal_tokens_total", **_NATIVE): 200,
    key("goalproxy_goal_active_seconds_total", **_NATIVE): 12,
    key("goalproxy_goal_reports_ignored_total", agent="robo"): 1,
    key("goalproxy_goal_statuses_unknown_total", agent="robo"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="set", result="ok"): 7,
    key("goalproxy_goal_control_requests_total", agent="robo", action="set", result="invalid"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="set", result="refused"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="set", result="late_error"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="pause", result="ok"): 2,
    key("goalproxy_goal_control_requests_total", agent="robo", action="pause", result="invalid"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="resume", result="ok"): 2,
    key("goalproxy_goal_control_requests_total", agent="robo", action="clear", result="ok"): 1,
    key("goalproxy_goal_control_requests_total", agent="robo", action="unknown", result="invalid"): 1,
    key("goalproxy_goal_commands_total", agent="robo", word="status", answered_by="proxy"): 1,
    key("goalproxy_goal_commands_total", agent="robo", word="pause", answered_by="proxy"): 1,
    key("goalproxy_goal_commands_total", agent="robo", word="set", answered_by="agent"): 1,
    key("goalproxy_relay_malformed_lines_total", direction="client_to_agent"): 1,
    key("goalproxy_relay_malformed_lines_total", direction="agent_to_client"): 1,
    key("goalproxy_sidecars_started_total"): 1,
    key("goalproxy_agent_up", agent="robo"): 1,
    key("goalproxy_agent_info", agent="robo", version="3.2.1", protocol="1", dialect="neutral"): 1,
    key("goalproxy_build_info", version=version("goalproxy")): 1,
}
"""Every sample after the session, but for the relay path's; of histograms, how many values they have."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """The session, played once for all tests of its numbers."""
    folder: Path = tmp_path_factory.mktemp("metrics")
    sidecar = Sidecar(scripted("goals"), ["--admin", "127.0.0.1:0"], env=clean_environment(folder), folder=folder)
    admin, client = Admin(sidecar), Client(sidecar)
    _play(client)
    yield Told(client, admin.page(), admin.samples())
    sidecar.close()


def test_each_number_of_goals_is_right_and_nothing_else_is_there(told: Told) -> None:
    counted = {
        sample: value
        for sample, value in told.samples.items()
        if not sample[0].startswith(("process_", "goalproxy_relay_messages", "goalproxy_relay_bytes"))
        and not sample[0].endswith(("_bucket", "_sum"))
        and not sample[0].startswith("goalproxy_relay_latency")
    }
    assert counted == EXPECTED


def test_every_line_is_counted_once(told: Told) -> None:
    def lines(direction: str, *treatments: str) -> float:
        name = "goalproxy_relay_messages_total"
        return sum(told.samples[key(name, direction=direction, treatment=each)] for each in treatments)

    assert lines("client_to_agent", "relayed", "rewritten", "swallowed") == told.client.sent
    assert lines("agent_to_client", "relayed", "rewritten", "injected") == told.client.received
    assert lines("client_to_agent", "injected") > 0
    assert lines("agent_to_client", "swallowed") > 0


def test_the_page_has_no_metric_beside_the_catalogue(told: Told) -> None:
    names = {metric.name for metric in CATALOGUE}
    ends = ("_bucket", "_count", "_sum")
    samples = {f"{metric.name}{end}" for metric in CATALOGUE for end in (ends if metric.buckets else ("",))}
    assert {name for name, _ in told.samples if not name.startswith("process_")} <= samples
    described = {line.split()[2] for line in told.page.splitlines() if line.startswith("# HELP goalproxy_")}
    assert described == names


def test_the_page_tells_no_session_and_no_text(told: Told) -> None:
    for text in ("secret", "Secret", "session-1", "do-it-now", "pondering"):
        assert text not in told.page


def test_promtool_finds_nothing_to_criticise(told: Told) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.fail("promtool is missing; it is in Debian's package prometheus: apt-get install prometheus")
    checked = subprocess.run(
        [promtool, "check", "metrics"],
        input=told.page.encode(), capture_output=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0


def test_usage_that_a_snapshot_leaves_out_is_not_counted_again(start: Start) -> None:
    sidecar = start(scripted("goals"), "--admin", "127.0.0.1:0")
    admin, client = Admin(sidecar), Client(sidecar)
    session = client.open()
    goal = {"objective": "Secret", "createdAt": 1_700_000_000_000, "status": "active"}
    client.agent_reports(session, {**goal, "tokensUsed": 150, "timeUsedSeconds": 9})
    client.agent_reports(session, {**goal, "status": "paused"})
    client.agent_reports(session, {**goal, "tokensUsed": 200, "timeUsedSeconds": 12})
    samples = admin.samples()
    assert samples[key("goalproxy_goal_tokens_total", **_NATIVE)] == 200
    assert samples[key("goalproxy_goal_active_seconds_total", **_NATIVE)] == 12
    sidecar.finish()


def test_rounds_are_counted_from_the_states_of_version_2(start: Start) -> None:
    sidecar = start(scripted("goals", '{"info": {"name": "@acme/robo", "version": "4"}}'), "--admin", "127.0.0.1:0")
    admin, client = Admin(sidecar), Client(sidecar)
    session = client.open(protocol=2)
    client.agent_updates(session, {"sessionUpdate": "state_update", "state": "running"})
    client.agent_updates(session, {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})
    assert key("goalproxy_goal_iterations_total", **_NATIVE) not in admin.samples(), "it worked for no goal"
    client.control(session, "set", objective="Secret")
    for _ in range(3):
        client.agent_updates(session, {"sessionUpdate": "state_update", "state": "running"})
        client.agent_updates(session, {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})
    assert admin.samples()[key("goalproxy_goal_iterations_total", **_NATIVE)] == 3
    sidecar.finish()


def test_an_agent_that_reports_nothing_has_no_goal_metrics_and_every_byte_counted(start: Start) -> None:
    sidecar = start(["cat"], "--admin", "127.0.0.1:0")
    admin, client = Admin(sidecar), Client(sidecar)
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":5}}\n')
    sidecar.output.line()
    client.write(b'{"jsonrpc":"2.0","method":"a"}\n')
    sidecar.output.line()
    client.call("_puppet/ping", {})
    samples = admin.samples()
    goals = {name for name, _ in samples if name.startswith("goalproxy_goal")}
    assert goals == set()
    assert not any(name == "goalproxy_agent_info" for name, _ in samples)
    assert samples[key("goalproxy_agent_up", agent="unknown")] == 1
    assert samples[key("goalproxy_relay_not_rewritten_total", method="initialize")] == 1
    for direction in ("client_to_agent", "agent_to_client"):
        relayed = {"direction": direction, "treatment": "relayed"}
        assert samples[key("goalproxy_relay_messages_total", **relayed)] == 3
        assert samples[key("goalproxy_relay_bytes_total", **relayed)] == 81 + 31 + len(
            b'{"jsonrpc": "2.0", "id": 2, "method": "_puppet/ping", "params": {}}\n'
        )
