"""``--otlp``: metrics are pushed to a collector, and the relay never notices."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, HistogramDataPoint

from goalproxy.metrics.catalogue import EXPORTER
from goalproxy.metrics.otlp import otel_name
from goalproxy.proxy.errors import UsageError
from goalproxy.proxy.shell.otlp import endpoint
from goalproxy.proxy.version import VERSION

from .client import Client
from .collector import Collector
from .conftest import Run, Start
from .exporter import Exporter
from .members import Member, ended, locked
from .rig import now, python, scripted

OFTEN = {"OTEL_METRIC_EXPORT_INTERVAL": "20"}
NATIVE = {"agent": "robo", "owner": "native"}
ENDED = {"agent": "a", "owner": "native"}
LAST_PUSH = 2.0
"""Seconds that the end of a sidecar may wait for a collector."""
SLACK = 4.0
"""Seconds that anything may take on a busy machine."""
MARK = b"the agent runs\n"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that takes everything."""
    listening = Collector()
    yield listening
    listening.close()


def complete_a_goal(client: Client, session: str) -> None:
    """Set a goal and have it completed."""
    client.control(session, "set", objective="Secret")
    goal = {"objective": "Secret", "createdAt": 1_700_000_000_000, "tokensUsed": 120}
    client.agent_reports(session, {**goal, "status": "active"})
    client.agent_reports(session, {**goal, "status": "complete"})


# A sidecar


def test_what_a_sidecar_did_is_told_at_its_end(start: Start, collector: Collector) -> None:
    sidecar = start(scripted("goals"), "--otlp", collector.url)
    client = Client(sidecar)
    complete_a_goal(client, client.open())
    assert sidecar.finish() == 0
    push = collector.last()
    assert push.path == "/v1/metrics"
    assert push.value("goalproxy.goals_started", **NATIVE) == 1
    assert push.value("goalproxy.goals_finished", **NATIVE, outcome="complete") == 1
    assert push.value("goalproxy.goals", **NATIVE, status="complete") == 0, "its session is over"
    assert push.value("goalproxy.goal.tokens", **NATIVE) == 120
    assert push.value("goalproxy.agent.exits", agent="robo", outcome="ended") == 1
    (tokens,) = push.points("goalproxy.goal.used_tokens").values()
    assert isinstance(tokens, HistogramDataPoint)
    assert (tokens.count, tokens.sum, tokens.bucket_counts[0], tokens.explicit_bounds[0]) == (1, 120, 1, 1000)
    assert not tokens.HasField("min")
    assert b"Secret" not in b"".join(metric.SerializeToString() for metric in push.metrics.values())
    assert sidecar.errors.rest() == b""


def test_counts_are_sums_from_the_start_of_the_sidecar_on(
    start: Start, env: dict[str, str], collector: Collector
) -> None:
    env.update(OFTEN)
    sidecar = start(scripted("goals"), "--otlp", collector.url)
    client = Client(sidecar)
    session = client.open()
    told = [collector.next()]
    complete_a_goal(client, session)
    while "goalproxy.goals_finished" not in told[-1].metrics:
        told.append(collector.next())
    sidecar.finish()
    started = [push.metrics["goalproxy.sidecars_started"].sum for push in told]
    assert all(each.is_monotonic for each in started)
    assert {each.aggregation_temporality for each in started} == {
        AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    }
    points = [each.data_points[0] for each in started]
    assert len({point.start_time_unix_nano for point in points}) == 1
    assert points[0].start_time_unix_nano < points[0].time_unix_nano
    assert all(one.time_unix_nano < other.time_unix_nano for one, other in pairwise(points))
    assert {point.as_double for point in points} == {1}


def test_each_sidecar_is_somebody_else(start: Start, collector: Collector) -> None:
    who = []
    for _ in range(2):
        start(["cat"], "--otlp", collector.url).finish()
        who.append(collector.last().resource)
    assert {(each["service.name"], each["service.version"]) for each in who} == {("goalproxy", VERSION)}
    assert who[0]["service.instance.id"] != who[1]["service.instance.id"]


