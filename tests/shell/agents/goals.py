"""An agent that keeps goals in the neutral dialect, and does and says what the test tells it.

The first argument, a JSON object, replaces keys of its introduction. A control is carried out and published, unless the
objective says "refused" (it is answered with an error) or "held" (it is answered when ``_puppet/fail`` comes).
``_puppet/send`` makes it send the given message, ``_puppet/say`` the given text.
"""

import json
import os
import sys
from typing import Any

Json = dict[str, Any]

ACTIONS = ["set", "pause", "resume", "clear"]
CAPABILITY = {"version": 1, "controlMethod": "_session/goal", "actions": ACTIONS}
STATUS = {"set": "active", "pause": "paused", "resume": "active"}


class Puppet:
    """The agent's state: its sessions, their goals, and the control that it holds."""

    def __init__(self, introduction: Json) -> None:
        self.introduction = introduction
        self.goals: dict[str, Json] = {}
        self.count = 0
        self.held: Any = None

    def take(self, message: Json) -> None:
        """Do what a message asks."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "_puppet/send":
            self.remember(params["params"])
            send(params)
        elif method == "_puppet/say":
            write(params["text"])
        elif method == "_puppet/fail":
            send({"id": self.held, "error": {"code": -32000, "message": "too late"}})
        elif method == "_session/goal":
            self.control(message["id"], params)
        elif "id" in message and method:
            send({"id": message["id"], "result": self.answer(method, params)})

    def remember(self, params: Json) -> None:
        """Take the goal of an update for our own."""
        goal = params["update"].get("_meta", {}).get("goal")
        if goal is not None:
            self.goals[params["sessionId"]] = goal

    def answer(self, method: str, params: Json) -> Json:
        """The result of a request that is no control."""
        if method == "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "agentInfo": {"name": "@acme/robo", "version": "3.2.1"},
                "_meta": {"goal": CAPABILITY},
                **self.introduction,
            }
        if method == "session/new":
            self.count += 1
            return {"sessionId": f"secret-session-{self.count}"}
        return {"stopReason": "end_turn"} if method == "session/prompt" else {}

    def control(self, ident: Any, params: Json) -> None:
        """Carry out a control."""
        session, action, objective = params["sessionId"], params["action"], params.get("objective", "")
        if "held" in objective:
            self.held = ident
        elif "refused" in objective:
            send({"id": ident, "error": {"code": -32000, "message": "no"}})
        else:
            if action == "set":
                self.goals[session] = {"objective": objective, "status": "active"}
            elif action == "clear":
                self.goals.pop(session, None)
            else:
                self.goals[session]["status"] = STATUS[action]
            update = {"sessionUpdate": "session_info_update", "_meta": {"goal": self.goals.get(session)}}
            send({"method": "session/update", "params": {"sessionId": session, "update": update}})
            send({"id": ident, "result": {}})


def send(message: Json) -> None:
    """Send a message."""
    write(json.dumps({"jsonrpc": "2.0", **message}))


def write(text: str) -> None:
    """Write a line."""
    os.write(1, text.encode() + b"\n")


def main() -> None:
    """Read until the end."""
    puppet = Puppet(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        puppet.take(message)


main()
