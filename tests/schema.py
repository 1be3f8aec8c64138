"""Messages of the Agent Client Protocol, made from its own JSON Schemas, and written as no sane program would write them.

``shapes`` lists what there is to send: the params or the result of every method, of versions 1 and 2, stable and not.
``make`` makes a value of a shape, with fields that no schema knows; ``write`` spells it with white space, escapes and
numbers of every kind; ``read`` reads a text without losing how it was spelled. Random decisions come from outside, so
that hypothesis can make them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

HOME = Path(__file__).parent / "schema"
SCHEMAS = HOME / "node_modules" / "@agentclientprotocol" / "sdk" / "schema"
SESSION = "01a229a5-2d62-7e03"
"""The session that most messages are about."""

Side = Literal["client", "agent"]
Json = dict[str, Any]

_DEEP = 5
_SUFFIX = {"Request": "request", "Response": "response", "Notification": "notification"}


class Raw(str):
    """A value as it is spelled."""

    __slots__ = ()


class Members(list[tuple[Any, Any]]):
    """An object whose keys may repeat. Keys are strings; ``read`` gives them as ``Raw``."""


class Shape(NamedTuple):
    """One kind of message: ``by`` is who sends it, ``variant`` which kind of update it carries (-1 for none)."""

    version: int
    stable: bool
    definition: str
    method: str
    by: Side
    kind: str
    variant: int = -1

    def __str__(self) -> str:
        """A name for a test."""
        kind = "" if self.variant < 0 else f"-{self.variant}"
        return f"v{self.version}{'' if self.stable else '-unstable'}-{self.by}-{self.definition}{kind}"


@cache
def definitions(version: int, stable: bool) -> dict[str, Json]:  # noqa: FBT001
    """All definitions of a schema."""
    name = "schema.json" if stable else "schema.unstable.json"
    loaded: dict[str, Json] = json.loads((SCHEMAS / f"v{version}" / name).read_text(encoding="utf-8"))["$defs"]
    return loaded


def is_installed() -> bool:
    """Whether the schemas are there."""
    return SCHEMAS.is_dir()


def shapes() -> list[Shape]:
    """All kinds of messages; none if the schemas are not there."""
    if not is_installed():
        return []
    return [
        shape
        for version in (1, 2)
        for stable in (True, False)
        for name, schema in definitions(version, stable).items()
        if "x-method" in schema
        for shape in _shapes(version, stable, name, schema)
    ]


def _shapes(version: int, stable: bool, name: str, schema: Json) -> list[Shape]:  # noqa: FBT001
    kind = next(kind for suffix, kind in _SUFFIX.items() if name.endswith(suffix))
    found = []
    for by in _senders(schema["x-side"], kind):
        shape = Shape(version, stable, name, schema["x-method"], by, kind)
        if shape.method == "session/update":
            count = len(_choices(definitions(version, stable)["SessionUpdate"]))
            found += [shape._replace(variant=variant) for variant in range(count)]
        else:
            found.append(shape)
    return found


def _senders(side: str, kind: str) -> list[Side]:
    """Who sends it: ``side`` says who handles the method."""
    if side == "agent":
        return ["agent"] if kind == "response" else ["client"]
    if side == "client":
        return ["client"] if kind == "response" else ["agent"]
    return ["client", "agent"]


def _choices(schema: Json) -> list[Json]:
    found: list[Json] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


# Values

_TEXTS = [
    "",
    "a",
    "Ship it",
    "see /goal in the manual",
    "/goals",
    'quote " and \\ and /',
    "line\nbreak\ttab",
    "\u2028\u2029\x85",
    "\x00\x1f\x7f",
    "\U0001f680 \u00e9",
    '{"method":"session/update","_meta":{"goal":null}}',
    "\ud800",
    "_meta",
]
_NUMBERS = [
    "0",
    "-0",
    "1",
    "1.0",
    "1e2",
    "1E-2",
    "0.10",
    "1e400",
    "123456789012345678901234567890",
    "-9007199254740993",
]
_IDS = ["0", "1", "-7", "1.0", "1.5", "1e3", "9007199254740993", "12345678901234567890", "null", "true"]
_META: list[tuple[str, Any]] = [
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", "a=1,b=2"),
    ("baggage", "user=1"),
    ("zed.dev/goal", Members([("goal", None)])),
    ("codex", Members([("other", Members([("goal", "x")]))])),
    ("vendor", [Members([("_meta", Members([("goal", True)]))])]),
    ("jetbrain", Members([("air", Members())])),
    ("jetbrains", Members([("air", Members([("version", Raw("1")), ("kind", "standard")]))])),
    ("goal", None),
    ("goal", Members([("objective", "Ship it"), ("status", "active"), ("createdAt", Raw("1795995120000"))])),
    ("goal", "no goal at all"),
]


def make(shape: Shape, random: Random) -> Any:
    """The params or the result of a message."""
    maker = _Maker(definitions(shape.version, shape.stable), random, shape.variant)
    return maker.value({"$ref": f"#/$defs/{shape.definition}"}, 0)


def make_id(random: Random) -> Raw:
    """An id, spelled."""
    if random.random() < 0.5:
        return Raw(random.choice(_IDS))
    return Raw(_write_text(random.choice(_TEXTS), random))


class _Maker:
    def __init__(self, known: dict[str, Json], random: Random, variant: int) -> None:
        self._known = known
        self._random = random
        self._variant = variant

    def value(self, schema: Json | bool, depth: int) -> Any:  # noqa: FBT001
        if isinstance(schema, bool):
            return self._anything(depth)
        flat = self._flatten(schema)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return self._random.choice(flat["enum"])
        kind = flat.get("type", "object" if "properties" in flat else "")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        makers = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
        }
        if kind in makers:
            return makers[kind](flat, depth)
        return {"boolean": self._random.random() < 0.5, "null": None}.get(kind) if kind else self._anything(depth)

    def _flatten(self, schema: Json) -> Json:
        """A schema with references followed, ``allOf`` merged, and one of each choice taken."""
        flat: Json = {"properties": {}, "required": []}
        parts = list(schema.get("allOf", []))
        if "$ref" in schema:
            parts.append(self._refer(schema["$ref"]))
        if choices := _choices(schema):
            parts.append(self._random.choice(choices))
        for part in (*map(self._flatten, parts), schema):
            flat["properties"].update(part.get("properties", {}))
            flat["required"] += part.get("required", [])
            ignored = ("properties", "required", "$ref", "allOf", "anyOf", "oneOf", "description", "title")
            flat.update({key: value for key, value in part.items() if key not in ignored})
        if not flat["properties"]:
            del flat["properties"]
        return flat

    def _refer(self, reference: str) -> Json:
        name = reference.removeprefix("#/$defs/")
        if name == "SessionUpdate" and self._variant >= 0:
            return _choices(self._known[name])[self._variant]
        return self._known[name]

    def _object(self, flat: Json, depth: int) -> Members:
        made = Members()
        # A variant for what is none of the known ones says so by what its discriminator must not be.
        custom = {key for known in _choices(flat.get("not", {})) for key in known.get("required", [])}
        for key, schema in flat.get("properties", {}).items():
            if key in custom:
                made.append((key, "_custom"))
            elif self._is_there(key, flat["required"], depth):
                made.append((key, self._member(key, schema, depth)))
        extra = flat.get("additionalProperties")
        if isinstance(extra, dict) and depth < _DEEP:
            made.append(("some key", self.value(extra, depth + 1)))
        if self._random.random() < 0.15:
            self._add_unknown(made, depth)
        return made

    def _is_there(self, key: str, required: list[str], depth: int) -> bool:
        if key == "_meta":
            return self._random.random() < 0.3
        return key in required or (depth < _DEEP and self._random.random() < 0.5)

    def _member(self, key: str, schema: Json, depth: int) -> Any:
        if key == "_meta":
            return self._meta()
        if key == "sessionId":
            return SESSION if self._random.random() < 0.8 else "another"
        return self.value(schema, depth + 1)

    def _add_unknown(self, made: Members, depth: int) -> None:
        key = self._random.choice(["x-unknown", "", "goal", "update2", "\u2028", "proto\\type"])
        for _ in range(self._random.choice([1, 1, 2])):
            made.insert(self._random.randint(0, len(made)), (key, self._anything(depth + 1)))

    def _meta(self) -> Members | None:
        if self._random.random() < 0.1:
            return None
        return Members(dict(self._random.sample(_META, self._random.randint(0, 3))).items())

    def _array(self, flat: Json, depth: int) -> list[Any]:
        least = flat.get("minItems", 0)
        count = max(least, self._random.randint(0, 2) if depth < _DEEP else 0)
        return [self.value(flat.get("items", True), depth + 1) for _ in range(count)]

    def _string(self, flat: Json, depth: int) -> str:  # noqa: ARG002
        return self._random.choice(_TEXTS) or "a" * flat.get("minLength", 0)

    def _integer(self, flat: Json, depth: int) -> Raw:  # noqa: ARG002
        number = str(max(flat.get("minimum", 0), self._random.choice([0, 1, 2, 65535])))
        return Raw(number + self._random.choice(["", "", ".0", "e0"]))

    def _number(self, flat: Json, depth: int) -> Raw:  # noqa: ARG002
        return Raw(self._random.choice(_NUMBERS))

    def _anything(self, depth: int) -> Any:
        choice = self._random.randint(0, 5 if depth < _DEEP else 3)
        if choice == 0:
            return self._random.choice([None, True, False])
        if choice == 1:
            return Raw(self._random.choice(_NUMBERS))
        if choice in (2, 3):
            return self._random.choice(_TEXTS)
        if choice == 4:
            return [self._anything(depth + 2) for _ in range(self._random.randint(0, 2))]
        return Members([("_meta", self._meta()), (self._random.choice(_TEXTS), self._anything(depth + 2))])


# Text


def write(value: Any, random: Random) -> str:
    """The value as one line of JSON, spelled in one of many ways."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return _write_text(value, random)
    if isinstance(value, list):
        space = _space(random)
        if isinstance(value, Members):
            parts = [f"{_write_text(key, random)}{space}:{space}{write(entry, random)}" for key, entry in value]
            return "{" + space + f",{space}".join(parts) + space + "}"
        return "[" + space + f"{space},".join(write(entry, random) for entry in value) + space + "]"
    return json.dumps(value)


