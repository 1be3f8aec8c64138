"""The fake model of Qwen, DSH, opencode and Mistral Vibe: an OpenAI Chat Completions endpoint.

Qwen asks it on the side for suggestions and for what to remember, and for a verdict on what its model proposes about
a goal; that is accepted unless a test scripts something else.
"""

import json
import time
from dataclasses import replace
from typing import Any, ClassVar, Final

from .fake_model import Endpoint, FakeModel, Kind, Turn, say, text_of, within
from .traffic import Json

VERIFIER: Final = "Goal Verifier"
ASIDES: Final = ("[SUGGESTION MODE", "Managed memory")


def verdict(decision: str, reason: str) -> Turn:
    """Return a verdict of Qwen's verifier; the decision is `accept` or `reject`."""
    return say(json.dumps({"decision": decision, "reason": reason}))


class FakeChat(FakeModel):
    """See the head of this module."""

    unasked: ClassVar[Turn] = say("")
    unjudged: ClassVar[Turn] = verdict("accept", "it is so")

    @property
    def url(self) -> str:
        """The base URL, with the version of the interface."""
        return f"{super().url}/v1"

    def kind(self, request: Json) -> Kind:
        """Tell turns, verdicts and what is asked on the side apart."""
        messages = request["messages"]
        if not request.get("tools"):
            return Kind.VERDICT if VERIFIER in text_of(messages[0]["content"]) else Kind.ASIDE
        return Kind.ASIDE if text_of(messages[-1].get("content")).startswith(ASIDES) else Kind.TURN

    def newest(self, request: Json) -> str:
        """Return the messages that came after the model's last word."""
        newest: list[str] = []
        for message in reversed(request["messages"]):
            if message["role"] in ("assistant", "system"):
                break
            newest.insert(0, text_of(message.get("content")))
        return "\n".join(newest)

    def found(self, request: Json, path: tuple[str, ...]) -> Any:
        """Read the newest result of a tool."""
        results = [message for message in request["messages"] if message["role"] == "tool"]
        return within(text_of(results[-1]["content"]), path)

    def play(self, endpoint: Endpoint, request: Json, ident: str, turn: Turn) -> None:
        """Send a turn, as a stream if it was asked for as one."""
        about = {"id": f"chat_{ident}", "created": int(time.time()), "model": request.get("model", "fake")}
        if not request.get("stream"):
            choice = {
                "index": 0,
                "finish_reason": _reason(turn),
                "message": {"role": "assistant", **_said(turn, ident)},
            }
            endpoint.answer(200, {**about, "object": "chat.completion", "choices": [choice], "usage": _usage(turn)})
            return
        about["object"] = "chat.completion.chunk"
        endpoint.begin()
        delta = {"role": "assistant", **_said(turn, ident)}
        endpoint.event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if turn.held:
            self.hold(ident)
        endpoint.event({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(turn)}]})
        endpoint.event({**about, "choices": [], "usage": _usage(turn)})
        endpoint.event("[DONE]")


class FakeVibe(FakeChat):
    """The fake model of Mistral Vibe, which calls the tools of an MCP server in a program that it has run."""

    def play(self, endpoint: Endpoint, request: Json, ident: str, turn: Turn) -> None:
        """Write the program for a call."""
        if turn.tool is not None:
            call = f"tools.{turn.tool}({json.dumps(turn.arguments or {})})"
            program = {"code": f"async function main() {{ return await {call}; }}"}
            turn = replace(turn, tool="run_typescript", arguments=program)
        super().play(endpoint, request, ident, turn)


def _said(turn: Turn, ident: str) -> Json:
    """Return what a turn says and calls."""
    if turn.tool is None:
        return {"content": turn.text or ""}
    function = {"name": turn.tool, "arguments": json.dumps(turn.arguments or {})}
    call = {"index": 0, "id": f"call_{ident}", "type": "function", "function": function}
    return {"content": turn.text or "", "tool_calls": [call]}


def _reason(turn: Turn) -> str:
    return "stop" if turn.tool is None else "tool_calls"


def _usage(turn: Turn) -> Json:
    given, made = turn.usage
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
