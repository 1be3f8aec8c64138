"""Pipes that hold more than they do by default, so that who writes and who reads wait for each other less often."""

from __future__ import annotations

import contextlib
import fcntl

PIPE_SIZE = 1 << 18
"""Bytes; not more, because a user's pipes together have a limit, after which new ones hold two pages (pipe(7))."""


def widen(descriptor: int) -> None:
    """Let a pipe hold more, where the system can do that; anything that is no pipe stays as it is."""
    if not hasattr(fcntl, "F_SETPIPE_SZ"):
        return
    with contextlib.suppress(OSError):
        if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < PIPE_SIZE:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