def _space(random: Random) -> str:
    return random.choice(["", "", " ", "\t ", " \r"])


def _write_text(text: str, random: Random) -> str:
    style = random.randint(0, 3)
    if style == 0 or text == "jetbrains":  # the agents concerned write this key as it is, and the engine counts on it
        return json.dumps(text)
    # A lone surrogate has no UTF-8; it can only be escaped.
    plain = "".join(json.dumps(char)[1:-1] if "\ud800" <= char <= "\udfff" else char for char in text)
    if plain != text or style == 1 or not text:
        return '"' + "".join(json.dumps(char, ensure_ascii=not char.isprintable())[1:-1] for char in text) + '"'
    if style == 2:
        return json.dumps(text, ensure_ascii=False)
    place = random.randint(0, len(text) - 1)
    escaped = text[place].encode("utf-16-be").hex()
    units = "".join(f"\\u{escaped[start : start + 4]}" for start in range(0, len(escaped), 4))
    return f'"{_inner(text[:place])}{units}{_inner(text[place + 1 :])}"'


def _inner(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


_TOKEN = re.compile(r'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^ \t\r\n{}\[\],:"]+)')


def read(text: str) -> Any:
    """Read a JSON text: objects as ``Members``, all else but arrays as ``Raw``. Spelling and order are kept."""
    tokens = _TOKEN.findall(text)
    value, end = _read(tokens, 0)
    assert end == len(tokens), "more than one value"
    return value


def _read(tokens: list[str], at: int) -> tuple[Any, int]:
    opening = tokens[at]
    if opening not in "{[":
        return Raw(opening), at + 1
    made: Any = Members() if opening == "{" else []
    at += 1
    while tokens[at] not in "}]":
        if tokens[at] == ",":
            at += 1
        if opening == "{":
            key = Raw(tokens[at])
            entry, at = _read(tokens, at + 2)
            made.append((key, entry))
        else:
            entry, at = _read(tokens, at)
            made.append(entry)
    return made, at + 1


def text_of(raw: Raw) -> str:
    """The string that a spelling means."""
    meant: str = json.loads(raw)
    return meant
