"""The fake model of Codex: an OpenAI Responses endpoint. Requests for a title of the session are made on the side."""

import json
from collections.abc import Iterator
from typing import Any, Final

from .fake_model import Endpoint, FakeModel, Kind, Turn, within
from .traffic import Json

TITLE_REQUEST: Final = "generate a very short title"


class FakeOpenAI(FakeModel):
    """See the head of this module."""

    @property
    def url(self) -> str:
        """The base URL, with the version of the interface."""
        return f"{super().url}/v1"

    def kind(self, request: Json) -> Kind:
        """Tell a turn from a title."""
        return Kind.ASIDE if TITLE_REQUEST in json.dumps(request) else Kind.TURN

    def newest(self, request: Json) -> str:
        """Return the items that came after the model's last word."""
        newest: list[str] = []
        for item in reversed(request.get("input") or []):
            if item.get("role") == "assistant" or item.get("type") == "function_call":
                break
            newest.insert(0, json.dumps(item, ensure_ascii=False))
        return "\n".join(newest)

    def found(self, request: Json, path: tuple[str, ...]) -> Any:
        """Read the newest output of a function."""
        outputs = [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]
        return within(outputs[-1], path)

    def play(self, endpoint: Endpoint, request: Json, ident: str, turn: Turn) -> None:  # noqa: ARG002
        """Send a turn as a stream."""
        endpoint.begin()
        for event in _opening(turn, ident):
            endpoint.event(event, event["type"])
        if turn.held:
            self.hold(ident)
        last = _ending(turn, ident)
        endpoint.event(last, last["type"])


def _opening(turn: Turn, ident: str) -> Iterator[Json]:
    """Yield all events of a turn but the last."""
    yield {"type": "response.created", "response": {"id": f"resp_{ident}"}}
    for place, item in enumerate(_output(turn, ident)):
        if item["type"] == "message":
            text = item["content"][0]["text"]
            yield {"type": "response.output_item.added", "output_index": place, "item": {**item, "content": []}}
            yield {
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": place,
                "content_index": 0, "delta": text,
            }  # fmt: skip
        yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _ending(turn: Turn, ident: str) -> Json:
    """Return the last event of a turn."""
    response: Json = {"id": f"resp_{ident}"}
    if turn.failed is not None:
        return {"type": "response.failed", "response": {**response, "error": turn.failed}}
    given, made = turn.usage
    usage = {
        "input_tokens": given, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": given + made,
    }  # fmt: skip
    return {"type": "response.completed", "response": {**response, "output": _output(turn, ident), "usage": usage}}


def _output(turn: Turn, ident: str) -> list[Json]:
    """Return the finished items of a turn."""
    items: list[Json] = []
    if turn.text is not None:
        content = [{"type": "output_text", "text": turn.text}]
        items.append({"type": "message", "id": f"msg_{ident}", "role": "assistant", "content": content})
    if turn.tool is not None:
        arguments = json.dumps(turn.arguments or {})
        items.append(
            {"type": "function_call", "id": f"fc_{ident}", "call_id": f"call_{ident}", "name": turn.tool,
             "arguments": arguments}
        )  # fmt: skip
    return items
