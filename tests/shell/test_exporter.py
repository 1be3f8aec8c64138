"""The exporter of a host: what it serves and writes, where it looks, and what it does when it cannot."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from goalproxy.metrics.catalogue import CATALOGUE, EXPORTER

from .client import key
from .conftest import Run
from .exporter import Exporter, fallen
from .members import Member, ended, locked
from .rig import DEADLINE, eventually

GOALS_STARTED = key("goalproxy_goals_started_total", agent="a", owner="native")
STALE = key("goalproxy_exporter_stale_directories")


class Export(Protocol):
    """Starts an exporter of the directory ``registry`` with some options."""

    def __call__(self, *options: str, usual: bool = False) -> Exporter:
        """Start it; with ``usual``, it looks where it looks by itself."""


@pytest.fixture
def export(tmp_path: Path, env: dict[str, str]) -> Iterator[Export]:
    """Start exporters that are ended with the test."""
    started: list[Exporter] = []

    def begin(*options: str, usual: bool = False) -> Exporter:
        where = () if usual else ("--registry", str(tmp_path / "goalproxy"))
        started.append(Exporter(*where, *options, env=env, folder=tmp_path))
        return started[-1]

    yield begin
    for exporter in started:
        exporter.close()


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """The usual directory of the user, as the environment of the tests has it."""
    directory = tmp_path / "goalproxy"
    directory.mkdir(mode=0o700)
    return directory


# What is served


def test_the_page_has_the_catalogue_the_exporters_own_and_nothing_else(registry: Path, export: Export) -> None:
    ended(registry, 3)
    living = Member(registry)
    living.work(4)
    exporter = export()
    samples = exporter.samples()
    assert samples[GOALS_STARTED] == 7
    assert samples[key("goalproxy_exporter_sidecars")] == 1
    assert samples[key("goalproxy_goals", agent="a", owner="native", status="active")] == 1
    described = {line.split()[2] for line in exporter.page().splitlines() if line.startswith("# HELP goalproxy_")}
    assert described == {metric.name for metric in (*CATALOGUE, *EXPORTER)}
    assert any(name == "process_resident_memory_bytes" for name, _ in samples)


def test_before_the_first_sidecar_there_is_a_zero_from_which_to_count(export: Export) -> None:
    samples = export().samples()
    assert samples[key("goalproxy_sidecars_started_total")] == 0
    assert samples[key("goalproxy_exporter_sidecars")] == 0


def test_the_page_is_open_metrics_and_compressed_for_who_wants_that(registry: Path, export: Export) -> None:
    ended(registry, 3)
    exporter = export()
    status, headers, body = exporter.get(Accept="application/openmetrics-text;version=1.0.0", Accept_Encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    page = gzip.decompress(body)
    assert b"goalproxy_goals_started_total{" in page
    assert page.endswith(b"# EOF\n")


def test_promtool_finds_nothing_to_criticise(registry: Path, export: Export, tmp_path: Path) -> None:
    ended(registry, 3)
    living = Member(registry)
    living.work(4)
    textfile = tmp_path / "goalproxy.prom"
    page = export("--textfile", str(textfile)).page()
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.fail("promtool is missing; it is in Debian's package prometheus: apt-get install prometheus")
    for text in (page, eventually(lambda: textfile.exists() and textfile.read_text())):
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=text.encode(), capture_output=True, timeout=DEADLINE, check=False
        )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_those_that_live_are_listed_and_those_with_a_port_are_targets(registry: Path, export: Export) -> None:
    ended(registry, 1)
    plain, served = Member(registry), Member(registry)
    for member in (plain, served):
        member.work()
    served.table.note("admin", "http://127.0.0.1:9464")
    exporter = export()
    _, headers, body = exporter.get("/sidecars")
    assert headers["content-type"].startswith("application/json")
    listed = json.loads(body)
    assert [each["pid"] for each in listed] == [os.getpid(), os.getpid()]
    assert {each["admin"] for each in listed} == {None, "http://127.0.0.1:9464"}
    _, headers, body = exporter.get("/targets")
    assert headers["content-type"].startswith("application/json")
    assert [each["targets"] for each in json.loads(body)] == [["127.0.0.1:9464"]]


def test_it_says_that_it_lives_and_is_ready(export: Export) -> None:
    exporter = export()
    assert [exporter.get(path)[0] for path in ("/livez", "/readyz", "/")] == [200, 200, 404]


def test_web_pages_are_refused(export: Export) -> None:
    assert export().get("/sidecars", Origin="https://example.org")[0] == 403


# Files


def test_files_are_written_at_once_and_again_when_something_has_changed(
    registry: Path, export: Export, tmp_path: Path
) -> None:
    textfile, file_sd = tmp_path / "goalproxy.prom", tmp_path / "targets.json"
    living = Member(registry)
    living.work(4)
    living.table.note("admin", "http://127.0.0.1:9464")
    export("--textfile", str(textfile), "--file-sd", str(file_sd), "--interval", "0.1")
    eventually(lambda: textfile.exists() and "goalproxy_exporter_sidecars 1.0" in textfile.read_text())
    (target,) = json.loads(eventually(lambda: file_sd.exists() and file_sd.read_text()))
    assert target["targets"] == ["127.0.0.1:9464"]
    first = file_sd.stat().st_ino
    living.work(1)
    started = 'goalproxy_goals_started_total{agent="a",owner="native"} '
    eventually(lambda: started + "5.0" in textfile.read_text())
    assert file_sd.stat().st_ino == first, "it is written only if the targets have changed"
    living.end()
    eventually(lambda: json.loads(file_sd.read_text()) == [])
    assert started + "5.0" in textfile.read_text()


def test_files_can_be_read_by_others_and_nothing_is_left_beside_them(run: Run, registry: Path, tmp_path: Path) -> None:
    ended(registry, 3)
    folder = tmp_path / "files"
    folder.mkdir()
    written = run(["exporter", "--once", "--textfile", f"{folder}/x.prom", "--file-sd", f"{folder}/x.json"])
    assert (written.returncode, written.stdout, written.stderr) == (0, b"", b"")
    assert sorted(path.name for path in folder.iterdir()) == ["x.json", "x.prom"]
    mask = os.umask(0)
    os.umask(mask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o666 & ~mask}
    page = (folder / "x.prom").read_text()
    assert 'goalproxy_goals_started_total{agent="a",owner="native"} 3.0' in page
    assert "process_" not in page, "node_exporter has those of its own"


def test_a_file_that_cannot_be_written_is_said_once_and_the_page_is_served(
    registry: Path, export: Export, tmp_path: Path
) -> None:
    ended(registry, 3)
    exporter = export("--textfile", str(tmp_path / "missing" / "x.prom"), "--interval", "0.1")
    line = exporter.errors.line().decode()
    assert line.startswith("goalproxy: no files are written: cannot write ")
    assert "missing" in line
    assert exporter.samples()[GOALS_STARTED] == 3
    (tmp_path / "missing").mkdir()
    eventually((tmp_path / "missing" / "x.prom").exists)
    exporter.end()
    assert exporter.errors.rest() == b""


def test_files_that_cannot_be_written_once_are_a_failure(run: Run, tmp_path: Path) -> None:
    failed = run(["exporter", "--once", "--textfile", str(tmp_path / "missing" / "x.prom")])
    assert failed.returncode == 1
    assert failed.stderr.startswith(b"goalproxy: cannot write ")
    assert failed.stderr.endswith(b": No such file or directory\n")
    assert failed.stderr.count(b"\n") == 1


# Where it looks


def test_the_usual_places_of_the_user_are_looked_at_and_nobody_elses(
    registry: Path, export: Export, tmp_path: Path, env: dict[str, str]
) -> None:
    env["TMPDIR"] = str(tmp_path / "t")
    (tmp_path / "t").mkdir()
    ended(registry, 3)
    exporter = export(usual=True)
    assert exporter.samples()[GOALS_STARTED] == 3
    for user in (os.getuid(), os.getuid() + 1):
        ended(tmp_path / "t" / f"goalproxy-{user}", 5)
    assert exporter.samples()[GOALS_STARTED] == 8


@pytest.mark.parametrize("how", ["option", "variable"])
def test_other_directories_are_looked_at_instead_each_once(
    registry: Path, export: Export, tmp_path: Path, env: dict[str, str], how: str
) -> None:
    ended(registry, 3)
    ended(tmp_path / "one", 10)
    ended(tmp_path / "two", 20)
    if how == "option":
        options = ["--registry", "one", "--registry", str(tmp_path / "two"), "--registry", str(tmp_path / "one")]
        assert export(*options, usual=True).samples()[GOALS_STARTED] == 30
    else:
        env["GOALPROXY_REGISTRY"] = str(tmp_path / "one")
        assert export(usual=True).samples()[GOALS_STARTED] == 10


def test_a_setting_that_is_empty_is_none(run: Run, registry: Path, tmp_path: Path, env: dict[str, str]) -> None:
    ended(registry, 3)
    env["GOALPROXY_REGISTRY"] = ""
    file = tmp_path / "metrics.prom"
    assert run(["exporter", "--once", "--textfile", str(file)]).returncode == 0
    assert 'goalproxy_goals_started_total{agent="a",owner="native"} 3.0' in file.read_text()
    assert not (tmp_path / ".lock").exists()


def test_all_users_are_those_whose_name_is_on_the_directory_that_they_own(
    registry: Path, export: Export, tmp_path: Path, env: dict[str, str]
) -> None:
    env["TMPDIR"] = str(tmp_path / "t")
    ended(registry, 3)
    for owner, name in ((12345, "12345"), (12345, "12346"), (12345, "nobody"), (12345, "x-12345")):
        ended(tmp_path / "t" / f"goalproxy-{name}", 10)
        try:
            os.chown(tmp_path / "t" / f"goalproxy-{name}", owner, owner)
        except PermissionError:
            pytest.skip("only root can make a directory of another user's")
    exporter = export("--all-users", usual=True)
    assert exporter.samples()[GOALS_STARTED] == 13
    (tmp_path / "t" / "goalproxy-12345" / "totals").write_bytes(b"nonsense")
    samples = exporter.samples()
    assert (samples[GOALS_STARTED], samples[STALE]) == (13, 1)


def test_a_directory_may_come_later(export: Export, tmp_path: Path) -> None:
    exporter = export()
    assert GOALS_STARTED not in exporter.samples()
    ended(tmp_path / "goalproxy", 3)
    assert exporter.samples()[GOALS_STARTED] == 3


# When it cannot


def test_a_directory_that_vanishes_takes_no_counts_with_it(registry: Path, export: Export) -> None:
    ended(registry, 3)
    living = Member(registry)
    living.work(4)
    exporter = export()
    before = exporter.samples()
    shutil.rmtree(registry)
    after = exporter.samples()
    assert (after[GOALS_STARTED], after[key("goalproxy_exporter_sidecars")]) == (7, 0)
    assert not fallen(before, after)
    ended(registry, 2)
    assert exporter.samples()[GOALS_STARTED] == 9


def test_while_a_directory_is_locked_what_it_had_before_is_shown(registry: Path, export: Export) -> None:
    ended(registry, 3)
    exporter = export()
    before = exporter.samples()
    ended(registry, 4)
    with locked(registry, fcntl.LOCK_EX):
        during = exporter.samples()
    assert (before[GOALS_STARTED], during[GOALS_STARTED]) == (3, 3)
    assert (before[STALE], during[STALE]) == (0, 1)
    after = exporter.samples()
    assert (after[GOALS_STARTED], after[STALE]) == (7, 0)
    exporter.end()
    line = f"goalproxy: cannot read {registry}: another process holds its lock\n"
    assert exporter.errors.rest().decode() == line


def test_totals_without_a_directory_that_was_never_read_are_not_shown(
    registry: Path, export: Export, run: Run, tmp_path: Path
) -> None:
    ended(registry, 3)
    with locked(registry, fcntl.LOCK_EX):
        exporter = export()
        assert {path: exporter.get(path)[0] for path in ("/metrics", "/readyz", "/livez")} == {
            "/metrics": 503, "/readyz": 503, "/livez": 200,
        }  # fmt: skip
        assert b"another process holds its lock" in exporter.get("/readyz")[2]
        once = run(["exporter", "--once", "--textfile", str(tmp_path / "x.prom")])
        assert (once.returncode, (tmp_path / "x.prom").exists()) == (1, False)
    assert exporter.get("/readyz")[0] == 200
    assert exporter.samples()[GOALS_STARTED] == 3


def test_totals_that_cannot_be_written_are_said_once_and_nothing_is_missing(registry: Path, export: Export) -> None:
    member = ended(registry, 3)
    (registry / ".totals.new").mkdir()
    exporter = export()
    assert [exporter.samples()[GOALS_STARTED] for _ in range(3)] == [3, 3, 3]
    (registry / ".totals.new").rmdir()
    assert exporter.samples()[GOALS_STARTED] == 3
    assert not (registry / member.name()).exists()
    exporter.end()
    line = f"goalproxy: cannot write totals in {registry}: Is a directory\n"
    assert exporter.errors.rest().decode() == line


def test_many_exporters_agree(registry: Path, export: Export) -> None:
    exporters = [export(), export(), export()]
    for goals in (1, 2, 3):
        ended(registry, goals)
        Member(registry).work(10)
    assert [exporter.samples()[GOALS_STARTED] for exporter in exporters] == [36, 36, 36]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_asked_to(export: Export, number: int) -> None:
    exporter = export("--textfile", "x.prom")
    assert exporter.end(number) == 0
    assert exporter.errors.rest() == b""


def test_a_taken_port_is_one_clear_line(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = run(["exporter", "--listen", address])
    assert refused.returncode == 2
    assert refused.stderr.decode() == f"goalproxy: cannot listen on {address}: Address already in use\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["exporter", "--once"], "--textfile"),
        (["exporter", "--", "cat"], "--"),
        (["exporter", "--listen", "somewhere"], "HOST:PORT"),
        (["exporter", "--interval", "0"], "interval"),
        (["--registry", "x", "exporter"], "--registry"),
    ],
)
def test_a_call_that_makes_no_sense_is_one_clear_line(run: Run, words: list[str], named: str) -> None:
    refused = run(words)
    assert refused.returncode == 2
    assert refused.stderr.decode().count("\n") == 1
    assert refused.stderr.decode().startswith("goalproxy: ")
    assert named in refused.stderr.decode()
