"""Write JSON-RPC 2.0 messages of the proxy's own, one line each."""

from __future__ import annotations

import json
from typing import Any

from .envelope import Id


def request(ident: str, method: str, params: dict[str, Any]) -> bytes:
    """A request line."""
    return _line({"id": ident, "method": method, "params": params})


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A notification line."""
    return _line({"method": method, "params": params})


def result(ident: Id, value: dict[str, Any]) -> bytes:
    """A successful response line; the id keeps its value and its type."""
    return _line({"id": ident, "result": value})


def error(ident: Id, code: int, message: str, data: Any = None) -> bytes:
    """An error response line; ``data`` is left out when None."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return _line({"id": ident, "error": body})


def _line(body: dict[str, Any]) -> bytes:
    # ASCII output: an objective may hold a lone surrogate, which has no UTF-8.
    return json.dumps({"jsonrpc": "2.0", **body}, separators=(",", ":")).encode("ascii") + b"\n"
