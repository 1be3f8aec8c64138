"""Look at one message without decoding it: who it is for, and nothing more.

The look is exact, not a search for substrings: keys may be escaped, strings may contain anything, keys may repeat (the
last one counts, as in every JSON reader of an agent or a client). What cannot be decoded is nobody's message.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder, decode

Id = int | float | str | bool | None
IdKey = tuple[type, Id]


class UpdatePeek(Struct, frozen=True, gc=False):
    """The kind of a ``session/update``."""

    sessionUpdate: str = ""


class ParamsPeek(Struct, frozen=True, gc=False):
    """What routing needs of ``params``; empty where there is none."""

    sessionId: str = ""
    update: UpdatePeek = UpdatePeek()


class Envelope(Struct, frozen=True, gc=False):
    """One JSON-RPC message, peeked at.

    ``id`` is UNSET when the key is absent: a request has a method and an id (which may be null), a notification has a
    method only, a response has an id only. ``error`` is empty unless the message has that key.
    """

    method: str = ""
    id: Id | UnsetType = UNSET
    params: ParamsPeek = ParamsPeek()
    error: Raw = Raw()

    @property
    def key(self) -> IdKey | None:
        """The id by type and value: ``1``, ``1.0``, ``"1"`` and ``true`` are four ids. None when there is no id."""
        return None if self.id is UNSET else (type(self.id), self.id)

    @property
    def session_id(self) -> str:
        """The session that the message is about; empty if it names none."""
        return self.params.sessionId

    @property
    def update(self) -> str:
        """The kind of update that the message carries; empty if it carries none."""
        return self.params.update.sessionUpdate

    @property
    def failed(self) -> bool:
        """Whether the message is an error response."""
        return len(memoryview(self.error)) > 0


_decoder = Decoder(Envelope)
_decode = _decoder.decode


def peek(line: bytes) -> Envelope | None:
    """Look at a line; None if it is not one JSON object (a banner, a batch, half a message)."""
    try:
        return _decode(line)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        return _slow_peek(line)


def peek_all(block: bytes) -> list[Envelope] | None:
    """Look at a block of whole lines at once; None if it has to be looked at line by line.

    When every line begins with ``{`` and ends with ``}``, no value can reach over a newline (a comma would be missing),
    so as many values as lines are one value a line.
    """
    count = block.count(b"\n")
    if block.count(b"}\n{") != count - 1 or not (block.startswith(b"{") and block.endswith(b"}\n")):
        return None
    try:
        envelopes = _decoder.decode_lines(block)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return envelopes if len(envelopes) == count else None


def _slow_peek(line: bytes) -> Envelope | None:
    """The same for what msgspec refuses and JSON readers of peers accept: lone surrogates, odd shapes of params."""
    message = load(line)
    if message is None:
        return None
    method, ident, params = message.get("method", ""), message.get("id", UNSET), message.get("params")
    if not isinstance(method, str) or isinstance(ident, (dict, list)):
        return None
    return Envelope(method, ident, _params_peek(params), Raw(b"{}") if "error" in message else Raw())


def _params_peek(params: Any) -> ParamsPeek:
    if not isinstance(params, dict):
        return ParamsPeek()
    session, update = params.get("sessionId"), params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return ParamsPeek(session if isinstance(session, str) else "", UpdatePeek(kind if isinstance(kind, str) else ""))


def load(line: bytes) -> dict[str, Any] | None:
    """Decode a whole message; None if it is not one JSON object. Never raises."""
    try:
        message = decode(line)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        message = _load_leniently(line)
    return message if isinstance(message, dict) else None


def _load_leniently(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8", "surrogateescape").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