def test_the_variables_of_opentelemetry_count(start: Start, env: dict[str, str], collector: Collector) -> None:
    env["OTEL_EXPORTER_OTLP_HEADERS"] = "x-tenant=team-a"
    env["OTEL_EXPORTER_OTLP_COMPRESSION"] = "gzip"
    env["OTEL_RESOURCE_ATTRIBUTES"] = "deployment.environment.name=test,service.name=mine"
    start(["cat"], "--otlp", f"{collector.url}/base/").finish()
    push = collector.last()
    assert push.path == "/base/v1/metrics"
    assert (push.headers["x-tenant"], push.headers["content-encoding"]) == ("team-a", "gzip")
    assert (push.resource["deployment.environment.name"], push.resource["service.name"]) == ("test", "mine")


def test_the_setting_can_be_a_variable_and_name_the_whole_path(
    start: Start, env: dict[str, str], collector: Collector
) -> None:
    env["GOALPROXY_OTLP"] = f"{collector.url}/v1/metrics"
    start(["cat"]).finish()
    assert collector.last().path == "/v1/metrics"


def test_nothing_is_loaded_for_it_before_the_agent_runs(
    start: Start, env: dict[str, str], collector: Collector
) -> None:
    env["PYTHONPROFILEIMPORTTIME"] = "1"
    agent = python("import sys; sys.stderr.write('the agent runs\\n'); sys.stderr.flush(); sys.stdin.read()")
    sidecar = start(agent, "--otlp", collector.url)
    before = []
    while (line := sidecar.errors.line()) != MARK:
        assert line
        before.append(line)
    sidecar.finish()
    after = sidecar.errors.rest()
    collector.last()
    for library in (b"opentelemetry.sdk.", b"requests", b"google.protobuf"):
        assert not any(library in line for line in before)
        assert library in after


# A collector that does not do its part


def until_answered(collector: Collector, status: int) -> None:
    """Wait until a few pushes were answered so."""
    for _ in range(5):
        while collector.next().answer != status:
            pass


def test_a_collector_that_refuses_is_complained_about_once_until_it_takes_something(
    start: Start, env: dict[str, str], collector: Collector
) -> None:
    env.update(OFTEN)
    collector.status = 400
    sidecar = start(["cat"], "--otlp", collector.url)
    until_answered(collector, 400)
    collector.status = 200
    until_answered(collector, 200)
    collector.status = 403
    until_answered(collector, 403)
    sidecar.finish()
    lines = sidecar.errors.rest().decode().splitlines()
    assert len(lines) == 2
    for line, status in zip(lines, ("400", "403"), strict=True):
        assert line.startswith(f"goalproxy: no metrics are pushed to {collector.url}/v1/metrics: ")
        assert status in line


def test_a_collector_that_is_not_there_takes_nothing_from_the_relay(start: Start, env: dict[str, str]) -> None:
    env.update(OFTEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    sidecar = start(["cat"], "--otlp", f"http://user:secret@127.0.0.1:{port}")
    line = b'{"jsonrpc":"2.0","method":"a"}\n'
    for _ in range(100):
        sidecar.input.write(line)
        assert sidecar.output.line() == line
    began = now()
    assert sidecar.finish() == 0
    assert now() - began < LAST_PUSH + SLACK
    assert sidecar.output.rest() == b""
    complaint = sidecar.errors.rest().decode()
    assert complaint.count("\n") == 1
    assert complaint.startswith(f"goalproxy: no metrics are pushed to http://127.0.0.1:{port}/v1/metrics: ")
    assert "secret" not in complaint


def test_a_collector_that_never_answers_holds_up_the_end_no_longer_than_promised(
    start: Start, collector: Collector
) -> None:
    collector.answers.clear()
    sidecar = start(python("import sys; sys.stdin.read(); sys.exit(7)"), "--otlp", collector.url)
    began = now()
    assert sidecar.finish() == 7
    assert now() - began < LAST_PUSH + SLACK
    assert sidecar.errors.rest().decode() == (
        f"goalproxy: no metrics are pushed to {collector.url}/v1/metrics: the last push took longer than 2 s\n"
    )


# What is refused


@pytest.mark.parametrize("words", [["--otlp", "http://127.0.0.1:4318", "--"], ["exporter", "--otlp", "http://x"]])
def test_without_the_libraries_it_is_said_how_to_install_them_and_nothing_is_started(
    run: Run, env: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'opentelemetry':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "without"), *filter(None, [env.get("PYTHONPATH")])])
    agent = ["touch", str(tmp_path / "started")] if words[-1] == "--" else []
    refused = run([*words, *agent])
    assert (refused.returncode, refused.stdout) == (2, b"")
    line = "goalproxy: to push metrics over OTLP, install the libraries for it: pip install 'goalproxy[otlp]'\n"
    assert refused.stderr.decode() == line
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://", "http://x:0", "http://x:y", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="an OTLP endpoint must be a URL"):
        endpoint(url)


