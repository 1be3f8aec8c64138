"""Goals of Claude's adapter: what its log of the session says, and, where there is no log, what it publishes.

On the wire the adapter publishes a snapshot when a goal is set and nothing when it ends; that a turn has ended does
not say that the goal is met. The log says that a goal was set, each verdict with its reason, and how the goal ended.
So the log wins, and the wire counts only where there is none, as with an agent on another machine.

Claude cannot pause. A pause remembers the goal and clears it; a resume sets it again, and its counters go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from goalproxy.proxy.goal.command import Command
from goalproxy.proxy.goal.control import ACTIONS, Action
from goalproxy.proxy.goal.report import Report, Unreadable, count, one_line, read_report

from .base import Agent, Call, GoalReported, Mapper, Prompt, Request, Signal, View, at, has
from .codex import version

_NAME = "@agentclientprotocol/claude-agent-acp"
_FIRST_WITH_CONTROL = (0, 66)
_LIMIT = 4000
_CLEAR_WORDS = frozenset({"clear", "stop", "off", "reset", "none", "cancel"})
_SDK_MESSAGE = "_claude/sdkMessage"
_BOOK = "book"


class Book(Struct):
    """What has to be remembered of a session's goal.

    ``goal`` is the goal as last told, ``base`` its counters (iterations, tokens, seconds) when Claude last set it,
    ``verdicts`` counts those since then, ``doing`` is the control in whose light the next clear or set is to be read.
    ``counted`` says that the adapter publishes each verdict itself, so that its other snapshots can be believed, too.
    """

    goal: Report | None = None
    base: tuple[int, int, int] = (0, 0, 0)
    verdicts: int = 0
    doing: Action | None = None
    counted: bool = False

    def begun(self, objective: str, time: int | None, rounds: int | None = 0) -> GoalReported:
        """Claude has set a goal: a new one, one that was paused, or one that the other source has told already."""
        goal, doing = self.goal, self.doing
        self.verdicts, self.doing = 0, None
        known = goal is not None and goal.objective == objective
        if known and goal is not None and doing == "resume" and goal.status != "complete":
            self.base = (goal.iterations or 0, goal.tokens_used or 0, goal.time_used_seconds or 0)
            return self._told(replace(goal, status="active", last_reason=None, updated_at=time))
        if known and goal is not None and doing is None and goal.status == "active":
            return self._told(goal)
        self.base = (0, 0, 0)
        return self._told(Report(objective, "active", created_at=time, updated_at=time, iterations=rounds))

    def judged(self, objective: str, status: dict[str, Any], time: int | None) -> GoalReported:
        """Claude has judged: not met yet, met, or impossible."""
        known = self.goal is not None and self.goal.objective == objective
        goal = self.goal if known and self.goal is not None else Report(objective, "active", iterations=0)
        self.verdicts += 1
        rounds, tokens, seconds = self.base
        counted, used, spent = (count(status.get(key)) for key in ("iterations", "tokens", "durationMs"))
        return self._told(
            replace(
                goal,
                status="complete" if status.get("met") else "blocked" if status.get("failed") else "active",
                iterations=max(goal.iterations or 0, rounds + max(self.verdicts, counted or 0)),
                last_reason=one_line(status.get("reason")),
                updated_at=time,
                tokens_used=goal.tokens_used if used is None else tokens + used,
                time_used_seconds=goal.time_used_seconds if spent is None else seconds + spent // 1000,
            )
        )

    def gone(self, *, told_how: bool) -> GoalReported:
        """Claude has no goal any more: it was paused, it was cleared, or nobody says."""
        if self.doing == "pause" and self.goal is not None:
            self.doing = None
            return self._told(replace(self.goal, status="paused", last_reason=None))
        if not told_how and self.doing != "clear":
            return GoalReported(None, "ended_unknown")
        self.goal = self.doing = None
        return GoalReported(None)

    def _told(self, goal: Report) -> GoalReported:
        self.goal = goal
        return GoalReported(goal)


class Claude(Mapper):
    """Follows the session's log; sets and clears by steering while a turn runs, else by the adapter or by a prompt."""

    dialect = "Claude session log"
    versions = "claude-agent-acp 0.65.0 and later"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        if agent.name == _NAME:
            return f"claude-agent-acp {agent.version} writes its goals into the session's log"
        return None

    @property
    def actions(self) -> tuple[Action, ...]:
        return ACTIONS

    @property
    def objective_limit(self) -> int | None:
        return _LIMIT

    @property
    def understands_command(self) -> bool | None:
        return True

    @property
    def command_stands_alone(self) -> bool:
        return True

    @property
    def own_words(self) -> frozenset[str]:
        return frozenset({"set", "clear"})

    @property
    def replaces_air(self) -> bool:
        return True

    @property
    def replaced_keys(self) -> tuple[str, ...]:
        return ("_meta", "goal")

    @property
    def notifications(self) -> frozenset[str]:
        return frozenset({_SDK_MESSAGE})

    @property
    def log_mark(self) -> bytes | None:
        return b'"goal_status"'

    def understand(self, command: Command) -> Command:
        """Read Claude's many words for clear."""
        if command.word == "set" and command.objective.lower() in _CLEAR_WORDS:
            return command._replace(word="clear", objective="")
        return command

    def begin(self, action: Action, view: View) -> None:
        book = _book(view)
        book.doing = action
        if book.goal is None and view.objective:
            book.goal = Report(view.objective, "active")

    def undo(self, view: View) -> None:
        _book(view).doing = None

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        goal = _book(view).goal
        text = objective
        if action == "resume":
            text = goal.objective if goal is not None else view.objective
        sets = action in ("set", "resume")
        if sets and text.strip().lower() in (*_CLEAR_WORDS, ""):
            return None
        if version(self.agent) >= _FIRST_WITH_CONTROL:
            params = {"sessionId": view.session_id, "action": "set" if sets else "clear"}
            return Request("_session/goal", {**params, "objective": text} if sets else params)
        command = f"/goal {text if sets else 'clear'}"
        if not view.busy:
            return Prompt(command)
        prompt = [{"type": "text", "text": command}]
        return Request("_session/steering", {"sessionId": view.session_id, "prompt": prompt})

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read a snapshot on the wire, which is what the adapter expects rather than what is, where no log tells."""
        path = ("_meta", "goal") if has(update, "_meta", "goal") else ("_meta", "jetbrains", "air", "goal")
        if not has(update, *path) or view.log_found:
            return
        try:
            report = read_report(at(update, *path))
        except Unreadable:
            return
        book = _book(view)
        expected = report is not None and report.iterations is None
        if report is None:
            if book.counted or book.doing in ("clear", "pause"):
                yield book.gone(told_how=False)
        elif expected and book.goal is not None and book.doing not in ("set", "resume"):
            return  # The adapter goes back to an older expectation; Claude does not.
        elif len(report.objective) <= _LIMIT:
            book.counted = book.counted or not expected
            yield _stated(book, report)

    def read_notification(self, method: str, params: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read ``active_goal``, which the SDK sends where it is asked to."""
        message = params.get("message")
        value = at(message, "value")
        if at(message, "type") != "active_goal" or view.log_found or not has(message, "value"):
            return
        if value is None:
            if _book(view).goal is not None:
                yield _book(view).gone(told_how=False)
        elif isinstance(at(value, "condition"), str):
            yield _stated(
                _book(view),
                Report(
                    value["condition"],
                    "active",
                    created_at=count(at(value, "set_at")),
                    iterations=count(at(value, "iterations")),
                    last_reason=one_line(at(value, "last_reason")),
                ),
            )

    def read_log(self, entry: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read a ``goal_status`` line of the session's log."""
        status, time = entry.get("attachment"), _time(entry.get("timestamp"))
        objective = at(status, "condition")
        if at(status, "type") != "goal_status" or not isinstance(status, dict) or not isinstance(objective, str):
            return
        if not status.get("sentinel"):
            yield _book(view).judged(objective, status, time)
        elif status.get("met"):
            yield _book(view).gone(told_how=True)
        else:
            yield _book(view).begun(objective, time)


def _book(view: View) -> Book:
    book: Book = view.memory.setdefault(_BOOK, Book())
    return book


def _stated(book: Book, report: Report) -> GoalReported:
    """A snapshot: a goal that begins, or how far it is."""
    known = book.goal is not None and book.goal.objective == report.objective and book.goal.status == "active"
    if not known or book.doing in ("set", "resume"):
        book.begun(report.objective, report.created_at, report.iterations)
    goal = book.goal or report
    rounds = goal.iterations if report.iterations is None else book.base[0] + report.iterations
    book.goal = replace(goal, iterations=rounds, last_reason=report.last_reason or goal.last_reason)
    return GoalReported(book.goal)


def _time(text: Any) -> int | None:
    """A time of the log, ISO 8601, in Unix milliseconds."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
