"""Goals of Qwen Code: a domain of its own, told in empty chunks, controlled with compare-and-set.

Every chunk of the agent's text may carry ``_meta.goalState``; those that do are found by that text. Controls name the
goal and the revision that they mean; after a conflict, which tells the current ones, the control is said once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from goalproxy.proxy.goal.command import Command, with_clear_words
from goalproxy.proxy.goal.control import ACTIONS, Action
from goalproxy.proxy.goal.report import Report, Unreadable, read_report

from .base import Agent, Call, GoalReported, Mapper, Request, Signal, TurnMarked, View, at, has
from .versions import version

_FIRST = (0, 24)
_START, _END = "_qwencode/start_turn", "_qwencode/end_turn"
_CONTROL = "qwen/control/session/goal/"
_CONFLICT = -32009


class Qwen(Mapper):
    """Translates ``_meta.goalState`` and Qwen's control requests."""

    dialect = "Qwen goalState"
    versions = "qwen-code 0.24.0 and later"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if agent.name == "qwen-code" and version(agent) >= _FIRST:
            return f"qwen-code {agent.version} keeps goals in a domain of its own"
        return None

    @property
    def actions(self) -> tuple[Action, ...]:
        return ACTIONS

    @property
    def understands_command(self) -> bool | None:
        return True

    @property
    def mark(self) -> bytes | None:
        return b'"goalState"'

    @property
    def notifications(self) -> frozenset[str]:
        return frozenset({_START, _END})

    def understand(self, command: Command) -> Command:
        """Read Qwen's own grammar: ``set X``, ``edit X``, and its many words for clear."""
        command = with_clear_words(command)
        first, _, rest = command.objective.partition(" ")
        if first.lower() in ("set", "edit") and rest.strip():
            return command._replace(objective=rest.strip())
        return command

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        if has(update, "_meta", "goalState"):
            yield from _reported(at(update, "_meta", "goalState"))

    def read_notification(self, method: str, params: dict[str, Any], view: View) -> Iterable[Signal]:
        yield TurnMarked(method == _START)

    def read_answer(self, result: dict[str, Any], view: View) -> Iterable[Signal]:
        if has(result, "snapshot"):
            yield from _reported(result["snapshot"])

    def question(self, session_id: str) -> Request | None:
        return Request(_CONTROL + "get", {"sessionId": session_id})

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        reference = view.report.reference if view.report is not None else None
        return _request(action, objective, view.session_id, reference)

    def again(self, action: Action, objective: str, error: dict[str, Any], view: View) -> Call | None:
        if error.get("code") != _CONFLICT or not has(error, "data", "current", "goal"):
            return None
        current = at(error, "data", "current", "goal")
        if isinstance(current, dict):
            return _request(action, objective, view.session_id, _reference(current))
        return _request(action, objective, view.session_id, None) if action == "set" else None


def _request(action: Action, objective: str, session_id: str, reference: tuple[str, int] | None) -> Request:
    if action == "clear":
        return Request(_CONTROL + "clear", {"sessionId": session_id})
    request: dict[str, Any] = {"action": action}
    if action == "set":
        request = {"action": "create" if reference is None else "replace", "objective": objective}
    if reference is not None:
        request |= {"expectedGoalId": reference[0], "expectedRevision": reference[1]}
    elif action != "set":
        request |= {"expectedGoalId": "", "expectedRevision": 0}  # The conflict will tell which goal there is.
    return Request(_CONTROL + "control", {"sessionId": session_id, "request": request})


def _reported(state: Any) -> Iterable[GoalReported]:
    """Read a ``goalState``; one of another version, or of another shape, says nothing."""
    if not has(state, "goal"):
        return
    goal = at(state, "goal")
    try:
        report = read_report(None if goal is None else _neutral(goal))
    except Unreadable:
        return
    yield GoalReported(report if report is None else _with_reference(report, goal))


def _neutral(goal: Any) -> Any:
    """Qwen's names in the neutral ones; its times are milliseconds, its rounds are turns."""
    if not isinstance(goal, dict):
        return goal
    active = goal.get("activeTimeMs")
    seconds = active // 1000 if isinstance(active, int) and not isinstance(active, bool) else None
    return {**goal, "iterations": goal.get("turnCount"), "timeUsedSeconds": seconds}


def _with_reference(report: Report, goal: dict[str, Any]) -> Report:
    return replace(report, reference=_reference(goal))


def _reference(goal: dict[str, Any]) -> tuple[str, int] | None:
    ident, revision = goal.get("goalId"), goal.get("revision")
    return (ident, revision) if isinstance(ident, str) and isinstance(revision, int) else None
