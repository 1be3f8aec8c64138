"""The end that is asked for: no round of a goal begins any more, and those that run may finish, within a bound.

A goal that was active is paused, and says why: what is published stays true although nobody works for it any more.
"""

from __future__ import annotations

from .actions import Drained
from .connection import Connection
from .events import Drain
from .ownership import interrupt
from .rounds import start_round


def on_drain(connection: Connection, event: Drain) -> None:
    """Let no round begin any more, and stop those that run if there is no time left for them."""
    connection.draining = True
    for session in connection.sessions.values():
        if event.at_once:
            interrupt(connection, session)
        start_round(connection, session)


def tell(connection: Connection) -> None:
    """Tell when nothing runs any more."""
    if connection.draining and not connection.drained and not connection.rounds and not connection.checks:
        connection.drained = True
        connection.do(Drained())
