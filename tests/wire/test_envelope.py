"""The look at a message is exact, and never raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from goalproxy.proxy.wire.envelope import Envelope, load, peek, peek_all

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_ids = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_messages = st.fixed_dictionaries(
    {},
    optional={
        "method": st.text(),
        "id": _ids,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "sessionId": st.text(),
                "update": st.fixed_dictionaries({"sessionUpdate": st.text()}),
                "x": _json,
            },
        )
        | _json,
        "error": _json,
        "other": _json,
    },
)


@given(st.binary())
def test_any_bytes_are_looked_at_without_an_error(line: bytes) -> None:
    peek(line)
    load(line)


@given(_messages)
def test_a_look_says_what_a_json_reader_finds(message: dict[str, object]) -> None:
    envelope = peek(json.dumps(message).encode())
    assert envelope is not None
    assert envelope.method == message.get("method", "")
    assert envelope.key == ((type(message["id"]), message["id"]) if "id" in message else None)
    assert envelope.failed == ("error" in message)
    params = message.get("params")
    session = params.get("sessionId") if isinstance(params, dict) else None
    assert envelope.session_id == (session if isinstance(session, str) else "")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"hello",
        b"[]",
        b"[{}]",
        b'"text"',
        b"7",
        b"null",
        b"{}{}",
        b'{"a":',
        b'{"method":7}',
        b'{"id":{}}',
        b'{"id":[]}',
    ],
)
def test_what_is_no_single_message_is_nobodys(line: bytes) -> None:
    assert peek(line) is None


@pytest.mark.parametrize(
    ("line", "method"),
    [
        (b'{"m\\u0065thod":"x"}', "x"),
        (b'{"method":"first","method":"last"}', "last"),
        (b'{"text":"\\"method\\":\\"no\\"","method":"yes"}', "yes"),
        (b'{"nested":{"method":"no"},"method":"yes"}', "yes"),
        (b'\xef\xbb\xbf{"method":"after a byte order mark"}', "after a byte order mark"),
        (b'{"method":"x","lone":"\\ud800"}', "x"),
        (b'{"method":"x","bad":"\xff"}', "x"),
        (b'{"method":"x","nan":NaN}', "x"),
        (b'{"method":"x","params":[1]}', "x"),
        (b'{"method":"x","params":{"sessionId":7,"update":{"sessionUpdate":null}}}', "x"),
        (b' {"method" : "x"} \r', "x"),
    ],
)
def test_odd_spellings_are_read_as_peers_read_them(line: bytes, method: str) -> None:
    envelope = peek(line)
    assert envelope is not None
    assert envelope.method == method


def test_ids_differ_by_type_and_by_value() -> None:
    spellings = [b"1", b"1.0", b'"1"', b"true", b"null", b"0", b"false", b'""']
    keys = [envelope.key for text in spellings if (envelope := peek(b'{"id":' + text + b"}"))]
    assert len(set(keys)) == len(spellings)
    no_id = peek(b'{"method":"x"}')
    assert no_id is not None
    assert no_id.id is UNSET
    assert no_id.key is None


def test_an_escaped_id_is_the_same_id() -> None:
    plain, escaped = peek(b'{"id":"ab"}'), peek(b'{"id":"\\u0061b"}')
    assert plain is not None
    assert escaped is not None
    assert plain.key == escaped.key


def test_nesting_too_deep_to_decode_is_nobodys() -> None:
    assert peek(b'{"method":"x","deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}") is None


_lines = st.one_of(
    _messages.map(lambda message: json.dumps(message).encode()),
    st.sampled_from([b"", b"{}{}", b"[1]", b'{"a":', b"}", b"{}"]),
)


@given(st.lists(_lines, max_size=6))
def test_a_look_at_a_block_is_the_look_at_its_lines_or_none(parts: list[bytes]) -> None:
    found = peek_all(b"".join(part + b"\n" for part in parts))
    if found is not None:
        assert [(one.method, one.key, one.failed) for one in found] == [
            (one.method, one.key, one.failed) for part in parts if (one := peek(part))
        ]
        assert len(found) == len(parts)


def test_a_block_of_plain_messages_is_looked_at_at_once() -> None:
    assert peek_all(b'{"method":"a"}\n{"id":1}\n') == [Envelope("a"), Envelope(id=1)]


def test_a_message_inside_a_value_over_several_lines_is_not_hidden_by_the_look_at_a_block() -> None:
    assert peek_all(b'{"a":\n{"method":"session/prompt"}\n}{}{}\n') is None
