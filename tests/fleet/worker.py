"""An agent without goals that works as the objective says, and reports by the goal tools that goalproxy gives it.

An objective names what to do, by its first word. ``deliver`` reports that it is complete in each round from the second
on, and leaves the file ``done`` in the directory of its session before it does so the second time. ``ask`` reports that
it is blocked. ``repeat`` says the same in each round. ``exhaust`` fails at the account's limit.
"""

import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TOKENS_A_ROUND = 700
CENTS_A_ROUND = 2


class Worker:
    """The state of the agent: one session."""

    def __init__(self) -> None:
        self.directory = Path()
        self.server: Json = {}
        self.rounds = 0
        self.reports = 0

    def answer(self, method: str, params: Json) -> Json:
        """The result of a request."""
        if method == "initialize":
            capabilities = {"mcpCapabilities": {"http": True}}
            info = {"name": "worker", "version": "1.0"}
            return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities}
        if method == "session/new":
            self.directory, [self.server] = Path(params["cwd"]), params["mcpServers"]
            return {"sessionId": "work"}
        if method != "session/prompt":
            return {}
        self.rounds += 1
        self.work(params["prompt"][0]["text"])
        usage = {"totalTokens": TOKENS_A_ROUND, "inputTokens": TOKENS_A_ROUND - 100, "outputTokens": 100}
        return {"stopReason": "end_turn", "usage": usage}

    def work(self, text: str) -> None:
        """One round, as the objective in its prompt says."""
        found = re.search(r"\b(deliver|ask|repeat|exhaust)\b", text)
        word = found[1] if found else ""
        if word == "exhaust":
            raise PermissionError("usage limit reached")
        said = "Still waiting." if word == "repeat" else f"Step {self.rounds} of {word} is done."
        update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}})
        cost = {"amount": self.rounds * CENTS_A_ROUND / 100, "currency": "EUR"}
        update({"sessionUpdate": "usage_update", "used": self.rounds * TOKENS_A_ROUND, "size": 200_000, "cost": cost})
        if word == "deliver" and self.rounds > 1:
            self.reports += 1
            if self.reports > 1:
                (self.directory / "done").touch()
            self.report("complete")
        elif word == "ask":
            self.report("blocked")

    def report(self, action: str) -> None:
        """Report how the goal stands."""
        goal = self.tool("get_goal", {})["goal"]
        reason = {"goal_id": goal["id"], "revision": goal["revision"], "action": action, "reason": "So it is."}
        self.tool("update_goal", reason)

    def tool(self, name: str, arguments: Json) -> Json:
        """Call a tool: what it answers."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {header["name"]: header["value"] for header in self.server["headers"]}
        headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.server["url"], json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as response:
            result = json.load(response)["result"]
        answered: Json = json.loads(result["content"][0]["text"])
        return answered


def update(content: Json) -> None:
    """Send an update of the session."""
    send({"method": "session/update", "params": {"sessionId": "work", "update": content}})


def send(message: Json) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer requests until the end."""
    worker = Worker()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        try:
            send({"id": message["id"], "result": worker.answer(message["method"], message["params"])})
        except PermissionError as error:
            send({"id": message["id"], "error": {"code": -32000, "message": str(error)}})


main()
