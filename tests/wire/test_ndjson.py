"""Lines come out as they went in, however the bytes were cut into chunks."""

from hypothesis import given
from hypothesis import strategies as st

from goalproxy.proxy.wire.ndjson import LineBuffer, lines

# Bytes in which newlines, carriage returns and other would-be line ends are frequent.
_streams = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r\n", b"\r", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b", b"\x0c", b"{}", b" "]),
        st.binary(),
    )
).map(b"".join)


def _cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(place % (len(stream) + 1) for place in places)
    return [stream[start:end] for start, end in zip([0, *ends], [*ends, len(stream)], strict=True)]


@given(_streams, st.lists(st.integers(min_value=0)))
def test_any_cut_of_any_bytes_gives_the_same_bytes(stream: bytes, places: list[int]) -> None:
    buffer = LineBuffer()
    blocks = [block for chunk in _cut(stream, places) for block in buffer.feed(chunk)]
    assert b"".join([*blocks, buffer.finish()]) == stream


@given(_streams, st.lists(st.integers(min_value=0)))
def test_every_block_ends_with_a_newline_and_the_rest_has_none(stream: bytes, places: list[int]) -> None:
    buffer = LineBuffer()
    assert all(block.endswith(b"\n") for chunk in _cut(stream, places) for block in buffer.feed(chunk))
    assert b"\n" not in buffer.finish()


@given(_streams, st.lists(st.integers(min_value=0)))
def test_any_cut_gives_the_same_lines(stream: bytes, places: list[int]) -> None:
    buffer = LineBuffer()
    blocks = [block for chunk in _cut(stream, places) for block in buffer.feed(chunk)]
    *whole, rest = stream.split(b"\n")
    assert [line for block in blocks for line in lines(block)] == [line + b"\n" for line in whole]
    assert buffer.finish() == rest


@given(_streams)
def test_lines_joined_again_are_the_block(block: bytes) -> None:
    assert b"".join(lines(block)) == block


def test_a_buffer_is_empty_after_its_end() -> None:
    buffer = LineBuffer()
    buffer.feed(b"half")
    assert buffer.finish() == b"half"
    assert buffer.finish() == b""
