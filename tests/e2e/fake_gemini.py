"""The fake model of Gemini CLI: a Gemini API endpoint. What wants JSON in return, such as its router, asks on the side."""

import json
from typing import Any, ClassVar

from .fake_model import Endpoint, FakeModel, Kind, Turn, say, within
from .traffic import Json


class FakeGemini(FakeModel):
    """See the head of this module."""

    unasked: ClassVar[Turn] = say(json.dumps({"reasoning": "none", "model_choice": "flash", "next_speaker": "user"}))

    def kind(self, request: Json) -> Kind:
        """Tell a turn from what is asked on the side: only turns can use tools."""
        return Kind.TURN if request.get("tools") else Kind.ASIDE

    def newest(self, request: Json) -> str:
        """Return the contents that came after the model's last word."""
        newest: list[str] = []
        for content in reversed(request.get("contents") or []):
            if content.get("role") == "model":
                break
            newest.insert(0, "\n".join(_text(part) for part in content["parts"]))
        return "\n".join(newest)

    def found(self, request: Json, path: tuple[str, ...]) -> Any:
        """Read the newest result of a function; the agent puts tags around what a foreign tool says."""
        parts = [part for content in request["contents"] for part in content["parts"] if "functionResponse" in part]
        output: str = parts[-1]["functionResponse"]["response"]["output"]
        return within(output[output.index("{") : output.rindex("}") + 1], path)

    def play(self, endpoint: Endpoint, request: Json, ident: str, turn: Turn) -> None:  # noqa: ARG002
        """Send a turn, as a stream if it was asked for as one."""
        said: list[Json] = [{"text": turn.text}] if turn.text else []
        called: list[Json] = [] if turn.tool is None else [_call(turn, ident)]
        if "stream" not in endpoint.path:
            endpoint.answer(200, _response(turn, [*said, *called], is_last=True))
            return
        endpoint.begin()
        endpoint.event(_response(turn, said, is_last=False))
        if turn.held:
            self.hold(ident)
        endpoint.event(_response(turn, called or [{"text": ""}], is_last=True))


def _text(part: Json) -> str:
    """Return the text of a part, or of the result that it carries."""
    return str(part.get("text") or json.dumps(part.get("functionResponse", {}), ensure_ascii=False))


def _call(turn: Turn, ident: str) -> Json:
    return {"functionCall": {"id": f"call_{ident}", "name": turn.tool, "args": turn.arguments or {}}}


def _response(turn: Turn, parts: list[Json], *, is_last: bool) -> Json:
    given, made = turn.usage
    usage = {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    ending = {"finishReason": "STOP"} if is_last else {}
    return {"candidates": [candidate | ending], "usageMetadata": usage, "modelVersion": "fake-model"}