@pytest.mark.parametrize("words", [["--otlp", "x", "--"], ["exporter", "--otlp", "x"]])
def test_what_is_no_url_is_one_clear_line_before_anything_is_started(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    agent = ["touch", str(tmp_path / "started")] if words[-1] == "--" else []
    refused = run([*words, *agent])
    line = "goalproxy: an OTLP endpoint must be a URL such as http://127.0.0.1:4318, not 'x'\n"
    assert (refused.returncode, refused.stderr.decode()) == (2, line)
    assert not (tmp_path / "started").exists()


# The exporter of a host


class Export(Protocol):
    """Starts an exporter of the directory ``registry`` that pushes to the collector."""

    def __call__(self) -> Exporter:
        """Start it."""


@pytest.fixture
def export(tmp_path: Path, env: dict[str, str], collector: Collector) -> Iterator[Export]:
    """Start exporters that are ended with the test."""
    started: list[Exporter] = []

    def begin() -> Exporter:
        options = ("--registry", str(tmp_path / "registry"), "--otlp", collector.url)
        started.append(Exporter(*options, env=env, folder=tmp_path))
        return started[-1]

    yield begin
    for exporter in started:
        exporter.close()


def test_the_exporter_pushes_what_all_sidecars_did_and_itself(
    export: Export, env: dict[str, str], tmp_path: Path, collector: Collector
) -> None:
    env.update(OFTEN)
    ended(tmp_path / "registry", 3)
    living = Member(tmp_path / "registry")
    living.work(4)
    export()
    first = push = collector.next()
    assert push.value("goalproxy.goals_started", **ENDED) == 7
    assert {otel_name(metric) for metric in EXPORTER} <= set(push.metrics)
    living.work(2)
    while push.value("goalproxy.goals_started", **ENDED) < 9:
        push = collector.next()
    (before,) = first.points("goalproxy.goals_started").values()
    (after,) = push.points("goalproxy.goals_started").values()
    assert before.start_time_unix_nano == before.time_unix_nano, "what was there before was not counted since then"
    assert after.start_time_unix_nano == before.start_time_unix_nano < after.time_unix_nano


def test_an_exporter_stays_the_same_and_tells_the_rest_at_its_end(
    export: Export, tmp_path: Path, collector: Collector
) -> None:
    who = set()
    for goals in (3, 7):
        exporter = export()
        ended(tmp_path / "registry", 3 if goals == 3 else 4)
        assert exporter.end() == 0
        push = collector.last()
        assert push.value("goalproxy.goals_started", **ENDED) == goals
        who.add(push.resource["service.instance.id"])
    assert len(who) == 1


def test_a_collector_that_never_answers_holds_up_the_end_of_an_exporter_no_longer_than_promised(
    export: Export, collector: Collector
) -> None:
    collector.answers.clear()
    exporter = export()
    began = now()
    assert exporter.end() == 0
    assert now() - began < LAST_PUSH + SLACK
    assert b"the last push took longer than 2 s" in exporter.errors.rest()


def test_while_totals_would_be_wrong_nothing_is_pushed(
    export: Export, env: dict[str, str], tmp_path: Path, collector: Collector
) -> None:
    env.update(OFTEN)
    ended(tmp_path / "registry", 3)
    with locked(tmp_path / "registry", fcntl.LOCK_EX):
        exporter = export()
        assert b"another process holds its lock" in exporter.errors.line()
        ended(tmp_path / "registry", 4)
    assert collector.next().value("goalproxy.goals_started", **ENDED) == 7


def test_an_exporter_that_ends_at_once_pushes_nothing(run: Run, tmp_path: Path) -> None:
    refused = run(["exporter", "--once", "--textfile", str(tmp_path / "x.prom"), "--otlp", "http://127.0.0.1:1"])
    assert refused.returncode == 2
    assert b"--otlp" in refused.stderr
