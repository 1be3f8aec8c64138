"""What a goal has used since it began, from an agent that may go on counting from the goal before."""

from __future__ import annotations

from msgspec.structs import replace

from .changes import Change, RoundStarted, TimeUsed, TokensUsed
from .report import Report
from .snapshot import Goal


class Counters:
    """The counters of the goal that there is: tokens, and time in seconds. They never fall."""

    def __init__(self) -> None:
        self._token_base = 0
        self._time_base = 0

    def start(self, counted: Report | None) -> None:
        """Another goal begins from zero; ``counted`` is what the agent has counted so far and goes on from."""
        self._token_base = (counted.tokens_used or 0) if counted is not None else 0
        self._time_base = (counted.time_used_seconds or 0) if counted is not None else 0

    def tokens(self, report: Report, before: Goal | None) -> int | None:
        """The tokens of the goal; ``before`` is the goal as it was last known."""
        return _since(report.tokens_used, self._token_base, before.tokens_used if before else None)

    def seconds(self, report: Report, before: Goal | None) -> int | None:
        """The working time of the goal; ``before`` is the goal as it was last known."""
        return _since(report.time_used_seconds, self._time_base, before.time_used_seconds if before else None)


def same_origin(left: Report | None, right: Report | None) -> bool:
    """Whether two reports are about one goal of the agent's own, by its own creation time."""
    return left is not None and right is not None and left.created_at == right.created_at


def with_last_counters(report: Report, last: Report | None) -> Report:
    """A report with the counters that it leaves out as they were last told."""
    if last is None:
        return report
    return replace(
        report,
        tokens_used=last.tokens_used if report.tokens_used is None else report.tokens_used,
        time_used_seconds=last.time_used_seconds if report.time_used_seconds is None else report.time_used_seconds,
    )


def usage_between(last: Report | None, report: Report) -> list[Change]:
    """The tokens and the time used since the last report that counts from the same zero."""
    tokens = (report.tokens_used or 0) - ((last.tokens_used or 0) if last else 0)
    seconds = (report.time_used_seconds or 0) - ((last.time_used_seconds or 0) if last else 0)
    changes: list[Change] = []
    if tokens > 0:
        changes.append(TokensUsed(tokens))
    if seconds > 0:
        changes.append(TimeUsed(seconds))
    return changes


def rounds_between(last: Report | None, report: Report) -> list[Change]:
    """The rounds that an agent which counts them itself has begun since its last word about the same goal."""
    before = last.iterations if last is not None else None
    return [RoundStarted()] * max(0, (report.iterations or 0) - (before or 0))


def _since(said: int | None, base: int, before: int | None) -> int | None:
    if said is None:
        return before
    return max(said - base, before or 0, 0)
