"""Goals of Claude's adapter: what its log of the session says, and, where there is no log, what it publishes.

On the wire the adapter publishes a snapshot when a goal is set and nothing when it ends; that a turn has ended does
not say that the goal is met. The log says that a goal was set, each verdict with its reason, and how the goal ended.
So the log wins, and the wire counts only where there is none, as with an agent on another machine, and only if it tells
each verdict: a snapshot without a number of rounds is what the adapter expects, not what is.

Claude cannot pause. A pause remembers the goal and clears it; a resume sets it again, and its counters go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from goalproxy.proxy.goal.command import CLEAR_WORDS, Command, with_clear_words
from goalproxy.proxy.goal.control import ACTIONS, Action
from goalproxy.proxy.goal.intent import same_text
from goalproxy.proxy.goal.report import Report, Unreadable, count, one_line, read_report
from goalproxy.proxy.wire.acp import is_v2

from .base import Agent, Call, GoalReported, Mapper, Prompt, Request, Signal, View, at, has
from .versions import version

_NAME = "@agentclientprotocol/claude-agent-acp"
_FIRST_WITH_CONTROL = (0, 66)
_LIMIT = 4000
_SETS: tuple[Action, ...] = ("set", "resume")
_SDK_MESSAGE = "_claude/sdkMessage"
_BOOK = "book"


class Doing(Struct, frozen=True):
    """A control on its way to Claude, which knows but two: it sets an objective, or it clears."""

    action: Action
    objective: str

    @property
    def sets(self) -> bool:
        """Whether it is a set to Claude."""
        return self.action in _SETS


class Book(Struct):
    """What has to be remembered of a session's goal.

    ``goal`` is the goal as last told, ``base`` its counters (iterations, tokens, seconds) when Claude last set it,
    ``verdicts`` counts those since then. ``underway`` are the controls of which Claude has not said what came of them,
    in their order: what it says comes late, often later than the next control. ``counted`` says that the adapter
    publishes each verdict itself, so that it can be believed that a goal is gone, too. ``steered`` says that the goal
    was set into a turn that ran, so that no open request stands for the work on it.
    """

    goal: Report | None = None
    base: tuple[int, int, int] = (0, 0, 0)
    verdicts: int = 0
    underway: list[Doing] = field(default_factory=list)
    counted: bool = False
    steered: bool = False

    def begun(self, objective: str, time: int | None, rounds: int | None = 0) -> GoalReported | None:
        """Claude has set a goal: a new one, one that was paused, or one that the other source has told already."""
        goal, doing = self.goal, self._done(objective, sets=True)
        self.verdicts = 0
        known = goal is not None and goal.objective == objective
        if known and goal is not None and doing == "resume" and goal.status != "complete":
            self.base = (goal.iterations or 0, goal.tokens_used or 0, goal.time_used_seconds or 0)
            return self._told(replace(goal, status="active", last_reason=None, updated_at=time))
        if known and goal is not None and doing is None and goal.status == "active":
            return self._told(goal)
        self.base = (0, 0, 0)
        return self._told(Report(objective, "active", created_at=time, updated_at=time, iterations=rounds))

    def judged(self, objective: str, status: dict[str, Any], time: int | None) -> GoalReported | None:
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

    def gone(self, *, told_how: bool) -> GoalReported | None:
        """Claude has no goal any more, or not yet: it was paused, it was cleared, or nobody says."""
        if not told_how and (self.goal is None or self.goal.status == "paused" or self._awaits_set):
            return None
        doing = self._done("", sets=False)
        if doing == "pause" and self.goal is not None:
            return self._told(replace(self.goal, status="paused", last_reason=None))
        if not told_how and doing != "clear":
            return GoalReported(None, "ended_unknown")
        self.goal = None
        return GoalReported(None)

    def stated(self, report: Report) -> GoalReported | None:
        """A snapshot that counts rounds: a goal that begins, or how far it is."""
        known = self.goal is not None and self.goal.objective == report.objective and self.goal.status == "active"
        if not known or self._awaits_set:
            self.begun(report.objective, report.created_at, report.iterations)
        goal = self.goal or report
        rounds = goal.iterations if report.iterations is None else self.base[0] + report.iterations
        return self._told(replace(goal, iterations=rounds, last_reason=report.last_reason or goal.last_reason))

    @property
    def _awaits_set(self) -> bool:
        """Whether the next that Claude can say of a control is that it has set a goal."""
        return bool(self.underway) and self.underway[0].sets

    def _done(self, objective: str, *, sets: bool) -> Action | None:
        """The control that Claude has carried out now; those before it left no trace."""
        places = [place for place, doing in enumerate(self.underway) if doing.sets == sets]
        named = [place for place in places if same_text(self.underway[place].objective, objective)]
        if not places:
            return None
        place = (named or places)[0]
        action = self.underway[place].action
        del self.underway[: place + 1]
        return action

    def _told(self, goal: Report) -> GoalReported | None:
        """Enter what the goal is now. It is no news if a control is under way that changes it, unless it has ended."""
        self.goal = goal
        ended = goal.status in ("complete", "blocked")
        return None if self.underway and not ended else GoalReported(goal)


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
        return () if is_v2(self.agent.protocol) else ACTIONS

    @property
    def no_control(self) -> str:
        return "On version 2 of ACP its adapter takes no control; /goal <objective> and /goal clear work as prompts."

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
        return with_clear_words(command)

    def begin(self, action: Action, objective: str, view: View) -> None:
        book = _book(view)
        if book.goal is None and view.objective:
            book.goal = Report(view.objective, "active")
        if action in _SETS:
            book.steered = view.busy or self.may_work(view)
        book.underway.append(Doing(action, objective or view.objective))

    def undo(self, view: View) -> None:
        del _book(view).underway[-1:]

    def may_work(self, view: View) -> bool:
        book = _book(view)
        return book.steered and (bool(book.underway) or (book.goal is not None and book.goal.status == "active"))

    def call(self, action: Action, objective: str, view: View) -> Call | None:
        text = view.objective if action == "resume" else objective
        sets = action in _SETS
        if action not in self.actions:
            return None
        if sets and text.strip().lower() in (*CLEAR_WORDS, ""):
            return None
        if version(self.agent) >= _FIRST_WITH_CONTROL:
            params = {"sessionId": view.session_id, "action": "set" if sets else "clear"}
            return Request("_session/goal", {**params, "objective": text} if sets else params)
        command = f"/goal {text if sets else 'clear'}"
        if not view.busy and not self.may_work(view):
            return Prompt(command)
        prompt = [{"type": "text", "text": command}]
        return Request("_session/steering", {"sessionId": view.session_id, "prompt": prompt})

    def read(self, update: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read a snapshot on the wire where no log tells, if it counts rounds; others are what the adapter expects."""
        path = ("_meta", "goal") if has(update, "_meta", "goal") else ("_meta", "jetbrains", "air", "goal")
        if not has(update, *path) or view.log_found:
            return ()
        try:
            report = read_report(at(update, *path))
        except Unreadable:
            return ()
        book = _book(view)
        if report is None:
            return _said(book.gone(told_how=False)) if book.counted else ()
        if report.iterations is None:
            return ()
        book.counted = True
        return _said(book.stated(report))

    def read_notification(self, method: str, params: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read ``active_goal``, which the SDK sends where it is asked to."""
        message = params.get("message")
        value = at(message, "value")
        if at(message, "type") != "active_goal" or view.log_found or not has(message, "value"):
            return ()
        if value is None:
            return _said(_book(view).gone(told_how=False))
        if not isinstance(at(value, "condition"), str):
            return ()
        report = Report(
            value["condition"],
            "active",
            created_at=count(at(value, "set_at")),
            iterations=count(at(value, "iterations")),
            last_reason=one_line(at(value, "last_reason")),
        )
        return _said(_book(view).stated(report))

    def read_log(self, entry: dict[str, Any], view: View) -> Iterable[Signal]:
        """Read a ``goal_status`` line of the session's log."""
        status, time = entry.get("attachment"), _time(entry.get("timestamp"))
        objective = at(status, "condition")
        if at(status, "type") != "goal_status" or not isinstance(status, dict) or not isinstance(objective, str):
            return ()
        if not status.get("sentinel"):
            return _said(_book(view).judged(objective, status, time))
        if status.get("met"):
            return _said(_book(view).gone(told_how=True))
        return _said(_book(view).begun(objective, time))


def _book(view: View) -> Book:
    book: Book = view.memory.setdefault(_BOOK, Book())
    return book


def _said(signal: GoalReported | None) -> Iterable[Signal]:
    return () if signal is None else (signal,)


def _time(text: Any) -> int | None:
    """A time of the log, ISO 8601, in Unix milliseconds."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
