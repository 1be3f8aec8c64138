"""A client that speaks JSON-RPC with a sidecar, for tests that need more than lines."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from .rig import DEADLINE, Sidecar

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


class Admin:
    """The admin server of a sidecar, found by what the sidecar prints."""

    def __init__(self, sidecar: Sidecar) -> None:
        line = sidecar.errors.until(b"metrics on")
        self.url = line.split()[-1].decode()

    def get(self, path: str = "/metrics", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of a response."""
        host, port = urlsplit(self.url).hostname or "", urlsplit(self.url).port
        connection = http.client.HTTPConnection(host, port, timeout=DEADLINE)
        try:
            connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, {key.lower(): value for key, value in response.getheaders()}, response.read()
        finally:
            connection.close()

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
