"""The agent's stderr is the proxy's: the same bytes, in full, and never in what the client reads as protocol."""

from __future__ import annotations

import random

from .conftest import Start
from .rig import difference, python

_NOISY = """
    import os, random
    noise = random.Random(1).randbytes(1 << 20)
    for start in range(0, len(noise), 1 << 16):
        view = memoryview(noise)[start : start + (1 << 16)]
        while view:
            view = view[os.write(2, view) :]
        os.write(1, b'{"jsonrpc":"2.0","method":"a"}' + bytes([10]))
"""


def test_the_agents_stderr_arrives_as_the_same_bytes_and_never_in_the_protocol(start: Start) -> None:
    sidecar = start(python(_NOISY))
    assert not difference(sidecar.errors.rest(), random.Random(1).randbytes(1 << 20))
    assert sidecar.output.rest() == b'{"jsonrpc":"2.0","method":"a"}\n' * 16
    assert sidecar.wait() == 0


def test_what_the_proxy_has_to_say_itself_is_never_in_the_protocol(start: Start) -> None:
    sidecar = start(["cat"], "--log-level", "debug", "--admin", "127.0.0.1:0")
    lines = b'no JSON\n{"jsonrpc":"2.0","method":"a"}\n'
    sidecar.input.write(lines)
    sidecar.input.close()
    assert sidecar.output.rest() == lines
    errors = sidecar.errors.rest()
    assert b"goalproxy: metrics on" in errors
    assert b"method=a" in errors


def test_a_message_passes_although_nobody_reads_stderr(start: Start) -> None:
    sidecar = start(["cat"])
    sidecar.errors.close()
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"a"}\n')
    assert sidecar.output.line() == b'{"jsonrpc":"2.0","method":"a"}\n'
    assert sidecar.finish() == 0


def test_a_message_passes_although_its_log_line_cannot_be_written(start: Start) -> None:
    sidecar = start(["cat"], "--log-level", "debug")
    sidecar.errors.close()
    for number in range(3):
        line = b'{"jsonrpc":"2.0","method":"a","params":%d}\n' % number
        sidecar.input.write(line)
        assert sidecar.output.line() == line
    assert sidecar.finish() == 0
