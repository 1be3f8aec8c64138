"""The goal of one session whose agent keeps it: what it said, what we asked of it, what the client was told.

Reports and commands come in, in the order of the wire; snapshots and changes come out. Three layers are kept apart:

* ``confirmed`` is what the agent has said or agreed to. Changes (facts) are told from it alone.
* An *intent* is a command on its way. Until the agent answers, reports that do not fit it are late ones about the state
  before, and are ignored. Only the newest intent counts: each has a generation.
* ``shown`` is ``confirmed``, or what the newest intent is expected to give, once it has waited long enough.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from .changes import (
    Change,
    LateReport,
    Outcome,
    RoundStarted,
    StatusChanged,
    UnknownStatus,
)
from .control import Action
from .counters import Counters, rounds_between, same_origin, usage_between, with_last_counters
from .differences import between, stopped
from .intent import Intent, same_text
from .publisher import Publisher
from .report import Report
from .snapshot import Goal
from .status import LIVE


class Tracker:
    """One session's goal, for as long as the session lives. Times are Unix milliseconds."""

    def __init__(self, last_time: int = 0) -> None:
        self.known = False
        self.confirmed: Goal | None = None
        self._expected: Goal | UnsetType | None = UNSET
        self._expected_by = 0
        self._intent: Intent | None = None
        self._generation = 0
        self._publisher = Publisher(last_time)
        self._said_at: int | None = None
        self._report: Report | None = None
        self._seen_from_start = False
        self._unreported = False
        self._replaced: str | None = None
        self._counters = Counters()

    @property
    def last_time(self) -> int:
        """The last time that was published for the session; every later one is greater."""
        return self._publisher.last_time

    @property
    def shown(self) -> Goal | None:
        """The goal as the client should see it now."""
        return self.confirmed if self._expected is UNSET else self._expected

    def none_yet(self) -> None:
        """The session is new: there is no goal, for certain."""
        self.known = True

    # What the agent says

    def report(self, report: Report | None, now: int, ended: Outcome = "cleared") -> list[Change]:
        """Take a statement of the agent; None says that there is no goal, and ``ended`` how it ended."""
        if self._is_late(report):
            return [LateReport()]
        intent, expected = self._intent, self._expected
        if intent is not None and intent.action == "set" and intent.generation != self._expected_by:
            expected = UNSET  # What an overtaken command was expected to give is another goal.
        self._settle()
        if report is None:
            return self._confirm(None, is_new=False, ended=ended)
        is_new = self._is_new(report, intent)
        if not is_new:
            report = with_last_counters(report, self._report)
        restored = is_new and not self.known and (intent is None or intent.action != "set")
        usage = [] if restored else self._usage(report, is_new=is_new)
        created_at = self._identity(report, expected, now, is_new=is_new)
        if is_new:
            self._rebase(report, intent)
        rounds = [] if restored else rounds_between(None if is_new else self._report, report)
        goal = self._goal(report, created_at, is_new=is_new, restored=restored)
        self._report, self._said_at = report, report.updated_at
        unknown: list[Change] = [] if report.status_known else [UnknownStatus()]
        return [*unknown, *self._confirm(goal, is_new=is_new, restored=restored), *rounds, *usage]

    def round_started(self) -> list[Change]:
        """The agent began to work for the goal; nothing if the goal is not active, or the agent counts itself."""
        if self.confirmed is None or self.confirmed.status != "active":
            return []
        if self._report is not None and self._report.iterations is not None:
            return []
        if self._seen_from_start:
            self.confirmed = replace(self.confirmed, iterations=(self.confirmed.iterations or 0) + 1)
        return [RoundStarted()]

    def note(self, reason: str | None) -> None:
        """Show a reason of the proxy's own beside the state; None takes it back."""
        if self.confirmed is not None:
            self.confirmed = replace(self.confirmed, last_reason=reason)

    @property
    def last_report(self) -> Report | None:
        """The agent's last word about the goal that there is."""
        return self._report

    # What is asked of the agent

    def submit(self, action: Action, objective: str) -> int:
        """A command goes to the agent; returns its generation. An older one no longer counts."""
        self._generation += 1
        old = self._intent
        excluded = old.excluded if old is not None else frozenset()
        if old is not None and old.action == "set":
            excluded |= {old.objective.strip()}
        if self.confirmed is not None:
            excluded |= {self.confirmed.objective.strip()}
        self._intent = Intent(self._generation, action, objective, self.shown, excluded)
        return self._generation

    @property
    def waits(self) -> bool:
        """Whether a command is unanswered."""
        return self._intent is not None

    def is_pending(self, generation: int) -> bool:
        """Whether a command is the newest and unanswered."""
        return self._intent is not None and self._intent.generation == generation

    def expect(self, generation: int, now: int) -> None:
        """The command has waited long enough: show what it is expected to give."""
        if self._intent is not None and self._intent.generation == generation:
            self._expected, self._expected_by = self._outcome(self._intent, now), generation

    def accepted(self, generation: int, now: int) -> list[Change]:
        """The agent agreed to a command without publishing what came of it."""
        intent = self._intent
        if intent is None or intent.generation != generation:
            return []
        outcome = self._outcome(intent, now)
        self._settle()
        if outcome is None and not self.known and intent.action != "clear":
            return []
        if intent.action == "set":
            self._rebase(self._report, None)
            self._unreported = True
        return self._confirm(outcome, is_new=intent.action == "set")

    def refused(self, generation: int) -> None:
        """The agent refused a command, or did nothing about it: what held before holds."""
        if self.is_pending(generation):
            self._settle()

    def lapsed(self, generation: int, now: int) -> list[Change]:
        """The turn of a ``/goal`` prompt ended, and the agent published nothing.

        Agents publish nothing when a goal is set again with the same words, or when there was none to clear; any other
        silence is a refusal.
        """
        intent = self._intent
        if intent is None or intent.generation != generation:
            return []
        goal = self.confirmed
        again = intent.action == "set" and goal is not None and same_text(intent.objective, goal.objective)
        if again or intent.action == "clear":
            return self.accepted(generation, now)
        self.refused(generation)
        return []

    def end(self) -> list[Change]:
        """The session is over, and the goal's fate with it is not known."""
        goal, self.confirmed = self.confirmed, None
        if goal is None:
            return []
        ended: list[Change] = [stopped(goal, "ended_unknown")] if goal.status == "active" else []
        return [*ended, StatusChanged(goal.status, None)]

    # What the client is told

    def publication(self, now: int) -> dict[str, Any] | UnsetType | None:
        """The snapshot to publish now, None for "no goal", UNSET if the client has been told already."""
        goal = self.shown
        if goal is None and not self.known:
            return UNSET
        said, self._said_at = self._said_at, None
        return self._publisher.publication(goal, said or now)

    def forget_publication(self) -> None:
        """Whatever the client was told, it has lost: publish again."""
        self._publisher.forget()

    # Inside

    def _settle(self) -> None:
        self._intent, self._expected = None, UNSET

    def _is_late(self, report: Report | None) -> bool:
        if self._intent is not None:
            return self._says_nothing_new(report) or not self._intent.admits(report)
        if report is None or self._replaced is None or not same_text(report.objective, self._replaced):
            return False
        if self.confirmed is not None and same_text(self.confirmed.objective, self._replaced):
            return False
        last = self._report.updated_at if self._report is not None else None
        if self.confirmed is not None and report.updated_at is not None and last is not None:
            return report.updated_at <= last
        return report.status not in LIVE

    def _is_new(self, report: Report, intent: Intent | None) -> bool:
        """Whether a report is about another goal than the one there was."""
        before, last = self.confirmed, self._report
        unreported, self._unreported = self._unreported, False
        if before is None:
            return True
        if last is not None and None not in (last.reference, report.reference):
            return _named(last) != _named(report)
        if (intent is not None and intent.action == "set") or not same_text(report.objective, before.objective):
            return True
        again = before.status == "complete" and report.status != "complete"
        dated = last is not None and None not in (last.created_at, report.created_at)
        return not unreported and (again or (dated and not same_origin(last, report)))

    def _says_nothing_new(self, report: Report | None) -> bool:
        """Whether a report is of the very state that a goal had before it is set anew."""
        if self._intent is None or self._intent.action != "set" or report is None or report.reference is None:
            return False
        return self._report is not None and self._report.reference == report.reference

    def _identity(self, report: Report, expected: Goal | UnsetType | None, now: int, *, is_new: bool) -> int:
        if not is_new and self.confirmed is not None:
            return self.confirmed.created_at
        if isinstance(expected, Goal) and (self.confirmed is None or expected.created_at != self.confirmed.created_at):
            return expected.created_at
        said = report.created_at
        if said is not None and said > self.last_time and not same_origin(self._report, report):
            return said
        return self._publisher.next_time(now)

    def _rebase(self, report: Report | None, intent: Intent | None) -> None:
        """A new goal counts from zero, although the agent may go on counting from the one before."""
        continues = intent is not None and intent.action == "set"
        continues = continues or report is self._report or same_origin(self._report, report)
        self._counters.start(report if continues else None)

    def _usage(self, report: Report, *, is_new: bool) -> list[Change]:
        last = self._report if self._report is not None and same_origin(self._report, report) else None
        if last is None and not is_new:
            last = self._report
        return usage_between(last, report)

    def _goal(self, report: Report, created_at: int, *, is_new: bool, restored: bool) -> Goal:
        before = None if is_new else self.confirmed
        rounds = before.iterations if before else None
        return Goal(
            objective=report.objective,
            status=report.status,
            created_at=created_at,
            iterations=rounds if report.iterations is None else report.iterations,
            last_reason=report.last_reason,
            token_budget=report.token_budget,
            tokens_used=self._counters.tokens(report, before),
            time_used_seconds=self._counters.seconds(report, before),
            budget_spent=report.budget_spent,
            dated=before.dated if before else not restored or report.created_at is not None,
        )

    def _outcome(self, intent: Intent, now: int) -> Goal | None:
        if not isinstance(self._expected, UnsetType) and self._expected_by == intent.generation:
            return self._expected
        if intent.action == "clear":
            return None
        if intent.action == "set":
            return Goal(intent.objective, "active", self._publisher.next_time(now))
        status = "paused" if intent.action == "pause" else "active"
        return None if self.shown is None else replace(self.shown, status=status)

    def _confirm(
        self, goal: Goal | None, *, is_new: bool, restored: bool = False, ended: Outcome = "cleared"
    ) -> list[Change]:
        before, self.confirmed, self.known = self.confirmed, goal, True
        if goal is None:
            self._report = None
        if before is not None and (goal is None or is_new):
            self._replaced = before.objective
        if is_new:
            self._seen_from_start = not restored
        return between(before, goal, is_new=is_new, restored=restored, ended=ended)


def _named(report: Report) -> tuple[object, int | None]:
    """What names a goal where the agent names it; an edit of it keeps the name."""
    return report.reference and report.reference[0], report.created_at
