"""Logs, to stderr: what the engine found out, and, at level debug, every message that passes.

The text of messages is left out unless it is asked for.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Final

from goalproxy.proxy.core import facts
from goalproxy.proxy.goal import changes
from goalproxy.proxy.settings import Settings
from goalproxy.proxy.wire.envelope import peek

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Log:
    """Writes facts and messages, if the level is low enough. The library is loaded with the first line."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._threshold = LEVELS[settings.log_level]
        self._logger: Any = None

    @property
    def level(self) -> str:
        """The level from which on lines are written."""
        return next(name for name, number in LEVELS.items() if number == self._threshold)

    def set_level(self, level: str) -> None:
        """Write from another level on, one of ``LEVELS``."""
        self._threshold = LEVELS[level]

    @property
    def traces(self) -> bool:
        """Whether every message is logged."""
        return self._threshold <= LEVELS["debug"]

    def fact(self, fact: facts.Fact) -> None:
        """Log a fact."""
        if self._threshold > LEVELS["warning"] or (self._threshold == LEVELS["warning"] and not _is_warning(fact)):
            return
        if isinstance(fact, facts.GoalsStand | facts.SessionsOpen):
            return  # It sums up what other facts tell.
        subject = fact.change if isinstance(fact, facts.GoalChanged) else fact
        fields = {name: getattr(subject, name) for name in subject.__struct_fields__}
        owner = {"owner": fact.owner} if isinstance(fact, facts.GoalChanged) else {}
        self._write("warning" if _is_warning(fact) else "info", _event(subject), **owner, **fields)

    def message(self, direction: str, treatment: str, line: bytes) -> None:
        """Log a message that passes."""
        envelope = peek(line)
        fields: dict[str, Any] = {"direction": direction, "treatment": treatment, "bytes": len(line)}
        if envelope is not None:
            fields |= {"method": envelope.method} if envelope.method else {}
            fields |= {"id": envelope.id} if envelope.key is not None else {}
        if self._settings.log_content:
            fields["content"] = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        self._write("debug", "message", **fields)

    def _write(self, level: str, event: str, **fields: Any) -> None:
        if self._logger is None:
            self._logger = _logger(self._settings)
        with contextlib.suppress(OSError):  # Nobody reads the logs any more, which is no reason to stop the relay.
            getattr(self._logger, level)(event, **fields)


def complain(text: str) -> None:
    """Write a line for the person who started the program, if anybody can read it."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(f"goalproxy: {plain(text)}\n")
        sys.stderr.flush()


def plain(text: str) -> str:
    """Text that anybody may have written, without anything that a terminal would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _is_warning(fact: facts.Fact) -> bool:
    if isinstance(fact, facts.GoalChanged):
        return isinstance(fact.change, changes.UnknownStatus)
    return isinstance(fact, facts.NotRewritten) or (
        isinstance(fact, facts.ControlAnswered) and fact.result == "late_error"
    )


def _event(subject: Any) -> str:
    """The name of a fact in the style of logs: ``GoalStarted`` is ``goal_started``."""
    name = type(subject).__name__
    return "".join("_" + char.lower() if char.isupper() else char for char in name).lstrip("_")


def _logger(settings: Settings) -> Any:
    import structlog  # noqa: PLC0415 - a quiet sidecar never needs it

    renderer: Any = structlog.processors.JSONRenderer()
    if settings.log_format == "text":
        renderer = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"])
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
    )
