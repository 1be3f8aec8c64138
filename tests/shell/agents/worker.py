"""An agent without goals. A prompt is answered when ``_puppet/finish`` comes, with its text said before, or ``session/cancel``.

With the argument ``deaf`` it does not heed ``session/cancel``.
"""

import json
import os
import sys
from typing import Any

Json = dict[str, Any]


def main() -> None:
    """Read until the end."""
    heeds, prompt = "deaf" not in sys.argv, None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        if method == "session/prompt":
            prompt = ident
        elif method == "_puppet/finish":
            say(message["params"]["text"])
            send({"id": prompt, "result": {"stopReason": "end_turn"}})
        elif method == "session/cancel" and heeds and prompt is not None:
            send({"id": prompt, "result": {"stopReason": "cancelled"}})
        elif ident is not None and method:
            send({"id": ident, "result": answer(method)})


def answer(method: str) -> Json:
    """The result of a request that is no prompt."""
    if method == "initialize":
        return {"protocolVersion": 1, "agentInfo": {"name": "worker", "version": "1"}, "agentCapabilities": {}}
    return {"sessionId": "s"} if method == "session/new" else {}


def say(text: str) -> None:
    """Say something in the session."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


def send(message: Json) -> None:
    """Send a message."""
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


main()
