"""The time as the engine is told it."""

from __future__ import annotations

import time


def now() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000
