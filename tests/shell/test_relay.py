"""Whatever is not the proxy's to touch arrives as the same bytes, in the same order, in both directions.

The agent is ``cat``: what comes back has passed the proxy twice, once in each direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Start, clean_environment
from .corpus import CORPUS
from .rig import Sidecar, difference, exchange

MIB = 1 << 20


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar whose agent sends everything back; one for all lines of this module."""
    folder: Path = tmp_path_factory.mktemp("echo")
    sidecar = Sidecar(["cat"], env=clean_environment(folder), folder=folder)
    yield sidecar
    sidecar.close()


@pytest.mark.parametrize("lines", CORPUS.values(), ids=CORPUS.keys())
def test_awkward_lines_arrive_as_the_same_bytes(echo: Sidecar, lines: bytes) -> None:
    assert not difference(exchange(echo.input, lines, echo.output, len(lines)), lines)


def test_all_awkward_lines_in_one_stream_arrive_in_order(echo: Sidecar) -> None:
    stream = b"".join(CORPUS.values()) * 20
    assert not difference(exchange(echo.input, stream, echo.output, len(stream)), stream)


def test_many_small_messages_arrive_in_order(echo: Sidecar) -> None:
    stream = b"".join(b'{"jsonrpc":"2.0","method":"a","params":{"n":%d}}\n' % number for number in range(20_000))
    assert not difference(exchange(echo.input, stream, echo.output, len(stream)), stream)


@pytest.mark.parametrize("last", [b'{"jsonrpc":"2.0","method":"a"}', b"no JSON", b'{"half":', b"\xff", b"\r"])
def test_a_last_line_without_a_newline_arrives_without_one(start: Start, last: bytes) -> None:
    sidecar = start(["cat"])
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"first"}\n' + last)
    sidecar.input.close()
    assert sidecar.output.rest() == b'{"jsonrpc":"2.0","method":"first"}\n' + last
    assert sidecar.wait() == 0


def test_a_message_is_passed_on_at_once_although_no_other_follows(start: Start) -> None:
    sidecar = start(["cat"])
    for number in range(3):
        line = b'{"jsonrpc":"2.0","method":"a","params":{"n":%d}}\n' % number
        sidecar.input.write(line)
        assert sidecar.output.line() == line
    assert sidecar.finish() == 0


def test_a_message_that_comes_byte_by_byte_arrives_whole(echo: Sidecar) -> None:
    line = '{"jsonrpc":"2.0","method":"a","params":{"t":"\u2028\U0001f600"}}\r\n'.encode()
    for byte in line:
        echo.input.write(bytes([byte]))
    assert echo.output.line() == line


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        (8 * MIB, b"%s\n"),
        (8 * MIB, b'{"jsonrpc":"2.0","method":"a","params":{"t":"%s"}}\n'),
        (100 * MIB, b'{"jsonrpc":"2.0","method":"a","params":{"t":"%s"}}\n'),
    ],
    ids=["8 MiB of text", "8 MiB of JSON", "100 MiB of JSON"],
)
def test_a_line_of_any_size_arrives(start: Start, size: int, shape: bytes) -> None:
    line = shape % (b"0123456789abcdef" * (size // 16))
    sidecar = start(["cat"])
    assert not difference(exchange(sidecar.input, line, sidecar.output, len(line)), line)
    assert sidecar.finish() == 0


def test_the_agent_gets_its_arguments_untouched(start: Start) -> None:
    words = ["--", "--version", "-x", "", "two words", "ö", "--admin", "a\nb"]
    sidecar = start(["sh", "-c", 'printf "[%s]" "$@"', "sh", *words])
    assert sidecar.output.rest().decode() == "".join(f"[{word}]" for word in words)
    assert sidecar.wait() == 0


def test_the_agent_runs_in_the_folder_and_the_environment_of_the_proxy(
    start: Start, env: dict[str, str], tmp_path: Path
) -> None:
    env["SOME_SETTING"] = "for the agent"
    sidecar = start(["sh", "-c", 'pwd -P; echo "$SOME_SETTING"'])
    assert sidecar.output.rest().decode().splitlines() == [str(tmp_path.resolve()), "for the agent"]
