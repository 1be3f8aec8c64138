"""The helper for agents that start MCP servers as processes, as a real process before a real server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from goalproxy.proxy.goal.tools import TOOLS
from goalproxy.proxy.shell import mcp_bridge
from goalproxy.proxy.shell.mcp_server import GoalServer, Reply, ToolResult

_WAIT = 5
"""Seconds after which a test gives up."""
_MODULE = [sys.executable, "-m", "goalproxy.proxy.shell.mcp_bridge"]
_FILE = [sys.executable, "-I", "-S", mcp_bridge.__file__]


class Helper:
    """A running bridge."""

    def __init__(self, url: str, command: list[str]) -> None:
        environment = {**os.environ, mcp_bridge.URL: url, mcp_bridge.TOKEN: "secret"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def send(self, message: object) -> None:
        """Write a message (bytes as they are)."""
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: object = None, ident: object = 1) -> Any:
        """The response to a request."""
        self.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        return self.read()

    def read(self) -> Any:
        """The next line, decoded."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[bytes, bytes, int]:
        """End its input: what it still writes, its words, and its exit code."""
        written, words = self.process.communicate(timeout=_WAIT)
        return written, words, self.process.returncode


@contextmanager
def helper(url: str, command: list[str] = _MODULE) -> Iterator[Helper]:
    """A bridge that has to end in silence when its input ends."""
    running = Helper(url, command)
    try:
        yield running
        assert running.end() == (b"", b"", 0)
    finally:
        running.process.kill()
        running.process.communicate()


@pytest.fixture(scope="module")
def url() -> str:
    """A server whose tools answer with what they were asked."""

    def on_call(token: str, name: str, arguments: object, reply: Reply) -> None:
        reply(ToolResult({"token": token, "name": name, "arguments": arguments}, failed=False))

    server = GoalServer(on_call)
    server.start()
    return server.url


@pytest.mark.parametrize("command", [pytest.param(_MODULE, id="module"), pytest.param(_FILE, id="file")])
def test_an_agent_sees_a_server_on_stdio(url: str, command: list[str]) -> None:
    with helper(url, command) as bridge:
        greeting = bridge.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert greeting["result"]["protocolVersion"] == "2025-06-18"
        bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert bridge.ask("tools/list", ident="x") == {"jsonrpc": "2.0", "id": "x", "result": {"tools": TOOLS}}
        called = bridge.ask("tools/call", {"name": "get_goal", "arguments": {"a": "\n\u2028 \ud800"}})
        assert json.loads(called["result"]["content"][0]["text"]) == {
            "token": "secret",
            "name": "get_goal",
            "arguments": {"a": "\n\u2028 \ud800"},
        }


def test_what_is_answered_with_nothing_gets_no_line(url: str) -> None:
    with helper(url) as bridge:
        bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        bridge.send(b"")
        bridge.send({"jsonrpc": "2.0", "id": 7, "result": {}})
        assert bridge.ask("ping", ident=2)["id"] == 2


def test_a_batch_is_one_line(url: str) -> None:
    with helper(url) as bridge:
        bridge.send([{"jsonrpc": "2.0", "id": ident, "method": "ping"} for ident in (1, 2)])
        assert [answer["id"] for answer in bridge.read()] == [1, 2]


def test_what_is_no_message_is_answered_by_the_server(url: str) -> None:
    with helper(url) as bridge:
        bridge.send(b"hello")
        assert bridge.read()["error"]["code"] == -32700


def test_what_the_server_does_not_take_is_an_error(url: str) -> None:
    with helper(url) as bridge:
        assert bridge.ask("ping", {"filler": "x" * (1 << 20)})["error"] == {
            "code": -32000,
            "message": "the goal proxy refused the message: HTTP 413",
        }
        assert bridge.ask("ping")["result"] == {}


def test_the_last_line_needs_no_end(url: str) -> None:
    running = Helper(url, _MODULE)
    written, words = running.process.communicate(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', timeout=_WAIT)
    assert (json.loads(written), words) == ({"jsonrpc": "2.0", "id": 1, "result": {}}, b"")


# A server that goes


def _serve_one(listener: socket.socket) -> None:
    """Answer one message on one connection, and close it without having said so."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as stream:
        length = 0
        while (line := stream.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = json.dumps({"jsonrpc": "2.0", "id": json.loads(stream.read(length))["id"], "result": {}}).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@contextmanager
def fleeting(answers: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """A server that closes each connection after one answer, and is gone after some; its URL, and a wait for its end."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for _ in range(answers):
                _serve_one(listener)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", lambda: thread.join(_WAIT)
    finally:
        thread.join(_WAIT)


def test_a_connection_that_was_closed_meanwhile_is_opened_again() -> None:
    with fleeting(3) as (url, _), helper(url) as bridge:
        assert [bridge.ask("ping", ident=ident)["id"] for ident in (1, 2, 3)] == [1, 2, 3]


def test_when_the_proxy_has_ended_requests_are_answered_with_an_error() -> None:
    with fleeting(1) as (url, wait_for_end), helper(url) as bridge:
        assert bridge.ask("ping")["result"] == {}
        wait_for_end()
        gone = {"code": -32000, "message": "the goal proxy has ended"}
        assert bridge.ask("tools/list", ident="a") == {"jsonrpc": "2.0", "id": "a", "error": gone}
        bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        bridge.send(b"hello")
        bridge.send({"jsonrpc": "2.0", "id": 7, "result": {}})
        bridge.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, 7])
        assert bridge.read() == [{"jsonrpc": "2.0", "id": 1, "error": gone}]


def test_an_agent_that_has_gone_leaves_no_helper_and_no_words(url: str) -> None:
    running = Helper(url, _MODULE)
    assert running.ask("ping")["result"] == {}
    assert running.process.stdout is not None
    running.process.stdout.close()
    running.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert running.process.wait(_WAIT) == 0
    assert running.process.stderr is not None
    assert running.process.stderr.read() == b""
    assert running.process.stdin is not None
    running.process.stdin.close()
    running.process.stderr.close()


def test_a_person_who_starts_it_is_told_what_it_is_for() -> None:
    environment = {key: value for key, value in os.environ.items() if key not in (mcp_bridge.URL, mcp_bridge.TOKEN)}
    done = subprocess.run(_MODULE, env=environment, capture_output=True, text=True, check=False, timeout=_WAIT)
    assert done.returncode == 1
    assert done.stderr == (
        "goalproxy: GOALPROXY_MCP_URL and GOALPROXY_MCP_TOKEN must be set; an agent starts this, not a person\n"
    )


def test_little_is_imported() -> None:
    # What is there before the import belongs to the interpreter, or to the measuring of coverage.
    listing = (
        "import sys; before = set(sys.modules); import goalproxy.proxy.shell.mcp_bridge;"
        " print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=_WAIT)
    loaded = set(done.stdout.split())
    assert not {"aiohttp", "asyncio", "msgspec", "json", "subprocess", "typing", "logging"} & loaded
    assert {name for name in loaded if name.startswith("goalproxy.")} == {
        "goalproxy.proxy",
        "goalproxy.proxy.shell",
        "goalproxy.proxy.shell.mcp_bridge",
    }
