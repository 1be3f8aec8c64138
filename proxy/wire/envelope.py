"""Look at one message without decoding it: who it is for, and nothing more.

The look is exact, not a search for substrings: keys may be escaped, strings may contain anything, keys may repeat (the
last one counts, as in every JSON reader of an agent or a client). What cannot be decoded is nobody's message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder, decode

from .ndjson import Block

Id = int | float | str | bool | None
IdKey = tuple[type, Id]


def same_id(one: object, other: object) -> bool:
    """Whether two ids are the same by type and value: ``1``, ``1.0``, ``"1"`` and ``true`` are four ids."""
    return type(one) is type(other) and one == other


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


_decode = Decoder(Envelope).decode


def peek(line: bytes) -> Envelope | None:
    """Look at a line; None if it is not one JSON object (a banner, a batch, half a message)."""
    try:
        return _decode(line)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        return _slow_peek(line)


def peek_all(block: Block) -> list[Envelope] | None:
    """Look at a block of whole lines at once; None if one of them has to be looked at more closely, or ends too early.

    This is as fast as it gets: ``decode_lines`` needs proof that it took one value from each line, and counting the
    newlines and the braces beside them costs more than splitting.
    """
    if block.find(b"\n") == len(block) - 1:  # One line, which may be long: do not copy it.
        parts: Sequence[Block] = [block]
    elif block.endswith(b"\n"):
        parts = block.split(b"\n")[:-1]
    else:
        return None
    try:
        return list(map(_decode, parts))
    except (DecodeError, RecursionError, UnicodeDecodeError):
        return None


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
