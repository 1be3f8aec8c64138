"""The fake model of Claude: an Anthropic Messages endpoint (streaming SSE).

Claude asks the same endpoint whether a goal is met, each time its model wants to stop; without a script it is not met
yet. Requests without tools (titles, warm-ups) and for suggestions are made on the side.
"""

import json
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from .fake_model import Endpoint, FakeModel, Kind, Turn, say, text_of, within
from .traffic import Json

SUGGESTION: Final = "[SUGGESTION MODE"


def not_met(reason: str) -> Turn:
    """Return the verdict that the work has to go on."""
    return _verdict(ok=False, reason=reason)


def met(reason: str) -> Turn:
    """Return the verdict that the goal is reached."""
    return _verdict(ok=True, reason=reason)


def impossible(reason: str) -> Turn:
    """Return the verdict that the goal cannot be reached."""
    return _verdict(ok=False, reason=reason, impossible=True)


def _verdict(**fields: Any) -> Turn:
    return say(json.dumps(fields))


class FakeAnthropic(FakeModel):
    """See the head of this module."""

    unjudged: ClassVar[Turn] = not_met("not yet")

    def kind(self, request: Json) -> Kind:
        """Tell turns, verdicts and what is asked on the side apart."""
        schema = ((request.get("output_config") or {}).get("format") or {}).get("schema") or {}
        if {"ok", "reason"} <= (schema.get("properties") or {}).keys():
            return Kind.VERDICT
        suggests = text_of(request["messages"][-1]["content"]).startswith(SUGGESTION)
        return Kind.TURN if request.get("tools") and not suggests else Kind.ASIDE

    def newest(self, request: Json) -> str:
        """Return the messages that came after the model's last word."""
        newest: list[str] = []
        for message in reversed(request["messages"]):
            if message["role"] == "assistant":
                break
            newest.insert(0, text_of(message["content"]))
        return "\n".join(newest)

    def found(self, request: Json, path: tuple[str, ...]) -> Any:
        """Read the newest result of a tool."""
        parts = [part for message in request["messages"] for part in message["content"] if isinstance(part, dict)]
        return within(text_of([part for part in parts if part.get("type") == "tool_result"][-1]["content"]), path)

    def play(self, endpoint: Endpoint, request: Json, ident: str, turn: Turn) -> None:
        """Send a turn, as a stream if it was asked for as one."""
        message = _message(request, ident, turn)
        if not request.get("stream"):
            endpoint.answer(200, message)
            return
        endpoint.begin()
        for event in _opening(message):
            endpoint.event(event, event["type"])
        if turn.held:
            self.hold(ident)
        for event in _ending(message):
            endpoint.event(event, event["type"])


def _message(request: Json, ident: str, turn: Turn) -> Json:
    """Return a turn as one message."""
    content: list[Json] = [] if turn.text is None else [{"type": "text", "text": turn.text}]
    if turn.tool is not None:
        content.append({"type": "tool_use", "id": f"toolu_{ident}", "name": turn.tool, "input": turn.arguments or {}})
    given, made = turn.usage
    usage = {
        "input_tokens": given,
        "output_tokens": made,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": f"msg_{ident}", "type": "message", "role": "assistant", "model": request.get("model", "fake"),
        "content": content, "stop_reason": "end_turn" if turn.tool is None else "tool_use", "stop_sequence": None,
        "usage": usage,
    }  # fmt: skip


def _opening(message: Json) -> Iterator[Json]:
    """Yield all events of a message up to its end."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _ending(message: Json) -> Iterator[Json]:
    """Yield the end of a message."""
    reason = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}
