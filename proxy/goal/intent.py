"""A command on its way to the agent, and what can be said in answer to it."""

from __future__ import annotations

from msgspec import Struct

from .control import Action
from .report import Report
from .snapshot import Goal


class Intent(Struct, frozen=True):
    """A command that the agent has not answered yet."""

    generation: int
    action: Action
    objective: str
    before: Goal | None
    excluded: frozenset[str] = frozenset()
    """Objectives of the goal there was, and of those that were being set, when this command was sent."""

    def admits(self, report: Report | None) -> bool:
        """Whether a report can be about the state after this command."""
        if self.action == "clear":
            return report is None
        if self.action == "set":
            return report is not None and self._admits_objective(report.objective)
        if report is None or self.before is None:
            return True
        if self.action == "pause":
            return report.status != "active"
        return report.status != self.before.status or self.before.status == "active"

    def _admits_objective(self, objective: str) -> bool:
        """Whether a goal can be the one that is being set: agents may change its words a little."""
        return same_text(objective, self.objective) or objective.strip() not in self.excluded


def same_text(left: str, right: str) -> bool:
    """Whether two objectives are the same but for white space around them."""
    return left.strip() == right.strip()
