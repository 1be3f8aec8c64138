"""Any bytes in any chunks come out as the same bytes, and every one of them is counted.

The relay runs in this process, on the test's own thread. Its source keeps the borders of chunks: each read of a
SOCK_SEQPACKET socket returns what one send has put there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goalproxy.mappers import choose
from goalproxy.metrics.catalogue import BYTES, MESSAGES
from goalproxy.metrics.series import Key
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.settings import Settings
from goalproxy.proxy.shell.goal_services import GoalServices
from goalproxy.proxy.shell.outlet import Outlet
from goalproxy.proxy.shell.relay import Relay, Trace
from goalproxy.proxy.shell.traffic import Traffic

from ..metrics.memory import table
from .corpus import CORPUS
from .rig import difference

_FRAGMENTS = [
    *(lines for lines in CORPUS.values() if len(lines) < 1000),
    b"\n", b"\r\n", b"{", b"}", b"}\n{", b'"', b"[", b"]", b",", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\", b"{}", b"{}\n",
    b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update"}}}\n',
    b'{"id":1,"method":"session/cancel","params":{"sessionId":"s"}}\n',
    b'{"id":1,"method":"session/load","params":{"sessionId":"s"}}\n', b'{"id":1,"result":{}}\n',
    b'{"method":"$/cancel_request","params":{"requestId":1}}\n',
]  # fmt: skip
CHUNKS = st.lists(
    st.lists(st.sampled_from(_FRAGMENTS) | st.binary(max_size=20), min_size=1, max_size=4).map(b"".join).filter(bool),
    max_size=8,
)


def _relay(outlet: int, traffic: Traffic, *, from_client: bool, trace: Trace | None) -> Relay:
    other = Outlet(-1)
    client, agent = (other, Outlet(outlet)) if from_client else (Outlet(outlet), other)
    engine = Engine(Policy(), choose, "token", lambda: "secret")
    relay = Relay(engine, client, agent, GoalServices(Settings()), traffic)
    relay.trace = trace
    return relay


def _through(
    chunks: Sequence[bytes], *, from_client: bool, trace: Trace | None
) -> tuple[dict[Key, tuple[float, ...]], bytes]:
    """Send chunks through a relay; what it counted, and what came out."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outcome, inlet = os.pipe()
    counts = table()
    relay = _relay(inlet, Traffic(counts), from_client=from_client, trace=trace)
    with ours, theirs:
        for chunk in chunks:
            ours.send(chunk)
        ours.close()
        (relay.pump_client if from_client else relay.pump_agent)(theirs.fileno())
    if not from_client:
        os.close(inlet)
    with open(outcome, "rb") as stream:
        return counts.read(), stream.read()


@pytest.mark.parametrize("from_client", [True, False], ids=["client to agent", "agent to client"])
@pytest.mark.parametrize("traced", [False, True], ids=["", "with every message logged"])
@settings(max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(chunks=CHUNKS)
def test_any_bytes_in_any_chunks_come_out_as_the_same_bytes(
    chunks: list[bytes], *, from_client: bool, traced: bool
) -> None:
    logged: list[bytes] = []
    trace: Trace | None = (lambda _direction, _treatment, line: logged.append(line)) if traced else None
    counted, out = _through(chunks, from_client=from_client, trace=trace)
    sent = b"".join(chunks)
    assert not difference(out, sent)
    direction = "client_to_agent" if from_client else "agent_to_client"
    assert counted[BYTES.name, direction, "relayed"] == (len(sent),), "every byte is counted once"
    lines = sent.count(b"\n") + (not sent.endswith(b"\n") and bool(sent))
    assert counted[MESSAGES.name, direction, "relayed"] == (lines,), "every line is counted once"
    if traced:
        assert b"\n".join(line.removesuffix(b"\n") for line in logged) == sent.removesuffix(b"\n")
