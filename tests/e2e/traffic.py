"""One ordered record of a run: what client, agent and model said, and what the test did.

Everything a test waits for is an entry here, so there is one lock, one order and one way to wait. The deadline exists
only so that a run that is stuck fails and shows what was said last.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

DEADLINE: Final = float(os.environ.get("GOALPROXY_E2E_DEADLINE") or 60.0)
TAIL: Final = 25
WIDTH: Final = 300


class StuckError(AssertionError):
    """What the test waited for did not happen, or can no longer happen."""


class Source(StrEnum):
    """Who made an entry."""

    CLIENT = "client"
    AGENT = "agent"
    MODEL = "model"
    STDERR = "stderr"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. `index` orders it, `message` is JSON on the wire, or words about it."""

    index: int
    source: Source
    message: Json
    at: float

    def __str__(self) -> str:
        """Return one line for people, without the envelope that all messages share."""
        shown = {key: value for key, value in self.message.items() if key != "jsonrpc"}
        if shown.get("method") == "session/update":
            shown = (shown.get("params") or {}).get("update") or shown
        text = json.dumps(shown, ensure_ascii=False)
        return f"{self.at:8.3f} {self.source:6} {text[:WIDTH]}{'...' if len(text) > WIDTH else ''}"


class Traffic:
    """The record. Any thread may add; a test waits."""

    def __init__(self) -> None:
        """Start empty, with the clock of the printed lines at zero."""
        self.entries: list[Entry] = []
        self._changed = threading.Condition()
        self._start = time.monotonic()
        self._ended: str | None = None

    def add(self, source: Source, message: Json) -> Entry:
        """Append one entry and wake whoever waits."""
        with self._changed:
            entry = Entry(len(self.entries), source, message, time.monotonic() - self._start)
            self.entries.append(entry)
            self._changed.notify_all()
            return entry

    def note(self, text: str) -> None:
        """Record what the test itself does."""
        self.add(Source.NOTE, {"note": text})

    def begin(self) -> None:
        """Say that an agent runs (again)."""
        with self._changed:
            self._ended = None

    def end(self, why: str) -> None:
        """Say that the agent is gone: whoever waits from now on fails at once instead of at the deadline."""
        with self._changed:
            self._ended = why
            self._changed.notify_all()

    def wait(self, what: str, wanted: Callable[[Entry], bool], after: int = -1) -> Entry:
        """Return the first entry later than index `after` that is wanted. `what` completes "waited for ..."."""
        limit = time.monotonic() + DEADLINE
        position = after + 1
        with self._changed:
            while True:
                for entry in self.entries[position:]:
                    if wanted(entry):
                        return entry
                position = max(position, len(self.entries))
                if self._ended is not None:
                    raise StuckError(f"waited for {what}, but {self._ended}\n{self.tail()}")
                if not self._changed.wait(limit - time.monotonic()):
                    raise StuckError(f"waited {DEADLINE:.0f} s for {what}\n{self.tail()}")

    def tail(self, count: int = TAIL) -> str:
        """Return the last entries, one a line."""
        return "\n".join(["the last traffic:", *map(str, self.entries[-count:])])
