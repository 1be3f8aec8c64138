"""The log that Claude keeps of a session, played beside a recording of the wire.

The logs and the wires were recorded in different runs of the same scenarios, so no clock aligns them; what happened
does. A log is a row of stretches: a goal is set, judged some times, and met, given up, cleared or replaced. On the wire
the same stretch begins with the request that sets the goal, goes on with messages of the model, each of which Claude
judges when it is whole, and ends with the words ``Goal cleared``. Lines are played at these moments, with the time of
the moment. Runs differ in how many messages they had time for, so a stretch has at most one verdict a message. Verdicts
are about the first messages, unless a background task made Claude put off its judgement.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .replay import Line

LOGS = Path(__file__).parent / "transcripts" / "claude-logs"
_JUDGING = 250
"""Milliseconds that a verdict takes in the recordings; a cancel before that leaves the message unjudged."""

# The logs, and the wires of the same scenario. All versions of Claude write the same lines.
_WIRES: dict[str, str] = {
    "0.101.0-background": "0.101.0-background 0.101.0-background_inject 0.66.0-background",
    "0.101.0-evalfail": "0.101.0-evalfail 0.101.0-evalfail_inject 0.65.0-evalfail 0.66.0-evalfail",
    "0.101.0-fail": "0.101.0-fail 0.101.0-fail_airmin 0.101.0-fail_inject 0.65.0-fail",
    "0.101.0-impossible": "0.101.0-impossible_air 0.66.0-impossible",
    "0.101.0-main": (
        "0.101.0-main 0.101.0-main-node20 0.101.0-main_air 0.101.0-main_airmin 0.101.0-main_airmin_env"
        " 0.101.0-main_inject 0.101.0-main_raw 0.101.0-main_rawgoal 0.101.0-main_rawuser 0.101.0-main_remote_air"
        " 0.81.2-main 0.81.2-main_remote"
    ),
    "0.101.0-midturn": "0.101.0-midturn_air 0.101.0-midturn_inject 0.66.0-midturn 0.66.0-midturn_remote",
    "0.101.0-resume": ("0.101.0-resume_air 0.101.0-resume_inject 0.65.0-resume 0.66.0-resume 0.66.0-resume_remote"),
    "0.65.0-main": (
        "0.65.0-main 0.65.0-main_inject 0.65.0-main_raw 0.65.0-main_raw_remote 0.65.0-main_rawgoal"
        " 0.65.0-main_rawgoal_remote 0.65.0-main_rawuser 0.66.0-main 0.66.0-main_inject 0.66.0-main_remote"
    ),
}
_PUT_OFF = "0.101.0-background"
"""The log whose verdicts are about the last messages of a stretch: Claude does not judge while a background task runs."""
LOG_OF = {f"claude/{wire}": log for log, wires in _WIRES.items() for wire in wires.split()}
"""The log that can be played beside a recording, by the recording's name."""


class Entry(NamedTuple):
    """A line of the log: written at a time (Unix milliseconds), before a line of the recording."""

    segment: int
    place: int
    at: int
    line: bytes


class SessionLog:
    """What is in the log now. ``is_there`` is False for an agent whose log nobody can see."""

    def __init__(self, *, is_there: bool) -> None:
        self.is_there = is_there
        self.lines: list[bytes] = []


