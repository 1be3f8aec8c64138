"""Change one value of a JSON message and leave every other byte as it was.

A message is edited as text by spans: number spellings, escapes, white space, key order, repeated keys and invalid UTF-8
outside the edited value survive. Where a key repeats, the last one is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in json.decoder, absent from its stub
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
# Numbers stay text: their value is not needed here, and a huge one would be slow or refused.
_scan = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode


class NotEditable(ValueError):
    """The message is not the JSON object that the edit expects; it must be relayed as it is."""


class Member(NamedTuple):
    """One ``"key": value`` of an object, as offsets into the text."""

    key: str
    start: int
    value: int
    end: int


def put(line: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """Set the value at a path of keys; objects missing (or null) on the way are created.

    Raises NotEditable when something on the way is neither absent, null nor an object.
    """
    return _edit(line, lambda text: _put(text, path, json.dumps(value, separators=(",", ":"))))


def append(line: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """Add an element at the end of the array at a path. Raises NotEditable when there is none."""
    return _edit(line, lambda text: _append(text, path, json.dumps(value, separators=(",", ":"))))


def arrange(line: bytes, path: tuple[str, ...], order: Sequence[int], replaced: Mapping[int, str]) -> bytes:
    """Keep the elements of an array of objects at these places, in this order, each as it was spelled.

    ``replaced`` gives a new value for the key ``text`` of some of them. Raises NotEditable when there is no such array.
    """
    return _edit(line, lambda text: _arrange(text, path, order, replaced))


def drop(line: bytes, path: tuple[str, ...]) -> bytes:
    """Remove the key at a path, and an object on the way that this leaves empty; the message itself if it is absent."""
    return _edit(line, lambda text: _drop(text, path))


def drop_meta(line: bytes, key: str, opaque: frozenset[str]) -> bytes:
    """Remove ``_meta.<key>`` everywhere in the message, and a ``_meta`` that this leaves empty.

    Values under the keys in ``opaque`` are the user's data, not the protocol's, and are not looked into.
    """
    return _edit(line, lambda text: _cut(text, _meta_removals(text, _start(text), key, opaque)))


def _edit(line: bytes, change: Callable[[str], str]) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    try:
        return change(text).encode("utf-8", "surrogateescape")
    except NotEditable:
        raise
    except (ValueError, RecursionError) as error:
        raise NotEditable(str(error)) from error


def _start(text: str) -> int:
    return _skip(text, 0)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str, at: int) -> Iterator[Member]:
    """The members of the object that opens at an offset."""
    if text[at : at + 1] != "{":
        raise NotEditable("not an object")
    at = _skip(text, at + 1)
    while text[at : at + 1] == '"':
        start = at
        key, at = scanstring(text, at + 1, False)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise NotEditable("a colon is missing")
        value = _skip(text, at + 1)
        end = _scan(text, value)[1]
        yield Member(key, start, value, end)
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The elements of the array that opens at an offset."""
    at = _skip(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        end = _scan(text, at)[1]
        yield at, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _find(text: str, at: int, key: str) -> Member | None:
    found = None
    for member in _members(text, at):
        if member.key == key:
            found = member
    return found


def _put(text: str, path: tuple[str, ...], value: str) -> str:
    at = _start(text)
    for depth, key in enumerate(path):
        member = _find(text, at, key)
        if member is None:
            return _insert(text, at, key, _wrap(path[depth + 1 :], value))
        if depth == len(path) - 1:
            return text[: member.value] + value + text[member.end :]
        if text[member.value : member.end] == "null":
            return text[: member.value] + _wrap(path[depth + 1 :], value) + text[member.end :]
        at = member.value
    raise NotEditable("an empty path")


def _locate(text: str, path: tuple[str, ...]) -> int:
    at = _start(text)
    for key in path:
        member = _find(text, at, key)
        if member is None:
            raise NotEditable("nothing at the path")
        at = member.value
    return at


def _append(text: str, path: tuple[str, ...], value: str) -> str:
    places = _array(text, path)
    end, comma = (places[-1][1], ",") if places else (_locate(text, path) + 1, "")
    return text[:end] + comma + value + text[end:]


def _arrange(text: str, path: tuple[str, ...], order: Sequence[int], replaced: Mapping[int, str]) -> str:
    places = _array(text, path)
    elements = [text[start:end] for start, end in places]
    for place, value in replaced.items():
        elements[place] = _put(elements[place], ("text",), json.dumps(value))
    return text[: places[0][0]] + ",".join(elements[place] for place in order) + text[places[-1][1] :]


def _array(text: str, path: tuple[str, ...]) -> list[tuple[int, int]]:
    at = _locate(text, path)
    if text[at : at + 1] != "[":
        raise NotEditable("no array at the path")
    return list(_elements(text, at))


def _wrap(path: tuple[str, ...], value: str) -> str:
    for key in reversed(path):
        value = "{" + json.dumps(key) + ":" + value + "}"
    return value


def _insert(text: str, at: int, key: str, value: str) -> str:
    first = _skip(text, at + 1)
    comma = "" if text[first : first + 1] == "}" else ","
    return text[: at + 1] + json.dumps(key) + ":" + value + comma + text[at + 1 :]


def _drop(text: str, path: tuple[str, ...]) -> str:
    while (span := _removal(text, path)) is not None:  # a repeated key is removed as often as it stands there
        text = text[: span[0]] + text[span[1] :]
    return text


def _removal(text: str, path: tuple[str, ...]) -> tuple[int, int] | None:
    """The span to cut so that the key at a path, and every object it leaves empty, is gone."""
    at, span = _start(text), None
    for depth, key in enumerate(path):
        members = list(_members(text, at))
        chosen = [index for index, member in enumerate(members) if member.key == key]
        if not chosen:
            return None
        if span is None or len(members) > 1:
            span = _member_span(members, chosen[-1])
        at = members[chosen[-1]].value
        if depth < len(path) - 1 and text[at : at + 1] != "{":
            return None
    return span


def _member_span(members: list[Member], index: int) -> tuple[int, int]:
    """A member together with the comma that separates it."""
    if index + 1 < len(members):
        return members[index].start, members[index + 1].start
    if index:
        return members[index - 1].end, members[index].end
    return members[index].start, members[index].end


def _meta_removals(text: str, at: int, key: str, opaque: frozenset[str]) -> Iterator[tuple[int, int]]:
    members = list(_members(text, at))
    for index, member in enumerate(members):
        if member.key in opaque or key not in text[member.value : member.end]:
            continue
        if member.key == "_meta":
            yield from _meta_removal(text, members, index, key)
        elif text[member.value] == "{":
            yield from _meta_removals(text, member.value, key, opaque)
        elif text[member.value] == "[":
            for start, end in _elements(text, member.value):
                if text[start] == "{" and key in text[start:end]:
                    yield from _meta_removals(text, start, key, opaque)


def _meta_removal(text: str, siblings: list[Member], index: int, key: str) -> Iterator[tuple[int, int]]:
    if text[siblings[index].value] != "{":
        return
    inner = list(_members(text, siblings[index].value))
    chosen = [place for place, member in enumerate(inner) if member.key == key]
    if chosen:
        yield _member_span(siblings, index) if len(inner) == 1 else _member_span(inner, chosen[-1])


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text
