"""A round that runs: one prompt of the proxy's own for a goal, and what is seen of the agent's work until its end."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

_TEXT_KEPT = 4000
_OVER = frozenset({"completed", "failed", "cancelled"})
"""Statuses of a tool call that has ended."""


class Round(Struct):
    """A round that runs: the goal it is for, and what has been seen of it.

    ``interrupted`` says that its end has no say in what follows, ``outdated`` that the objective was changed since.
    """

    goal_id: str
    started: int
    accepted: bool = False
    idle: dict[str, Any] | None = None
    """The update by which a version 2 agent said that it is idle, if it did so before it accepted the round."""
    interrupted: bool = False
    cancelled: bool = False
    outdated: bool = False
    spoke: bool = False
    tools: int = 0
    tokens: int = 0
    """What the agent told of single calls of its model; some tell nothing else."""
    text: str = ""
    message: object = None
    calls: frozenset[str] = frozenset()
    own_calls: frozenset[str] = frozenset()
    """Those of the proxy's own tools."""
    open_calls: frozenset[str] = frozenset()
    """Those that have not ended."""

    def lasted(self, now: int) -> int:
        """The milliseconds since its start; none if the clock was set back meanwhile."""
        return max(0, now - self.started)

    def said(self, text: str, message: object) -> None:
        """The agent said something; only the end of its last message is kept."""
        if message != self.message:
            self.text, self.message = "", message
        self.text = (self.text + text)[-_TEXT_KEPT:]

    def called(self, call: object, status: object, *, counts: bool) -> None:
        """The agent uses a tool, or tells more of one that it uses: what it says next is another message."""
        if not isinstance(call, str):
            return
        if status in _OVER:
            self.open_calls -= {call}
        elif call not in self.calls:
            self.open_calls |= {call}
        if call in self.calls:
            return
        self.calls |= {call}
        self.tools += counts
        self.own_calls |= frozenset() if counts else {call}
        self.text = ""
