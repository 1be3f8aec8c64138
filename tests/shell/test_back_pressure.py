"""Who does not read is waited for, by whoever writes to him and by nobody else; memory does not grow meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
from pathlib import Path

import pytest

from .client import Operator
from .conftest import Start
from .rig import Sidecar, Trigger, difference, eventually, python

MIB = 1 << 20
LINE = b'{"jsonrpc":"2.0","method":"a","params":{"t":"' + b"x" * 4000 + b'"}}\n'
"""One of many; the agents below know the same."""
_FLOOD = """
    import os, select, sys

    LINE = b'{"jsonrpc":"2.0","method":"a","params":{"t":"' + b"x" * 4000 + b'"}}' + bytes([10])

    def flood(lines):
        # Say "full" on stderr when nothing more can be written, and go on when it can.
        data, size, sent, said = LINE * 64, lines * len(LINE), 0, False
        os.set_blocking(1, False)
        while sent < size:
            if not select.select([], [1], [], None if said else 0.3)[1]:
                os.write(2, b"full after %d" % sent + bytes([10]))
                said = True
                continue
            at = sent % len(data)
            sent += os.write(1, memoryview(data)[at : at + size - sent])
        os.set_blocking(1, True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux's /proc")
def test_a_client_that_does_not_read_stops_the_agent_and_memory_stays_small(start: Start) -> None:
    count = 200 * MIB // len(LINE)
    sidecar = start(python(_FLOOD + f"    flood({count})\n    sys.stdin.buffer.read()\n"))
    stopped_after = int(sidecar.errors.until(b"full after").split()[-1])
    assert stopped_after < 4 * MIB, "the agent can write only what fits into pipes and one chunk"
    for _ in range(count // 64):
        assert not difference(sidecar.output.exactly(len(LINE) * 64), LINE * 64)
    assert not difference(sidecar.output.exactly(len(LINE) * (count % 64)), LINE * (count % 64))
    assert sidecar.peak_memory() < 80 * MIB
    assert sidecar.finish() == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux's /proc")
def test_an_agent_that_does_not_read_stops_the_client_and_memory_stays_small(start: Start, trigger: Trigger) -> None:
    agent = """
        import hashlib, sys
        open(sys.argv[1]).readline()
        print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())
    """
    sidecar = start(python(agent, trigger.path))
    lines = LINE * (16 * MIB // len(LINE))
    written = sidecar.input.fill(lines)
    assert written < 4 * MIB, "the client can write only what fits into pipes and one chunk"
    assert sidecar.peak_memory() < 80 * MIB
    trigger.send(b"read\n")
    sidecar.input.write(lines[written:])
    sidecar.input.close()
    assert sidecar.output.line().decode().strip() == hashlib.sha256(lines).hexdigest()


def test_an_agent_that_does_not_read_still_reaches_the_client(start: Start, trigger: Trigger) -> None:
    agent = """
        import os, sys
        for line in open(sys.argv[1], "rb"):
            os.write(1, line)
        sys.stdin.buffer.read()
    """
    sidecar = start(python(agent, trigger.path))
    written = sidecar.input.fill(LINE * 1000)
    assert written < 1000 * len(LINE), "nobody reads the client's messages"
    for number in range(20):
        line = b'{"jsonrpc":"2.0","method":"a","params":%d}\n' % number
        trigger.send(line)
        assert sidecar.output.line() == line
    trigger.close()
    assert sidecar.finish() == 0


def test_a_client_that_does_not_read_still_reaches_the_agent(start: Start) -> None:
    agent = """
        import threading
        threading.Thread(target=flood, args=(2000,)).start()
        for line in sys.stdin.buffer:
            os.write(2, b"got " + line)
    """
    sidecar = start(python(_FLOOD + agent.replace("\n    ", "\n")))
    sidecar.errors.until(b"full after")
    for number in range(20):
        sidecar.input.write(b'{"jsonrpc":"2.0","method":"a","params":%d}\n' % number)
        assert sidecar.errors.line() == b'got {"jsonrpc":"2.0","method":"a","params":%d}\n' % number
    assert not difference(sidecar.output.exactly(2000 * len(LINE)), LINE * 2000)
    assert sidecar.finish() == 0


_GOALS_AND_FLOOD = """
    import json, threading

    def send(message):
        os.write(1, json.dumps(message).encode() + bytes([10]))

    read = 0
    for line in sys.stdin.buffer:
        read += 1
        message = json.loads(line)
        if message["method"] == "initialize":
            goal = {"version": 1, "controlMethod": "_session/goal", "actions": ["set"]}
            send({"id": message["id"], "result": {"protocolVersion": 1, "_meta": {"goal": goal}}})
        elif message["method"] == "flood":
            writer = threading.Thread(target=flood, args=(2000,))
            writer.start()
        elif message["method"] == "count":
            writer.join()
            send({"id": message["id"], "result": read})
"""


def test_a_client_that_writes_all_before_it_reads_is_not_locked_by_replies_of_the_proxy(start: Start) -> None:
    sidecar = start(python(_FLOOD + _GOALS_AND_FLOOD))
    sidecar.input.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n')
    assert b'"id": 0' in sidecar.output.line()
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"flood"}\n')
    sidecar.errors.until(b"full after")
    # From here on, nothing can be written to the client until it reads; yet it writes on, and wrong controls among it,
    # which the proxy answers itself.
    for number in range(1, 101):
        bad = {"jsonrpc": "2.0", "id": number, "method": "_session/goal", "params": {"sessionId": "none"}}
        sidecar.input.write(json.dumps(bad).encode() + b"\n" + LINE * 10)
    sidecar.input.write(b'{"jsonrpc":"2.0","id":"last","method":"count"}\n')
    replies: list[int] = []
    flood = 0
    while (message := json.loads(sidecar.output.line())).get("id") != "last":
        if "id" in message:
            replies.append(message["id"])
        else:
            flood += 1
    assert replies == list(range(1, 101)), "every wrong control was answered, in order"
    assert message["result"] == 1003, "and every other message reached the agent"
    assert flood == 2000


def held_up(start: Start) -> tuple[Sidecar, Operator]:
    """A sidecar whose client asks for so much, and reads nothing, that its relay waits; and who can say so."""
    sidecar = start(python(_FLOOD + _GOALS_AND_FLOOD), "--drain-timeout", "0")
    sidecar.input.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n')
    assert b'"id": 0' in sidecar.output.line()
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"flood"}\n')
    sidecar.errors.until(b"full after")
    bad = b'{"jsonrpc":"2.0","id":1,"method":"_session/goal","params":{"sessionId":"none"}}\n' * 100_000
    operator = Operator(sidecar)

    def waits() -> bool:
        return sidecar.input.fill(bad) < len(bad) and operator.get("/livez")[0] == 503

    eventually(waits)
    return sidecar, operator


def test_a_client_that_asks_and_never_reads_holds_up_no_end(start: Start) -> None:
    sidecar, _ = held_up(start)
    sidecar.signal(signal.SIGTERM)
    assert sidecar.wait() == -signal.SIGTERM


def test_a_relay_that_is_held_up_is_waited_for_by_nobody_however_many_ask(start: Start) -> None:
    _, operator = held_up(start)
    with contextlib.ExitStack() as kept:
        waiting = [kept.enter_context(contextlib.closing(operator.connect())) for _ in range(40)]
        for number, each in enumerate(waiting):
            each.request("GET", ("/goals", "/readyz", "/livez")[number % 3])
        assert operator.post("/drain?seconds=3600")[0] == 503
        for each in waiting:
            response = each.getresponse()
            assert (response.status, response.read()) == (503, b"the relay does not answer\n")
