"""The MCP server with the goal tools, on loopback, in a thread of its own.

MCP's streamable HTTP is written out here and not taken from the official SDK, which would load half a second of
modules, and a second web framework, for four kinds of message. What is served is the part that needs no state: a
message is a POST with an answer in JSON; there is no session and no stream, and a client that asks for one (GET) is
told 405, as the protocol has it.

Who calls is known by the bearer token alone. Whose token it is, and what the caller may do, is not decided here.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from goalproxy.proxy.goal.tools import INSTRUCTIONS, TOOLS
from goalproxy.proxy.version import VERSION

if TYPE_CHECKING:
    from aiohttp import web

PATH: Final = "/mcp"
_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP that what is served here is valid in, newest first."""
_LARGEST_BODY = 1 << 20
_HOSTS = frozenset({"127.0.0.1", "localhost"})
_OK, _ACCEPTED, _BAD, _UNAUTHORIZED, _FORBIDDEN = 200, 202, 400, 401, 403
_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32600, -32601, -32602


class ToolResult(NamedTuple):
    """What a tool answers: a JSON object, and whether the call failed."""

    body: dict[str, Any]
    failed: bool


Reply = Callable[[ToolResult], None]
OnCall = Callable[[str, str, object, Reply], None]
"""Called with the token, the tool's name, its arguments as they came, and where to put the result. Must not block."""

_NO_ANSWER = ToolResult(
    {"error": {"code": "timeout", "message": "The goal proxy did not answer in time."}}, failed=True
)


class GoalServer:
    """Serves the goal tools at ``url`` from the first ``start()`` until the process ends.

    The port is taken at once, so that the URL can be given away before anything slow is loaded; whoever connects
    earlier waits. ``on_call`` is called on the server's thread; its ``reply`` may be called from any thread, and the
    caller waits for it, at most ``patience`` seconds. ``on_listed`` is told the token of each that asks for the list
    of tools.
    """

    def __init__(
        self, on_call: OnCall, *, on_listed: Callable[[str], None] = lambda _: None, patience: float = 60.0
    ) -> None:
        self._on_call = on_call
        self._on_listed = on_listed
        self._patience = patience
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._started = False

    @property
    def url(self) -> str:
        """Where the tools are."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}{PATH}"

    def start(self) -> None:
        """Serve from now on; nothing happens if it does already."""
        with self._lock:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._run, name="mcp", daemon=True).start()

    def _run(self) -> None:
        import asyncio  # noqa: PLC0415 - slow to load: on the thread, and only where there are goals to serve

        asyncio.run(self._serve())

    async def _serve(self) -> None:
        import asyncio  # noqa: PLC0415 - as above

        from aiohttp import web  # noqa: PLC0415 - as above

        served = web.Application(client_max_size=_LARGEST_BODY)
        served.router.add_post(PATH, self._post)
        runner = web.AppRunner(served, access_log=None, handle_signals=False)
        await runner.setup()
        await web.SockSite(runner, self._listener).start()
        await asyncio.Event().wait()

    async def _post(self, request: web.Request) -> web.Response:
        from aiohttp import web  # noqa: PLC0415 - as above

        token = _token(request.headers)
        if not _is_local(request.headers):
            return web.Response(status=_FORBIDDEN, text="This server is for the agent on this machine.")
        if token is None:
            headers = {"WWW-Authenticate": "Bearer"}
            return web.Response(status=_UNAUTHORIZED, headers=headers, text="A bearer token is needed.")
        status, answer = await self._answer(token, await request.read())
        if answer is None:
            return web.Response(status=status)
        return web.Response(status=status, body=_encode(answer), content_type="application/json")

    async def _answer(self, token: str, body: bytes) -> tuple[int, object]:
        """The HTTP status and the message that answer a body; None is no message."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return _BAD, _error(None, _PARSE_ERROR, "The body is not JSON.")
        if message == []:
            return _BAD, _error(None, _INVALID_REQUEST, "A batch must not be empty.")
        if isinstance(message, list):
            answers = await self._answer_all(token, message)
            return (_OK, answers) if answers else (_ACCEPTED, None)
        answer = await self._answer_one(token, message)
        return _ACCEPTED if answer is None else _OK, answer

    async def _answer_all(self, token: str, batch: list[object]) -> list[dict[str, Any]]:
        # One after the other: each call of a model sees what the one before it has changed.
        answers = [await self._answer_one(token, message) for message in batch]
        return [answer for answer in answers if answer is not None]

    async def _answer_one(self, token: str, message: object) -> dict[str, Any] | None:
        """The answer to a message; None if it is no request."""
        if not isinstance(message, dict):
            return _error(None, _INVALID_REQUEST, "A message must be an object.")
        ident, method = message.get("id"), message.get("method")
        if not isinstance(method, str):
            is_response = "result" in message or "error" in message
            return None if is_response else _error(ident, _INVALID_REQUEST, "A request needs a method.")
        if "id" not in message:
            return None
        params = message.get("params")
        if method == "tools/call":
            return await self._call(token, ident, params)
        if method == "tools/list":
            self._on_listed(token)
        result = _result(method, params if isinstance(params, dict) else {})
        if result is None:
            return _error(ident, _METHOD_NOT_FOUND, f"Unknown method: {method[:80]}")
        return {"jsonrpc": "2.0", "id": ident, "result": result}

    async def _call(self, token: str, ident: object, params: object) -> dict[str, Any]:
        name = params.get("name") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(name, str):
            return _error(ident, _INVALID_PARAMS, "A call needs the name of a tool.")
        result = await self._result_of(token, name, params.get("arguments"))
        content = [{"type": "text", "text": _compact(result.body)}]
        return {"jsonrpc": "2.0", "id": ident, "result": {"content": content, "isError": result.failed}}

    async def _result_of(self, token: str, name: str, arguments: object) -> ToolResult:
        import asyncio  # noqa: PLC0415 - as above

        loop = asyncio.get_running_loop()
        replied: asyncio.Future[ToolResult] = loop.create_future()

        def settle(result: ToolResult) -> None:
            if not replied.done():  # else nobody waits any more
                replied.set_result(result)

        def reply(result: ToolResult) -> None:
            loop.call_soon_threadsafe(settle, result)

        self._on_call(token, name, arguments, reply)
        try:
            async with asyncio.timeout(self._patience):
                return await replied
        except TimeoutError:
            return _NO_ANSWER


def _result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request that is no call; None if the method is unknown."""
    if method == "initialize":
        return _initialized(params.get("protocolVersion"))
    return {"ping": {}, "tools/list": {"tools": TOOLS}}.get(method)


def _initialized(wanted: object) -> dict[str, Any]:
    return {
        "protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "goalproxy", "version": VERSION},
        "instructions": INSTRUCTIONS,
    }


def _is_local(headers: Mapping[str, str]) -> bool:
    """Whether an agent on this machine may have sent a request: no web page, and no name that a web page could use."""
    return "Origin" not in headers and headers.get("Host", "").partition(":")[0] in _HOSTS


def _token(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None


def _error(ident: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}


def _compact(body: object) -> str:
    """Text for a model: as it would write it itself."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def _encode(message: object) -> bytes:
    # ASCII, since an objective may hold a lone surrogate, which has no UTF-8.
    return json.dumps(message, separators=(",", ":")).encode("ascii")
