"""What all fake models share: scripted turns, held open until the test lets go of them, and scripted verdicts.

A request of the agent takes the next scripted turn; when the script is used up, the turn is `HELD`. A held turn says
its text and then stays open until the test releases it, so the agent is "working" for as long as the test needs, an
unattended goal never runs in circles, and nothing depends on speed. All held turns are released when the model closes.

Some agents let their model judge whether the goal is met. These requests take the next scripted verdict, and are
numbered apart. What agents ask on the side (a title, a suggestion) is answered with nothing, and is neither.
"""

import json
import threading
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from .traffic import Entry, Json, Source, StuckError, Traffic

PATIENCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the model: text, then a tool call, then its end.

    usage: input and output tokens
    status: an HTTP error instead of a stream, with `error` as its body
    failed: the stream ends with response.failed and this error (Responses only)
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


@dataclass(frozen=True, slots=True)
class Found:
    """An argument of a tool call that is only known when it is made: what the newest tool result has at this path."""

    path: tuple[str, ...]


HELD: Final = Turn(text="working", held=True)
USAGE_LIMIT: Final = Turn(
    status=429,
    error={"error": {"type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": 4102444800}},
)
REFUSED: Final = Turn(
    status=400,
    error={"type": "error", "error": {"type": "invalid_request_error", "message": "boom", "code": "boom"}},
)


def say(text: str, usage: tuple[int, int] = (100, 10)) -> Turn:
    """Return a turn that says something and ends."""
    return Turn(text=text, usage=usage)


def use(tool: str, usage: tuple[int, int] = (100, 10), **arguments: Any) -> Turn:
    """Return a turn that calls a tool."""
    return Turn(tool=tool, arguments=arguments, usage=usage)


class Kind(StrEnum):
    """What an agent asks its model for."""

    TURN = "turn"
    VERDICT = "verdict"
    ASIDE = "aside"


