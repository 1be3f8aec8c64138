"""Ids of requests that the proxy itself sends to the agent."""

from __future__ import annotations

from collections.abc import Container

from goalproxy.proxy.wire.envelope import IdKey


class Ids:
    """Make ids that no client's request has, and that no other proxy in the chain makes.

    ``token`` is random text, one per process: the client cannot know it, so it cannot collide by chance.
    """

    def __init__(self, token: str) -> None:
        self._prefix = f"goalproxy-{token}-"
        self._count = 0

    def make(self, taken: Container[IdKey]) -> str:
        """A new id, different from every id in ``taken``."""
        while True:
            self._count += 1
            ident = f"{self._prefix}{self._count}"
            if (str, ident) not in taken:
                return ident
