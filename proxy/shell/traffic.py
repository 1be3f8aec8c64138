"""Counts of what passed, kept as plain numbers on the relay path and read when somebody asks."""

from __future__ import annotations

import itertools
from typing import Final, Literal

Direction = Literal["client_to_agent", "agent_to_client"]
Treatment = Literal["relayed", "rewritten", "injected", "swallowed"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("client_to_agent", "agent_to_client")
TREATMENTS: Final[tuple[Treatment, ...]] = ("relayed", "rewritten", "injected", "swallowed")


class Traffic:
    """Messages and bytes by direction and treatment, and lines that were no message.

    Bytes are those that came in, for what was injected those that went out.
    """

    def __init__(self) -> None:
        self.messages: dict[tuple[str, str], int] = dict.fromkeys(itertools.product(DIRECTIONS, TREATMENTS), 0)
        self.bytes = dict(self.messages)
        self.malformed: dict[str, int] = dict.fromkeys(DIRECTIONS, 0)

    def count(self, direction: Direction, treatment: Treatment, messages: int, size: int) -> None:
        """Add to the counts of one direction and treatment."""
        self.messages[direction, treatment] += messages
        self.bytes[direction, treatment] += size
