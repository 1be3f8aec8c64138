"""Take out of the agent's messages what is there only because the proxy declared AIR for a client that is not."""

from __future__ import annotations

from goalproxy.proxy.wire.splice import NotEditable, drop_meta

from .connection import Connection
from .facts import NotRewritten
from .handshake import OPAQUE

MARK = b"jetbrains"
"""Text that every message with such a key contains: the agents concerned write their keys unescaped."""


def forward(connection: Connection, line: bytes) -> None:
    """Forward a line of the agent, stripped where it has to be."""
    connection.forward(strip(connection, line))


def strip(connection: Connection, line: bytes) -> bytes:
    """The line without ``_meta.jetbrains``, for a client that did not declare AIR; else the line itself."""
    if not connection.strips_air or MARK not in line:
        return bytes(line)
    try:
        return drop_meta(line, "jetbrains", OPAQUE)
    except NotEditable:
        connection.record(NotRewritten("_meta.jetbrains"))
        return bytes(line)