class FakeModel:
    """The endpoint. `asked` waits for turns, `judged` for verdicts, `release` ends held turns. All count from 1.

    While `always` is set, every turn is that one, whatever the script says. A dialect says in what form requests come
    and replies go.
    """

    unasked: ClassVar[Turn] = say("A title")
    """The reply to what an agent asks on the side."""
    unjudged: ClassVar[Turn] = say("")
    """The verdict when none is scripted."""

    def __init__(self, traffic: Traffic) -> None:
        """Listen on a free port of loopback."""
        self.traffic = traffic
        self.always: Turn | None = None
        self._lock = threading.Lock()
        self._scripts: dict[Kind, list[Turn]] = {Kind.TURN: [], Kind.VERDICT: []}
        self._counts = {Kind.TURN: 0, Kind.VERDICT: 0}
        self._gates: dict[str, threading.Event] = {}
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="fake model")
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL for the agent's configuration."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def turns(self) -> int:
        """How many turns the model was asked for so far."""
        return self._counts[Kind.TURN]

    @property
    def verdicts(self) -> int:
        """How many verdicts the model was asked for so far."""
        return self._counts[Kind.VERDICT]

    # What a test does

    def script(self, *turns: Turn) -> None:
        """Append turns to the script."""
        with self._lock:
            self._scripts[Kind.TURN].extend(turns)

    def judge(self, *verdicts: Turn) -> None:
        """Append verdicts to theirs."""
        with self._lock:
            self._scripts[Kind.VERDICT].extend(verdicts)

    def asked(self, number: int) -> Entry:
        """Wait until the model has been asked for this turn."""
        return self.traffic.wait(f"turn {number} of the model", lambda entry: entry.message.get("turn") == number)

    def judged(self, number: int) -> Entry:
        """Wait until the model has been asked for this verdict."""
        return self.traffic.wait(f"verdict {number} of the model", lambda entry: entry.message.get("verdict") == number)

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
        self._gate(f"{Kind.TURN}_{number}").set()

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

    # What a dialect says

    def kind(self, request: Json) -> Kind:
        """Return what a request asks for."""
        raise NotImplementedError

    def newest(self, request: Json) -> str:
        """Return the newest input of a request as text: what this turn is about."""
        raise NotImplementedError

    def found(self, request: Json, path: tuple[str, ...]) -> Any:
        """Return what the newest tool result of a request has at a path."""
        raise NotImplementedError

    def play(self, endpoint: "Endpoint", request: Json, ident: str, turn: Turn) -> None:
        """Send a turn, held if it is to be."""
        raise NotImplementedError

    # What the endpoint does

    def serve(self, endpoint: "Endpoint", request: Json) -> None:
        """Number a request, choose its turn, and play it."""
        kind = self.kind(request)
        number, turn = self._take(kind)
        if turn.arguments:
            turn = _filled(turn, lambda path: self.found(request, path))
        if kind is not Kind.ASIDE:
            shown = {kind.value: number, "about": self.newest(request), "reply": _summary(turn)}
            self.traffic.add(Source.MODEL, shown)
        if turn.status is not None:
            endpoint.answer(turn.status, turn.error or {"error": {"message": "scripted"}})
        else:
            self.play(endpoint, request, f"{kind.value}_{number}", turn)

    def _take(self, kind: Kind) -> tuple[int, Turn]:
        if kind is Kind.ASIDE:
            return 0, self.unasked
        with self._lock:
            self._counts[kind] += 1
            if kind is Kind.TURN and self.always is not None:
                return self._counts[kind], self.always
            script = self._scripts[kind]
            rest = HELD if kind is Kind.TURN else self.unjudged
            return self._counts[kind], script.pop(0) if script else rest

    def hold(self, ident: str) -> None:
        """Wait until the turn is released (called while it is played)."""
        self._gate(ident).wait()

    def _gate(self, ident: str) -> threading.Event:
        """Return the gate of a turn, open from the start once the model closes."""
        with self._lock:
            gate = self._gates.setdefault(ident, threading.Event())
            if self._closed:
                gate.set()
            return gate


class _Server(ThreadingHTTPServer):
    """A thread for each request; one that the agent hung up on is no news."""

    daemon_threads = True
    block_on_close = True

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), Endpoint)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: agents break off requests when a turn is cancelled."""


class Endpoint(BaseHTTPRequestHandler):
    """One HTTP exchange."""

    server: _Server

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Stay silent: the traffic has it."""

    def do_HEAD(self) -> None:
        """Be there."""
        self.answer(200, {})

    def do_GET(self) -> None:
        """Answer the request for the models: there is nothing to say about them."""
        self.answer(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        """Play one turn."""
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.partition("?")[0].endswith("/count_tokens"):
            self.answer(200, {"input_tokens": 100})
        else:
            self.server.model.serve(self, request)

    def answer(self, status: int, body: Json) -> None:
        """Answer with one JSON object."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("x-should-retry", "false")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin(self) -> None:
        """Begin a stream of events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()

    def event(self, data: Json | str, name: str | None = None) -> None:
        """Send one event of the stream."""
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"event: {name}\ndata: {text}\n\n".encode() if name else f"data: {text}\n\n".encode())
        self.wfile.flush()


def text_of(content: Any) -> str:
    """Return the text in the content of a message: text itself, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text") or part.get("content")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def within(text: str, path: tuple[str, ...]) -> Any:
    """Return what a JSON text has at a path of keys."""
    value = json.loads(text)
    for key in path:
        value = value[key]
    return value


def _filled(turn: Turn, found: Any) -> Turn:
    """Return the turn with its arguments known."""
    given = turn.arguments or {}
    arguments = {name: found(value.path) if isinstance(value, Found) else value for name, value in given.items()}
    return Turn(text=turn.text, tool=turn.tool, arguments=arguments, usage=turn.usage, held=turn.held)


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
