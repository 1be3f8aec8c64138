"""The MCP server of the goal tools, over real HTTP: who may speak to it, what it answers, and what it waits for."""

from __future__ import annotations

import http.client
import json
import queue
import threading
from typing import Any, NamedTuple

import pytest

from goalproxy.proxy.goal.tools import TOOLS
from goalproxy.proxy.shell.mcp_server import GoalServer, Reply, ToolResult

_WAIT = 5
"""Seconds after which a test gives up."""


class Answer(NamedTuple):
    """A response: its status, its headers, and its body, decoded if it is JSON."""

    status: int
    headers: http.client.HTTPMessage
    body: Any


class Call(NamedTuple):
    """A call of a tool, as the server told it."""

    token: str
    name: str
    arguments: object
    reply: Reply
    thread: str


class Desk:
    """A server whose calls are answered by the test; with ``echo`` they answer themselves, at once."""

    def __init__(self, *, patience: float = _WAIT, echo: bool = True) -> None:
        self.echo = echo
        self.calls: queue.Queue[Call] = queue.Queue()
        self.server = GoalServer(self._on_call, patience=patience)

    def _on_call(self, token: str, name: str, arguments: object, reply: Reply) -> None:
        self.calls.put(Call(token, name, arguments, reply, threading.current_thread().name))
        if self.echo:
            reply(ToolResult({"token": token, "name": name, "arguments": arguments}, failed=name == "fail"))

    def send(self, message: object, *, method: str = "POST", path: str = "/mcp", **headers: str | None) -> Answer:
        """Send a message (bytes as they are), with headers over the usual ones; None leaves one out."""
        host, _, port = self.server.url.removeprefix("http://").removesuffix("/mcp").partition(":")
        usual = {"Authorization": "Bearer secret", "Content-Type": "application/json", "Host": f"{host}:{port}"}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection = http.client.HTTPConnection(host, int(port), timeout=_WAIT)
        try:
            connection.putrequest(method, path, skip_host=True)
            for key, value in {**usual, "Content-Length": str(len(body)), **headers}.items():
                if value is not None:
                    connection.putheader(key, value)
            connection.endheaders(body)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        return Answer(response.status, response.headers, json.loads(data) if is_json else data)

    def ask(self, method: str, params: object = None) -> Any:
        """The result of a request, or its error."""
        answer = self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert answer.status == 200
        assert answer.body["jsonrpc"] == "2.0"
        assert answer.body["id"] == 1
        return answer.body.get("result", answer.body.get("error"))

    def tool(self, name: str, arguments: object = None) -> tuple[Any, bool]:
        """The body of a tool's result, and whether it failed."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        [content] = result["content"]
        assert content["type"] == "text"
        return json.loads(content["text"]), result["isError"]


@pytest.fixture(scope="module")
def desk() -> Desk:
    """A server that is used by all tests that need nothing special of it."""
    desk = Desk()
    desk.server.start()
    return desk


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

# Who may speak


def test_the_server_is_on_loopback(desk: Desk) -> None:
    assert desk.server.url.startswith("http://127.0.0.1:")
    assert desk.server.url.endswith("/mcp")


def test_who_connects_before_the_start_is_answered_after_it() -> None:
    desk = Desk()
    answers: queue.Queue[Any] = queue.Queue()
    early = threading.Thread(target=lambda: answers.put(desk.ask("ping")))
    early.start()
    assert answers.empty()
    desk.server.start()
    assert answers.get(timeout=_WAIT) == {}
    early.join()


def test_a_second_start_does_nothing(desk: Desk) -> None:
    before = threading.active_count()
    desk.server.start()
    assert threading.active_count() == before
    assert desk.ask("ping") == {}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_served(desk: Desk, method: str) -> None:
    answer = desk.send(b"", method=method, Accept="text/event-stream")
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST"


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Basic secret", "secret"])
def test_nobody_is_served_without_a_token(desk: Desk, authorization: str | None) -> None:
    answer = desk.send(PING, Authorization=authorization)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_scheme_of_a_token_has_no_case(desk: Desk) -> None:
    assert desk.send(PING, Authorization="bearer secret").status == 200


@pytest.mark.parametrize("origin", ["https://example.com", "null", "http://127.0.0.1", ""])
def test_a_web_page_is_not_served(desk: Desk, origin: str) -> None:
    assert desk.send(PING, Origin=origin).status == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:80", 200),
        ("localhost", 200),
        ("example.com", 403),
        ("example.com:80", 403),
        ("127.0.0.1.example.com", 403),
        ("localhost.example.com:80", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_served(desk: Desk, host: str, status: int) -> None:
    assert desk.send(PING, Host=host).status == status


def test_a_body_has_a_limit(desk: Desk) -> None:
    assert desk.send(json.dumps(PING).encode().ljust(1 << 20)).status == 200
    assert desk.send(json.dumps(PING).encode().ljust((1 << 20) + 1)).status == 413


# Messages


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_known_version_is_agreed_to(desk: Desk, version: str) -> None:
    result = desk.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x"}})
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "goalproxy"
    assert "get_goal" in result["instructions"]


@pytest.mark.parametrize("params", [None, [], {}, {"protocolVersion": "2099-01-01"}, {"protocolVersion": ["x"]}])
def test_to_any_other_version_the_newest_is_offered(desk: Desk, params: object) -> None:
    assert desk.ask("initialize", params)["protocolVersion"] == "2025-11-25"


def test_no_session_is_opened(desk: Desk) -> None:
    answer = desk.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert "Mcp-Session-Id" not in answer.headers


def test_the_tools_are_listed(desk: Desk) -> None:
    assert desk.ask("tools/list") == {"tools": TOOLS}
    assert desk.ask("tools/list", {"cursor": "x"}) == {"tools": TOOLS}


def test_a_ping_is_answered(desk: Desk) -> None:
    assert desk.ask("ping") == {}


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "logging/setLevel", "tools", ""])
def test_other_methods_are_nobodys(desk: Desk, method: str) -> None:
    assert desk.ask(method) == {"code": -32601, "message": f"Unknown method: {method}"}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_goal"}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
    ],
)
def test_what_is_no_request_is_only_accepted(desk: Desk, message: object) -> None:
    answer = desk.send(message)
    assert (answer.status, answer.body) == (202, b"")
    assert desk.calls.empty()


@pytest.mark.parametrize("ident", [1, "1", 0, "", 2**60, None, 1.5])
def test_an_id_comes_back_as_it_was(desk: Desk, ident: object) -> None:
    answer = desk.send({"jsonrpc": "2.0", "id": ident, "method": "ping"})
    assert (answer.status, answer.body) == (200, {"jsonrpc": "2.0", "id": ident, "result": {}})


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_told_so(desk: Desk, body: bytes) -> None:
    answer = desk.send(body)
    assert (answer.status, answer.body["id"], answer.body["error"]["code"]) == (400, None, -32700)


@pytest.mark.parametrize("message", [7, "x", None, {}, {"id": 1}, {"id": 1, "method": 7}])
def test_what_is_no_message_is_told_so(desk: Desk, message: object) -> None:
    answer = desk.send(message)
    assert answer.body["error"]["code"] == -32600
    assert answer.body["id"] == (message.get("id") if isinstance(message, dict) else None)


def test_a_batch_is_answered_as_a_batch(desk: Desk) -> None:
    answer = desk.send(
        [
            {"jsonrpc": "2.0", "id": "a", "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            7,
            {"jsonrpc": "2.0", "id": "b", "method": "nobody"},
        ]
    )
    assert answer.status == 200
    assert [(one["id"], one.get("error", {}).get("code")) for one in answer.body] == [
        ("a", None),
        (None, -32600),
        ("b", -32601),
    ]
    empty = desk.send([])
    assert (empty.status, empty.body["error"]["code"]) == (400, -32600)


# Calls


def test_a_call_is_told_with_its_token_and_answered(desk: Desk) -> None:
    assert desk.tool("get_goal", {"a": [1]}) == (
        {"token": "secret", "name": "get_goal", "arguments": {"a": [1]}},
        False,
    )
    assert desk.calls.get_nowait().thread == "mcp"
    assert desk.tool("fail") == ({"token": "secret", "name": "fail", "arguments": None}, True)
    assert desk.calls.get_nowait().arguments is None


def test_a_result_is_compact_text_that_a_model_can_read(desk: Desk) -> None:
    params = {"name": "get_goal", "arguments": {"objective": "d\u00e9j\u00e0 \ud800 \U0001f600"}}
    text = desk.ask("tools/call", params)["content"][0]["text"]
    assert text == ('{"token":"secret","name":"get_goal","arguments":{"objective":"d\u00e9j\u00e0 \ud800 \U0001f600"}}')
    desk.calls.get_nowait()


@pytest.mark.parametrize("params", [None, [], {}, {"name": 7}, {"arguments": {}}])
def test_a_call_without_a_name_is_no_call(desk: Desk, params: object) -> None:
    assert desk.ask("tools/call", params)["code"] == -32602
    assert desk.calls.empty()


def test_the_response_waits_for_a_reply_from_any_thread_and_holds_up_nobody() -> None:
    desk = Desk(echo=False)
    desk.server.start()
    results: queue.Queue[tuple[Any, bool]] = queue.Queue()
    waiting = threading.Thread(target=lambda: results.put(desk.tool("get_goal")))
    waiting.start()
    call = desk.calls.get(timeout=_WAIT)
    assert desk.ask("ping") == {}
    assert results.empty()
    call.reply(ToolResult({"goal": None}, failed=False))
    call.reply(ToolResult({"goal": "another"}, failed=True))
    assert results.get(timeout=_WAIT) == ({"goal": None}, False)
    waiting.join()


def test_the_calls_of_a_batch_follow_each_other() -> None:
    desk = Desk(echo=False)
    desk.server.start()
    answers: queue.Queue[Answer] = queue.Queue()
    batch = [
        {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name}} for name in ("first", "second")
    ]
    waiting = threading.Thread(target=lambda: answers.put(desk.send(batch)))
    waiting.start()
    for name in ("first", "second"):
        call = desk.calls.get(timeout=_WAIT)
        assert call.name == name
        assert desk.ask("ping") == {}
        assert desk.calls.empty()
        call.reply(ToolResult({}, failed=False))
    assert [answer["id"] for answer in answers.get(timeout=_WAIT).body] == ["first", "second"]
    waiting.join()


def test_a_call_that_nobody_answers_fails_and_a_late_reply_is_ignored() -> None:
    desk = Desk(echo=False, patience=0.02)
    desk.server.start()
    body, failed = desk.tool("get_goal")
    assert failed
    assert body["error"]["code"] == "timeout"
    desk.calls.get_nowait().reply(ToolResult({}, failed=False))
    assert desk.ask("ping") == {}


def test_a_caller_that_goes_away_does_not_undo_its_call() -> None:
    desk = Desk(echo=False)
    desk.server.start()
    host, _, port = desk.server.url.removeprefix("http://").removesuffix("/mcp").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=_WAIT)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_goal"}}
    connection.request("POST", "/mcp", json.dumps(message), {"Authorization": "Bearer secret"})
    call = desk.calls.get(timeout=_WAIT)
    connection.close()
    call.reply(ToolResult({}, failed=False))
    assert desk.ask("ping") == {}
