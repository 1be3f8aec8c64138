"""Clients connect in different ways: pipes, files, sockets, nothing at all. The agent works the same."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from .conftest import Start
from .rig import Reader, Writer, difference, exchange, python

LINES = b"".join(b'{"jsonrpc":"2.0","method":"a","params":%d}\n' % number for number in range(5000))


def test_stdin_can_be_a_regular_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(LINES)
    with open(tmp_path / "in", "rb") as file:
        sidecar = start(["cat"], stdin=file.fileno())
    assert not difference(sidecar.output.rest(), LINES)
    assert sidecar.wait() == 0


def test_stdout_can_be_a_regular_file(start: Start, tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as file:
        sidecar = start(["cat"], stdout=file.fileno())
    sidecar.input.write(LINES)
    assert sidecar.finish() == 0
    assert not difference((tmp_path / "out").read_bytes(), LINES)


def test_a_file_that_is_appended_to_is_not_overwritten(start: Start, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"before\n")
    with open(tmp_path / "out", "ab") as file:
        sidecar = start(["echo", "after"], stdout=file.fileno())
    assert sidecar.finish() == 0
    assert (tmp_path / "out").read_bytes() == b"before\nafter\n"


@pytest.mark.parametrize("stdin", ["socket", "pipe"])
@pytest.mark.parametrize("stdout", ["socket", "pipe"])
def test_each_stream_can_be_a_socket(start: Start, stdin: str, stdout: str) -> None:
    our_in, their_in = socket.socketpair()
    our_out, their_out = socket.socketpair()
    with our_in, their_in, our_out, their_out:
        sidecar = start(
            ["cat"],
            stdin=their_in.fileno() if stdin == "socket" else -1,
            stdout=their_out.fileno() if stdout == "socket" else -1,
        )
        their_in.close()
        their_out.close()
        writer = Writer(our_in.fileno(), "the socket") if stdin == "socket" else sidecar.input
        reader = Reader(our_out.fileno(), "the socket") if stdout == "socket" else sidecar.output
        assert not difference(exchange(writer, LINES, reader, len(LINES)), LINES)
        if stdin == "socket":
            our_in.shutdown(socket.SHUT_WR)
        else:
            writer.close()
        assert reader.rest() == b""
        assert sidecar.wait() == 0


def test_both_streams_can_be_one_socket(start: Start) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sidecar = start(["cat"], stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        writer, reader = Writer(ours.fileno(), "the socket"), Reader(ours.fileno(), "the socket")
        assert not difference(exchange(writer, LINES, reader, len(LINES)), LINES)
        ours.shutdown(socket.SHUT_WR)
        assert reader.rest() == b""
        assert sidecar.wait() == 0


def test_streams_that_do_not_block_lose_nothing(start: Start) -> None:
    """A parent that set its own streams so hands them on so, as Node.js does when a child inherits them."""
    stdin, our_in = os.pipe()
    our_out, stdout = os.pipe()
    os.set_blocking(stdin, False)
    os.set_blocking(stdout, False)
    sidecar = start(["cat"], stdin=stdin, stdout=stdout)
    os.close(stdin)
    os.close(stdout)
    writer, reader = Writer(our_in, "the pipe"), Reader(our_out, "the pipe")
    line = b'{"jsonrpc":"2.0","method":"a"}\n'
    try:
        for _ in range(20):  # each time, the proxy finds nothing to read before the next line is sent
            assert exchange(writer, line, reader, len(line)) == line
        assert not difference(exchange(writer, LINES * 10, reader, len(LINES) * 10), LINES * 10)
        writer.close()
        assert sidecar.wait() == 0
    finally:
        writer.close()
        reader.close()


_SAYS_WHAT_IT_READ = """
    import sys
    print("read", len(sys.stdin.buffer.read()))
    sys.exit(5)
"""


def test_an_agent_of_a_client_without_input_reads_the_end_at_once(start: Start) -> None:
    sidecar = start(python(_SAYS_WHAT_IT_READ), through='exec "$@" </dev/null')
    assert sidecar.output.rest() == b"read 0\n"
    assert sidecar.wait() == 5


def test_stdin_may_be_closed(start: Start) -> None:
    sidecar = start(python(_SAYS_WHAT_IT_READ), through='exec "$@" <&-')
    assert sidecar.output.rest() == b"read 0\n"
    assert sidecar.wait() == 5


@pytest.mark.parametrize("options", [(), ("--admin", "127.0.0.1:0")], ids=["", "with the admin server"])
@pytest.mark.parametrize("closed", [">&-", "<&- >&-"], ids=["stdout", "stdin and stdout"])
def test_what_is_written_to_a_closed_stdout_goes_nowhere_else(
    start: Start, closed: str, options: tuple[str, ...], trigger_lines: str
) -> None:
    sidecar = start(python(trigger_lines), *options, through=f'exec "$@" {closed}')
    sidecar.input.close()
    assert sidecar.wait() == 5
    assert sidecar.errors.rest().splitlines()[-1] == b"read 0 bytes"


@pytest.fixture
def trigger_lines() -> str:
    """An agent that writes, and then says on stderr how much it read: none of its own output."""
    return """
        import os, sys
        try:
            for _ in range(50):
                os.write(1, b"x" * 4096 + bytes([10]))
        except BrokenPipeError:
            pass
        os.write(2, b"read %d bytes" % len(sys.stdin.buffer.read()) + bytes([10]))
        sys.exit(5)
    """


def test_stderr_may_be_closed(start: Start) -> None:
    sidecar = start(["cat"], through='exec "$@" 2>&-')
    sidecar.input.write(LINES)
    sidecar.input.close()
    assert not difference(sidecar.output.rest(), LINES)
    assert sidecar.wait() == 0


def test_an_agent_inherits_its_three_streams_and_nothing_else(start: Start) -> None:
    agent = """
        import os
        found = []
        for number in range(256):
            try:
                os.fstat(number)
            except OSError:
                continue
            found.append(number)
        print(found)
    """
    sidecar = start(python(agent), "--admin", "127.0.0.1:0")
    assert sidecar.output.line() == b"[0, 1, 2]\n"
