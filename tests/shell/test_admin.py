"""The admin server: where it is, what it serves, and what it does when it cannot."""

from __future__ import annotations

import gzip
import json
import re
import socket
import stat
from pathlib import Path

import pytest

from .client import Admin, Client, Operator
from .conftest import Run, Start
from .rig import Sidecar, eventually, scripted


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    """A sidecar with an admin server on a free port."""
    return start(["cat"], "--admin", "127.0.0.1:0")


def needs_version_6() -> None:
    """Skip the test where there is no version 6 of the protocol."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_the_address_is_printed_to_stderr_and_the_page_is_there(sidecar: Sidecar) -> None:
    line = sidecar.errors.line().decode()
    found = re.fullmatch(r"goalproxy: metrics on http://127\.0\.0\.1:(\d+)/metrics\n", line)
    assert found
    assert int(found[1]) > 0


def test_the_format_of_the_page_is_the_one_that_is_accepted(sidecar: Sidecar) -> None:
    admin = Admin(sidecar)
    status, headers, body = admin.get()
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    assert b"\n# TYPE goalproxy_agent_up gauge\n" in body
    assert not body.endswith(b"# EOF\n")
    status, headers, body = admin.get(Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert status == 200
    assert headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")


def test_the_page_is_compressed_for_who_accepts_it(sidecar: Sidecar) -> None:
    admin = Admin(sidecar)
    status, headers, body = admin.get(Accept_Encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert b"goalproxy_agent_up" in gzip.decompress(body)
    status, headers, body = admin.get(Accept_Encoding="identity")
    assert "content-encoding" not in headers
    assert b"goalproxy_agent_up" in body


def test_other_paths_are_not_found(sidecar: Sidecar) -> None:
    admin = Admin(sidecar)
    assert admin.get("/")[0] == 404
    assert admin.get("/metrics/x")[0] == 404


def test_scrapes_go_on_while_the_client_does_not_read(sidecar: Sidecar) -> None:
    admin = Admin(sidecar)
    sidecar.input.fill(b'{"jsonrpc":"2.0","method":"a"}\n' * 100_000)
    for _ in range(5):
        assert "goalproxy_relay_messages_total" in admin.page()


def test_the_server_can_listen_on_version_6_of_the_protocol(start: Start) -> None:
    needs_version_6()
    admin = Admin(start(["cat"], "--admin", "[::1]:0"))
    assert admin.url.startswith("http://[::1]:")
    assert "goalproxy_agent_up" in admin.page()


def test_there_is_no_server_unless_it_is_asked_for(start: Start) -> None:
    sidecar = start(["cat"])
    assert sidecar.finish() == 0
    assert sidecar.errors.rest() == b""


def test_a_taken_port_is_one_clear_line_and_no_agent_is_started(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = run(["--admin", address, "--", "touch", str(tmp_path / "started")])
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert ended.stderr.decode() == f"goalproxy: cannot listen on {address}: Address already in use\n"
    assert not (tmp_path / "started").exists()


# What an operator can ask and tell


def test_a_sidecar_has_a_socket_of_its_own_that_goes_with_it(start: Start) -> None:
    sidecar = start(["cat"])
    operator = Operator(sidecar)
    (path,) = sidecar.registry.glob("*.sock")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(sidecar.registry.stat().st_mode) == 0o700
    assert operator.get("/livez")[::2] == (200, b"ok\n")
    assert sidecar.finish() == 0
    assert list(sidecar.registry.glob("*.sock")) == []


def test_a_sidecar_is_ready_once_its_agent_has_said_who_it_is(start: Start) -> None:
    sidecar = start(scripted("goals"))
    operator = Operator(sidecar)
    status, _, body = operator.get("/readyz")
    assert (status, json.loads(body)["agent"]) == (503, "starting")
    Client(sidecar).open()
    status, _, body = operator.get("/readyz")
    assert status == 200
    assert json.loads(body) == {"ready": True, "agent": "initialized", "store": "not needed", "draining": False}


@pytest.mark.parametrize(("place", "store", "status"), [("goals.sqlite", "works", 200), ("", "fails", 503)])
def test_a_sidecar_that_keeps_goals_is_ready_if_it_can_store_them(
    start: Start, tmp_path: Path, place: str, store: str, status: int
) -> None:
    sidecar = start(scripted("worker"), "--store", str(tmp_path / place))
    Client(sidecar).open()
    answer = Operator(sidecar).get("/readyz")
    assert (answer[0], json.loads(answer[2])["store"]) == (status, store)


def test_goals_are_shown_with_what_they_wait_for(start: Start) -> None:
    sidecar = start(scripted("worker"), "--min-interval", "3600")
    client, operator = Client(sidecar), Operator(sidecar)
    session = client.open()
    assert operator.get("/goals")[::2] == (200, b"[]\n")
    client.control(session, "set", objective="Ship it")
    (goal,) = json.loads(operator.get("/goals")[2])
    assert (goal["sessionId"], goal["owner"], goal["status"], goal["objective"]) == (
        "s",
        "emulated",
        "active",
        "Ship it",
    )
    assert (goal["working"], goal["iterations"], "waitsFor" in goal) == (True, 1, False)
    client.notify("_puppet/finish", {"text": "More tomorrow."})
    client.call("_puppet/ping", {})
    (goal,) = json.loads(operator.get("/goals")[2])
    assert (goal["working"], goal["waitsFor"]) == (False, "the time of its next round")
    assert goal["nextRoundAt"] > goal["createdAt"]


@pytest.mark.parametrize(("option", "shown"), [("--no-log-content", False), ("--log-content", True)])
def test_on_a_port_the_text_of_goals_is_shown_only_if_logs_may_have_it(
    start: Start, option: str, *, shown: bool
) -> None:
    sidecar = start(scripted("goals"), "--admin", "127.0.0.1:0", option)
    admin, client = Admin(sidecar), Client(sidecar)
    session = client.open()
    client.agent_reports(session, {"objective": "Secret", "status": "active", "lastReason": "Secret reason"})
    (goal,) = json.loads(admin.get("/goals")[2])
    assert goal["status"] == "active"
    assert ("objective" in goal, "lastReason" in goal) == (shown, shown)
    assert goal["waitsFor"] == "the agent, which does not say that it works"


def test_the_log_level_can_be_changed_while_the_sidecar_runs(start: Start) -> None:
    sidecar = start(["cat"])
    operator = Operator(sidecar)
    assert operator.get("/log-level")[2] == b"warning\n"
    assert operator.post("/log-level", b"debug\n")[::2] == (200, b"debug\n")
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"a"}\n')
    sidecar.output.line()
    assert b"method=a" in sidecar.errors.line()
    assert operator.post("/log-level", b"error")[::2] == (200, b"error\n")
    sidecar.finish()
    assert b"agent_ended" not in sidecar.errors.rest()


def test_a_log_level_that_is_none_is_refused(start: Start) -> None:
    operator = Operator(start(["cat"]))
    status, _, body = operator.post("/log-level", b"loud")
    assert (status, body) == (400, b"the log level must be one of debug, info, warning, error, not 'loud'\n")
    assert operator.get("/log-level")[2] == b"warning\n"


@pytest.mark.parametrize("path", ["/drain", "/log-level"])
def test_web_pages_in_the_users_browser_are_refused(sidecar: Sidecar, path: str) -> None:
    admin = Admin(sidecar)
    assert admin.post(path, b"debug", Origin="http://example.org")[0] == 403
    assert admin.get("/log-level")[2] == b"warning\n"
    assert b'"draining":false' in admin.get("/readyz")[2]


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"])
def test_a_name_that_somebody_has_resolved_to_this_host_is_refused(start: Start, address: str) -> None:
    if address.startswith("["):
        needs_version_6()
    admin = Admin(start(["cat"], "--admin", address))
    for host, status in {
        "rebound.example:9464": 403,
        "127.0.0.1.rebound.example": 403,
        "[": 403,
        "localhost:9464": 200,
        "LOCALHOST.": 200,
        "127.0.0.1:9464": 200,
        "192.0.2.1": 200,
        "[::1]:9464": 200,
    }.items():
        assert (host, admin.get("/goals", Host=host)[0]) == (host, status)


def test_the_admin_server_can_be_on_a_unix_socket_of_ones_own(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    sidecar = start(["cat"], "--admin", f"unix:{path}")
    assert sidecar.errors.line().decode() == f"goalproxy: metrics on unix:{path}/metrics\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sidecar.finish() == 0
    assert not path.exists()


def test_an_agent_that_cannot_be_started_leaves_no_unix_socket(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    assert run(["--admin", f"unix:{path}", "--", "no-such-agent"]).returncode == 127
    assert not path.exists()


def test_a_unix_socket_that_was_left_over_is_replaced_and_one_in_use_is_not(
    start: Start, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    start(["cat"], "--admin", f"unix:{path}").errors.until(b"metrics on")
    ended = run(["--admin", f"unix:{path}", "--", "cat"])
    assert (ended.returncode, ended.stderr.decode()) == (
        2,
        f"goalproxy: cannot listen on unix:{path}: Address already in use\n",
    )


def test_a_file_in_the_place_of_a_unix_socket_is_left_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    path.write_text("mine")
    assert run(["--admin", f"unix:{path}", "--", "cat"]).returncode == 2
    assert path.read_text() == "mine"


def test_the_numbers_of_a_sidecar_stay_when_it_is_gone(start: Start) -> None:
    sidecar = start(["cat"])
    eventually(lambda: list(sidecar.registry.glob("*.series")))
    assert sidecar.finish() == 0
    assert len(list(sidecar.registry.glob("*.series"))) == 1
