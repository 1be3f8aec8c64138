"""A scripted agent that speaks of goals as codex-acp 1.1.7 does: in a dialect that only its own editor understands.

It works in rounds of a third of a second, and is done with any goal after three of them.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

ROUNDS = 3
ROUND_SECONDS = 0.3
TOKENS_A_ROUND = 1200


class Agent:
    """One session with one goal at a time."""

    def __init__(self) -> None:
        self.goal: dict[str, Any] | None = None
        self.rounds = 0
        self.changed = threading.Condition()

    def serve(self) -> None:
        """Answer requests until the end of input, and work for the goal meanwhile."""
        threading.Thread(target=self.work, daemon=True).start()
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message:
                with self.changed:
                    send({"id": message["id"], "result": self.answer(message["method"], message["params"])})
                    self.changed.notify()

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request."""
        if method == "initialize":
            info = {"name": "@agentclientprotocol/codex-acp", "title": "Demo", "version": "1.1.7"}
            return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
        if method == "session/new":
            return {"sessionId": "demo"}
        if method == "_codex/session/goal_control":
            self.control(params["action"])
            return {}
        self.command(params["prompt"][0]["text"].removeprefix("/goal "))
        return {"stopReason": "end_turn"}

    def command(self, argument: str) -> None:
        """Carry out ``/goal``."""
        if argument in ("pause", "resume", "clear"):
            self.control(argument)
        else:
            self.rounds = 0
            self.publish({"objective": argument, "status": "active", "createdAt": int(time.time())})

    def control(self, action: str) -> None:
        """Pause, resume or clear."""
        if self.goal is not None:
            status = "active" if action == "resume" else "paused"
            self.publish(None if action == "clear" else {**self.goal, "status": status})

    def work(self) -> None:
        """Work in rounds while the goal is active."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.goal is not None and self.goal["status"] == "active")
                self.mark("active")
            time.sleep(ROUND_SECONDS)
            with self.changed:
                self.rounds += 1
                text = {"type": "text", "text": f"Step {self.rounds} is done."}
                update({"sessionUpdate": "agent_message_chunk", "content": text})
                if self.goal is not None and self.goal["status"] == "active" and self.rounds == ROUNDS:
                    self.publish({**self.goal, "status": "complete"})
                self.mark("idle")

    def publish(self, goal: dict[str, Any] | None) -> None:
        """Tell the goal, with its counter, in the old dialect."""
        self.goal = goal if goal is None else {**goal, "tokensUsed": self.rounds * TOKENS_A_ROUND}
        update({"sessionUpdate": "session_info_update", "_meta": {"codex": {"goal": self.goal}}})

    def mark(self, kind: str) -> None:
        """Bracket a turn."""
        update({"sessionUpdate": "session_info_update", "_meta": {"codex": {"threadStatus": {"type": kind}}}})


def update(body: dict[str, Any]) -> None:
    """Send a session update."""
    send({"method": "session/update", "params": {"sessionId": "demo", "update": body}})


def send(message: dict[str, Any]) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Agent().serve()
