"""The fake model: an OpenAI Responses endpoint (streaming SSE) on loopback that says what a test scripts.

A request of the agent takes the next scripted turn; when the script is used up, the turn is `HELD`. A held turn says
its text and then stays open until the test releases it, so the agent is "working" for as long as the test needs, an
unattended goal never runs in circles, and nothing depends on speed. All held turns are released when the model closes.

Requests for a title of the session, which some agents make on the side, are answered apart and are not turns.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from .traffic import Entry, Json, Source, StuckError, Traffic

TITLE_REQUEST: Final = "generate a very short title"
PATIENCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the model: text, then a tool call, then its end.

    usage: input and output tokens
    status: an HTTP error instead of a stream, with `error` as its body
    failed: the stream ends with response.failed and this error
    held: the end comes only when the test releases the turn
    """

    text: str | None = None
    tool: str | None = None
    arguments: Json | None = None
    usage: tuple[int, int] = (100, 10)
    status: int | None = None
    error: Json | None = None
    failed: Json | None = None
    held: bool = False


HELD: Final = Turn(text="working", held=True)
USAGE_LIMIT: Final = Turn(
    status=429,
    error={"error": {"type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": 4102444800}},
)


def say(text: str, usage: tuple[int, int] = (100, 10)) -> Turn:
    """Return a turn that says something and ends."""
    return Turn(text=text, usage=usage)


def use(tool: str, usage: tuple[int, int] = (100, 10), **arguments: Any) -> Turn:
    """Return a turn that calls a tool."""
    return Turn(tool=tool, arguments=arguments, usage=usage)


class FakeModel:
    """The endpoint. `asked` waits for turns, `release` ends held ones. Turns count from 1."""

    def __init__(self, traffic: Traffic) -> None:
        """Listen on a free port of loopback."""
        self.traffic = traffic
        self._lock = threading.Lock()
        self._script: list[Turn] = []
        self._turns = 0
        self._gates: dict[int, threading.Event] = {}
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="fake model")
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL for the agent's configuration."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def turns(self) -> int:
        """How many turns the model was asked for so far."""
        return self._turns

    def script(self, *turns: Turn) -> None:
        """Append turns to the script."""
        with self._lock:
            self._script.extend(turns)

    def asked(self, number: int) -> Entry:
        """Wait until the model has been asked for this turn."""
        return self.traffic.wait(f"turn {number} of the model", lambda entry: entry.message.get("turn") == number)

    def asked_about(self, text: str, after: int = 0) -> int:
        """Wait for a turn, later than turn `after`, whose newest input contains the text; return its number."""

        def wanted(entry: Entry) -> bool:
            about, turn = entry.message.get("about"), entry.message.get("turn", 0)
            return entry.source is Source.MODEL and turn > after and text in str(about)

        number: int = self.traffic.wait(f"a turn of the model about {text!r}", wanted).message["turn"]
        return number

    def release_until(self, text: str, start: int) -> int:
        """Release one turn after the other, from `start` on, until one is about the text; return its number.

        A prompt that comes while a turn runs goes to the model in this turn, in the next one or in the one after that.
        """
        for number in range(start, start + PATIENCE):
            self.release(number)
            if text in str(self.asked(number + 1).message["about"]):
                return number + 1
        raise StuckError(f"{PATIENCE} turns of the model, none of them about {text!r}\n{self.traffic.tail()}")

    def release(self, number: int) -> None:
        """Let a held turn end; one that was not asked for yet will not be held."""
        self.traffic.note(f"turn {number} is released")
        self._gate(number).set()

    def close(self) -> None:
        """Release everything and stop listening."""
        with self._lock:
            self._closed = True
            gates = list(self._gates.values())
        for gate in gates:
            gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        """Return the listening model."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def take(self, request: str) -> tuple[int, Turn]:
        """Number a request and choose its turn (called by the endpoint)."""
        if TITLE_REQUEST in request:
            return 0, say("A title")
        with self._lock:
            self._turns += 1
            number, turn = self._turns, self._script.pop(0) if self._script else HELD
        self.traffic.add(Source.MODEL, {"turn": number, "about": _newest_input(request), "reply": _summary(turn)})
        return number, turn

    def hold(self, number: int) -> None:
        """Wait until the turn is released (called by the endpoint)."""
        self._gate(number).wait()

    def _gate(self, number: int) -> threading.Event:
        """Return the gate of a turn, open from the start once the model closes."""
        with self._lock:
            gate = self._gates.setdefault(number, threading.Event())
            if self._closed:
                gate.set()
            return gate


class _Server(ThreadingHTTPServer):
    """A thread for each request; one that the agent hung up on is no news."""

    daemon_threads = True
    block_on_close = True

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Endpoint)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: agents break off requests when a turn is cancelled."""


class _Endpoint(BaseHTTPRequestHandler):
    """One HTTP exchange."""

    server: _Server

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Stay silent: the traffic has it."""

    def do_GET(self) -> None:
        """Answer the request for the models: there is nothing to say about them."""
        self._answer(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        """Play one turn."""
        request = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        number, turn = self.server.model.take(request)
        if turn.status is not None:
            self._answer(turn.status, turn.error or {"error": {"message": "scripted"}})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in _opening(turn, number):
            self._send(event)
        if turn.held:
            self.server.model.hold(number)
        self._send(_ending(turn, number))

    def _answer(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send(self, event: Json) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def _opening(turn: Turn, number: int) -> Iterator[Json]:
    """Yield all events of a turn but the last."""
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    for place, item in enumerate(_output(turn, number)):
        if item["type"] == "message":
            text = item["content"][0]["text"]
            yield {"type": "response.output_item.added", "output_index": place, "item": {**item, "content": []}}
            yield {
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": place,
                "content_index": 0, "delta": text,
            }  # fmt: skip
        yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _ending(turn: Turn, number: int) -> Json:
    """Return the last event of a turn."""
    response: Json = {"id": f"resp_{number}"}
    if turn.failed is not None:
        return {"type": "response.failed", "response": {**response, "error": turn.failed}}
    given, made = turn.usage
    usage = {
        "input_tokens": given, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": given + made,
    }  # fmt: skip
    return {"type": "response.completed", "response": {**response, "output": _output(turn, number), "usage": usage}}


def _output(turn: Turn, number: int) -> list[Json]:
    """Return the finished items of a turn."""
    items: list[Json] = []
    if turn.text is not None:
        content = [{"type": "output_text", "text": turn.text}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
    if turn.tool is not None:
        arguments = json.dumps(turn.arguments or {})
        items.append(
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": turn.tool,
             "arguments": arguments}
        )  # fmt: skip
    return items


def _newest_input(request: str) -> str:
    """Return the newest input items of a request as text: what this turn is about."""
    try:
        items = json.loads(request).get("input") or []
    except (ValueError, AttributeError):
        return request
    newest: list[str] = []
    for item in reversed(items):
        if item.get("role") == "assistant" or item.get("type") == "function_call":
            break
        newest.insert(0, json.dumps(item, ensure_ascii=False))
    return "\n".join(newest)


def _summary(turn: Turn) -> Json:
    """Return the parts of a turn that are set, for the record."""
    shown: Json = {
        "text": turn.text,
        "tool": turn.tool,
        "status": turn.status,
        "failed": turn.failed,
        "held": turn.held,
    }
    return {key: value for key, value in shown.items() if value}
