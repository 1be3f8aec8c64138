"""A client that speaks JSON-RPC with a sidecar, for tests that need more than lines."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from .rig import DEADLINE, Reader, Sidecar, eventually

Json = dict[str, Any]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Client:
    """Sends messages and waits for what they bring. ``sent`` and ``received`` count lines."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.sidecar = sidecar
        self.sent = self.received = 0
        self.updates: list[Json] = []
        """What came beside the answers, in order."""

    def write(self, line: bytes) -> None:
        """Send a line."""
        self.sidecar.input.write(line)
        self.sent += 1

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def call(self, method: str, params: Json) -> Json:
        """Send a request and wait for its answer: the whole message."""
        ident = self.sent
        self.write(json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode() + b"\n")
        while (message := self._next()).get("id") != ident:
            self.updates.append(message)
        return message

    def control(self, session: str, action: str, **more: str) -> Json:
        """Send a control of the session's goal and wait for its answer."""
        return self.call("_session/goal", {"sessionId": session, "action": action, **more})

    def prompt(self, session: str, text: str) -> Json:
        """Send a prompt and wait for its answer."""
        return self.call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def open(self, protocol: int = 1) -> str:
        """Introduce ourselves and open a session; its id."""
        self.call("initialize", {"protocolVersion": protocol, "clientCapabilities": {}})
        return self.new()

    def new(self) -> str:
        """Open a session whose agent lists no commands; its id."""
        session: str = self.call("session/new", {"cwd": "/", "mcpServers": []})["result"]["sessionId"]
        self.agent_updates(session, {"sessionUpdate": "available_commands_update", "availableCommands": []})
        return session

    def agent_updates(self, session: str, update: Json) -> None:
        """Have the agent send an update, and wait until it has passed."""
        self.notify("_puppet/send", {"method": "session/update", "params": {"sessionId": session, "update": update}})
        self.call("_puppet/ping", {})

    def agent_reports(self, session: str, goal: Json | None) -> None:
        """Have the agent publish a goal, and wait until it has passed."""
        self.agent_updates(session, {"sessionUpdate": "session_info_update", "_meta": {"goal": goal}})

    def until(self, wanted: Callable[[Json | None], bool]) -> Json | None:
        """Wait for a snapshot of a goal that is as wanted, from the first that was not waited for on."""
        while True:
            while not self.updates:
                self.updates.append(self._next())
            update = self.updates.pop(0).get("params", {}).get("update", {})
            if "goal" in (update.get("_meta") or {}) and wanted(update["_meta"]["goal"]):
                goal: Json | None = update["_meta"]["goal"]
                return goal

    def _next(self) -> Json:
        line = self.sidecar.output.line()
        assert line, "the output ended"
        self.received += 1
        try:
            message = json.loads(line)
        except ValueError:
            return {"text": line.decode()}
        assert isinstance(message, dict)
        return message


Response = tuple[int, dict[str, str], bytes]
"""The status, the headers and the body."""


class Server:
    """A server that is asked over HTTP."""

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        raise NotImplementedError

    def get(self, path: str = "/metrics", **headers: str) -> Response:
        """Ask for a page."""
        return self._request("GET", path, b"", headers)

    def post(self, path: str, body: bytes = b"", **headers: str) -> Response:
        """Tell it something."""
        return self._request("POST", path, body, headers)

    def _request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Response:
        connection = self.connect()
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, fields)
            response = connection.getresponse()
            return response.status, {key.lower(): value for key, value in response.getheaders()}, response.read()
        finally:
            connection.close()


class Operator(Server):
    """The Unix socket of a sidecar in its registry."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._path = eventually(lambda: next(iter(sidecar.registry.glob(f"{sidecar.pid}-*.sock")), None))

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it, as soon as it listens."""
        connection = http.client.HTTPConnection("sidecar", timeout=DEADLINE)
        connection.sock = eventually(self._reach)
        connection.sock.settimeout(DEADLINE)
        return connection

    def _reach(self) -> socket.socket | None:
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            end.connect(str(self._path))
        except ConnectionRefusedError:
            end.close()
            return None
        return end

    def until_draining(self) -> None:
        """Wait until the sidecar has been asked to end."""
        eventually(lambda: b'"draining":true' in self.get("/readyz")[2])


class Printer(Protocol):
    """A process whose stderr can be read."""

    errors: Reader


class Admin(Server):
    """The admin server of a sidecar, or an exporter, found by what it prints."""

    def __init__(self, printer: Printer) -> None:
        line = printer.errors.until(b"metrics on")
        self.url = line.split()[-1].decode()

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        return http.client.HTTPConnection(urlsplit(self.url).hostname or "", urlsplit(self.url).port, timeout=DEADLINE)

    def page(self) -> str:
        """The metrics in Prometheus's text format."""
        status, _, body = self.get()
        assert status == 200
        return body.decode()

    def samples(self) -> Samples:
        """Every sample of the page by its name and its labels."""
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.page())
            for sample in family.samples
        }


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """The key of a sample."""
    return name, frozenset(labels.items())
