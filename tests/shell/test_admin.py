"""The admin server: where it is, what it serves, and what it does when it cannot."""

from __future__ import annotations

import gzip
import re
import socket
from pathlib import Path

import pytest

from .client import Admin
from .conftest import Run, Start
from .rig import Sidecar


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    """A sidecar with an admin server on a free port."""
    return start(["cat"], "--admin", "127.0.0.1:0")


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
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
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
