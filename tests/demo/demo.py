"""The client of the demo: it knows the neutral extension and nothing else, sets a goal, pauses it, and lets it finish."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("agent.py")
SHOWN = ("goalproxy_goals", "goalproxy_goal_", "goalproxy_agent_info")


class Client:
    """An ACP client on stdio, with goalproxy between it and the agent."""

    def __init__(self) -> None:
        options = ["--admin", "127.0.0.1:0", "--registry", "off"]
        command = [sys.executable, "-m", "goalproxy.proxy", *options, "--", sys.executable, str(AGENT)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.metrics = self.process.stderr.readline().decode().split()[-1]
        self.calls = 0

    def call(self, method: str, **params: Any) -> None:
        """Send a request, and show everything up to its answer."""
        self.calls += 1
        message = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.input.write(json.dumps(message).encode() + b"\n")
        self.input.flush()
        for received in self.received():
            if received.get("id") == self.calls:
                return

    def goal(self, action: str, **params: Any) -> None:
        """Control the goal."""
        print(f"\n> _session/goal {action} {params.get('objective', '')}".rstrip())
        self.call("_session/goal", sessionId="demo", action=action, **params)

    def until(self, status: str | None) -> None:
        """Show everything up to the snapshot with a status, None for the one that says that there is no goal."""
        for received in self.received():
            meta = received.get("params", {}).get("update", {}).get("_meta", {})
            if "goal" in meta and (meta["goal"] or {}).get("status") == status:
                return

    def received(self) -> Iterator[dict[str, Any]]:
        """Messages as they come, each shown."""
        while line := self.output.readline():
            message = json.loads(line)
            show(message)
            yield message

    def scrape(self) -> None:
        """Show the metrics about goals."""
        page = urllib.request.urlopen(self.metrics).read().decode()
        for line in page.splitlines():
            if line.startswith(SHOWN) and "_bucket{" not in line:
                print(f"    {line}")


def show(message: dict[str, Any]) -> None:
    """Show a message in a few words: what the agent says, and each snapshot of the goal."""
    update = message.get("params", {}).get("update", {})
    if "goal" in update.get("_meta", {}):
        goal = update["_meta"]["goal"]
        kept = ("objective", "status", "iterations", "tokensUsed")
        print("< goal", "null" if goal is None else {key: goal[key] for key in kept if key in goal})
    elif update.get("sessionUpdate") == "agent_message_chunk":
        print(f"< {update['content']['text']}")
    elif "goal" in message.get("result", {}).get("_meta", {}):
        print(f"< capability {message['result']['_meta']['goal']}")


def main() -> None:
    """Play the demo."""
    print("A client that knows _session/goal, goalproxy, and a scripted agent that speaks an older dialect.\n")
    client = Client()
    print("> initialize, session/new")
    client.call("initialize", protocolVersion=1, clientCapabilities={})
    client.call("session/new", cwd=str(Path.cwd()), mcpServers=[])
    client.until(None)
    client.goal("set", objective="Ship it")
    client.until("active")
    client.goal("pause")
    print(f"\n  metrics now, from {client.metrics}:")
    client.scrape()
    client.goal("resume")
    client.until("complete")
    print("\n  metrics at the end:")
    client.scrape()
    client.input.close()
    print(f"\nThe agent ended, and goalproxy with it: exit code {client.process.wait()}.")


if __name__ == "__main__":
    main()
