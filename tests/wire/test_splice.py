"""An edit changes the value at its path, and no other byte."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.proxy.wire.splice import NotEditable, drop, drop_meta, put

_keys = st.sampled_from(["a", "b", "_meta", "goal", "jetbrains", "x y", "\u2028", '"'])
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)
_objects = st.dictionaries(_keys, _values, max_size=4)
_paths = st.lists(_keys, min_size=1, max_size=3).map(tuple)


def _expected_put(holder: dict[str, Any], path: tuple[str, ...], value: Any) -> bool:
    """Set the value in place; False if something on the way is no object."""
    for key in path[:-1]:
        if holder.get(key) is None:
            holder[key] = {}
        holder = holder[key]
        if not isinstance(holder, dict):
            return False
    holder[path[-1]] = value
    return True


@given(_objects, _paths, _values, st.sampled_from([None, 1]))
def test_put_sets_the_value_and_keeps_the_rest(
    message: dict[str, Any], path: tuple[str, ...], value: Any, indent: int
) -> None:
    line = json.dumps(message, indent=indent).encode()
    if _expected_put(message, path, value):
        assert json.loads(put(line, path, value)) == message
    else:
        with pytest.raises(NotEditable):
            put(line, path, value)


@given(_objects, _paths, st.sampled_from([None, 1]))
def test_drop_undoes_put(message: dict[str, Any], path: tuple[str, ...], indent: int) -> None:
    line = json.dumps(message, indent=indent).encode()
    without = drop(line, path)
    assert drop(without, path) == without
    try:
        with_value = put(without, path, 1)
    except NotEditable:
        return
    assert json.loads(drop(with_value, path)) == _pruned(json.loads(without), path)


def _pruned(message: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The message without the objects that a drop at the path leaves empty."""
    if len(path) > 1 and isinstance(message.get(path[0]), dict | None):
        inner = _pruned(message.get(path[0]) or {}, path[1:])
        message = {**message, path[0]: inner}
        if not inner:
            del message[path[0]]
    return message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            b' {"n":1.10, "big":1e400 ,"s":"\\ud800\xff\\/"}\r\n',
            b' {"goal":7,"n":1.10, "big":1e400 ,"s":"\\ud800\xff\\/"}\r\n',
        ),
        (b'{"goal":null}', b'{"goal":7}'),
        (b'{"goal":1,"goal":2}', b'{"goal":1,"goal":7}'),
        (b'{"g\\u006fal":1}', b'{"g\\u006fal":7}'),
        (b"{ }", b'{"goal":7 }'),
    ],
)
def test_put_leaves_every_other_byte(line: bytes, expected: bytes) -> None:
    assert put(line, ("goal",), 7) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a":1, "goal":2, "b":3}', b'{"a":1, "b":3}'),
        (b'{"a":1, "goal":2}', b'{"a":1}'),
        (b'{"goal":2 , "a":1}', b'{"a":1}'),
        (b'{"goal":1,"a":0,"goal":2}', b'{"a":0}'),
        (b'{"a":1.10}', b'{"a":1.10}'),
    ],
)
def test_drop_leaves_every_other_byte(line: bytes, expected: bytes) -> None:
    assert drop(line, ("goal",)) == expected


def test_drop_removes_objects_that_it_leaves_empty() -> None:
    assert drop(b'{"u":{"k":1,"_meta":{"goal":null}}}', ("u", "_meta", "goal")) == b'{"u":{"k":1}}'
    assert (
        drop(b'{"u":{"k":1,"_meta":{"goal":null,"v":2}}}', ("u", "_meta", "goal")) == b'{"u":{"k":1,"_meta":{"v":2}}}'
    )


@pytest.mark.parametrize("line", [b"[]", b"hello", b'{"a":', b'{"a" 1}', b"", b'{"a":' + b"[" * 100_000])
def test_what_is_no_object_is_not_editable(line: bytes) -> None:
    with pytest.raises(NotEditable):
        put(line, ("b", "c"), 1)


@given(_objects)
def test_drop_meta_removes_the_key_from_every_meta_and_nothing_else(message: dict[str, Any]) -> None:
    line = json.dumps(message).encode()
    assert json.loads(drop_meta(line, "jetbrains", frozenset({"b"}))) == _without(message)


def _without(value: Any) -> Any:
    """What ``drop_meta`` leaves, by another road."""
    if isinstance(value, list):
        return [_without(item) if isinstance(item, dict) else item for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: item if key in ("b", "_meta") else _without(item) for key, item in value.items()}
    meta = result.get("_meta")
    if isinstance(meta, dict) and "jetbrains" in meta:
        result["_meta"] = {key: item for key, item in meta.items() if key != "jetbrains"}
        if not result["_meta"]:
            del result["_meta"]
    return result


@given(st.binary())
def test_any_bytes_are_edited_or_refused(line: bytes) -> None:
    for edit in (
        lambda: put(line, ("a", "b"), 1),
        lambda: drop(line, ("a", "b")),
        lambda: drop_meta(line, "a", frozenset()),
    ):
        with contextlib.suppress(NotEditable):
            edit()