class Following:
    """The log as one process of the proxy follows it."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._read_to: int | None = None
        self.followed = False

    def follow(self, *, history: bool) -> None:
        """Follow from the beginning, from where it was left, or, the first time, from the present end."""
        if history:
            self._read_to = 0
        elif self._read_to is None:
            self._read_to = len(self._log.lines)
        self.followed = True

    def read(self) -> tuple[list[bytes], bool]:
        """The lines that are new, and whether there is a log."""
        lines = self._log.lines[self._read_to or 0 :]
        self._read_to = len(self._log.lines)
        return lines, self._log.is_there


class _Stretch:
    """One goal in the log: the line that sets it, its verdicts, and the line that clears it, if one does."""

    def __init__(self, line: dict[str, Any]) -> None:
        self.set = line
        self.objective: str = line["attachment"]["condition"]
        self.verdicts: list[dict[str, Any]] = []
        self.cleared: dict[str, Any] | None = None


class _Moment(NamedTuple):
    segment: int
    place: int
    at: int


def schedule(log: str, segments: Sequence[Sequence[Line]]) -> list[Entry]:
    """The lines of a log, with their moments in a recording."""
    moments = _Moments(segments, put_off=log == _PUT_OFF)
    entries: list[Entry] = []
    for stretch in _stretches(log):
        entries += moments.entries(stretch)
    return entries


def _stretches(log: str) -> list[_Stretch]:
    stretches: list[_Stretch] = []
    for text in (LOGS / f"{log}.goal_status.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        status = line["attachment"]
        if not status.get("sentinel"):
            stretches[-1].verdicts.append(line)
        elif status["met"]:
            stretches[-1].cleared = line
        else:
            stretches.append(_Stretch(line))
    return stretches


class _Moments:
    """Finds the moments of a log's lines in a recording, one stretch after the other."""

    def __init__(self, segments: Sequence[Sequence[Line]], *, put_off: bool) -> None:
        self._put_off = put_off
        self._wire = [
            (_Moment(segment, place, line.at), line.by, json.loads(line.line) if line.line[:1] == b"{" else {})
            for segment, lines in enumerate(segments)
            for place, line in enumerate(lines)
        ]
        self._from = 0

    def entries(self, stretch: _Stretch) -> list[Entry]:
        """The lines of the next stretch."""
        begin = self._find_set(stretch.objective)
        end = self._find_end(begin, stretch)
        entries = [_entry(self._wire[begin][0], stretch.set)]
        judged = self._judged(begin, end)
        verdicts = stretch.verdicts[: len(judged)]
        moments = judged[len(judged) - len(verdicts) :] if self._put_off else judged[: len(verdicts)]
        entries += [_entry(moment, line) for moment, line in zip(moments, verdicts, strict=True)]
        if stretch.cleared is not None:
            entries.append(_entry(self._wire[end][0], stretch.cleared))
        self._from = end
        return entries

    def _find_set(self, objective: str) -> int:
        """Where Claude has taken the goal: it says something, or its turn ends."""
        asked = next(index for index in self._after(self._from) if _sets(self._wire[index][2], objective))
        messages = ((index, self._wire[index][2]) for index in self._after(asked + 1))
        return next(index for index, message in messages if _text(message) or "stopReason" in _result(message))

    def _find_end(self, begin: int, stretch: _Stretch) -> int:
        """Where the goal is cleared or replaced, or the recording ends."""
        for index in self._after(begin + 1 if stretch.cleared is None else begin):
            message = self._wire[index][2]
            if stretch.cleared is not None:
                if _text(message) == f"Goal cleared: {stretch.objective}":
                    return index
            elif _sets(message, ""):
                return index
        return len(self._wire)

    def _judged(self, begin: int, end: int) -> list[_Moment]:
        """The moments at which the messages of the model in a stretch have been judged."""
        moments = []
        last = ""
        for index in range(begin, end):
            ident = self._message(index)
            if ident and ident != last:
                last = ident
                moment = self._verdict(index, end, ident)
                moments += [] if moment is None else [moment]
        return moments

    def _verdict(self, index: int, end: int, ident: str) -> _Moment | None:
        """When a message is judged: before anything comes of the verdict. None if the user was faster."""
        due = self._wire[index][0].at + _JUDGING
        for later in range(index + 1, min(end + 1, len(self._wire))):
            moment, by, message = self._wire[later]
            over = by == "agent" and (self._message(later) not in ("", ident) or "stopReason" in _result(message))
            if by == "client" and moment.at < due:
                return None if message.get("method") == "session/cancel" else self._verdict(later, end, ident)
            if over or moment.at >= due:
                return moment._replace(at=min(moment.at, due))
        return None

    def _message(self, index: int) -> str:
        """The id of the model's message that a chunk on the wire belongs to; replayed history has none."""
        moment, by, message = self._wire[index]
        update = message.get("params", {}).get("update", {}) if by == "agent" and "params" in message else {}
        ident = str(update.get("messageId", "")) if update.get("sessionUpdate") == "agent_message_chunk" else ""
        return ident if ident.startswith("msg_") and not self._loads(moment) else ""

    def _loads(self, moment: _Moment) -> bool:
        """Whether the client waits for an old session, so that what comes is its history."""
        asked = None
        for other, by, message in self._wire:
            if other.segment != moment.segment or other.place >= moment.place:
                continue
            if by == "client" and message.get("method") in ("session/load", "session/resume"):
                asked = message["id"]
            elif by == "agent" and asked is not None and message.get("id") == asked:
                asked = None
        return asked is not None

    def _after(self, index: int) -> range:
        return range(index, len(self._wire))


def _entry(moment: _Moment, line: dict[str, Any]) -> Entry:
    time = datetime.fromtimestamp(moment.at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = json.dumps({**line, "timestamp": time}, separators=(",", ":"))
    return Entry(*moment, text.encode())


def _result(message: dict[str, Any]) -> dict[str, Any]:
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def _sets(message: dict[str, Any], objective: str) -> bool:
    """Whether a message of the client sets a goal; with no objective, any goal."""
    params = message.get("params")
    if not isinstance(params, dict):
        return False
    if message.get("method") == "_session/goal" and params.get("action") == "set":
        return params.get("objective") == objective or not objective
    prompt = params.get("prompt")
    text = prompt[0].get("text", "") if message.get("method") == "session/prompt" and isinstance(prompt, list) else ""
    said = text.removeprefix("/goal ") if text.startswith("/goal ") else ""
    return said == objective if objective else said not in ("", "clear")


def _text(message: dict[str, Any]) -> str:
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    content = update.get("content") if isinstance(update, dict) else None
    return str(content.get("text", "")) if isinstance(content, dict) else ""
