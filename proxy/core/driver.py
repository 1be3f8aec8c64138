"""The proxy as the owner of a session's goal: what there is, whether it may act on it, and what runs.

Durable state and permission to act are two things: a goal that was restored is there and disarmed, and no round starts
before somebody resumes it. The driver decides nothing about messages; it is asked, and told what happened.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, UnsetType, field

from goalproxy.proxy.goal.changes import Change, GoalRestored, RoundStarted, TimeUsed, TokensUsed
from goalproxy.proxy.goal.differences import between
from goalproxy.proxy.goal.owned import Operation, OwnedGoal, Refused
from goalproxy.proxy.goal.publisher import Publisher
from goalproxy.proxy.goal.rounds import Ended, RoundBook, Verdict
from goalproxy.proxy.goal.snapshot import Goal

RESTORED = "The goal was restored and does not work by itself; resume it to go on."
_TEXT_KEPT = 4000


class Limits(Struct, frozen=True):
    """What the operator allows a goal. Intervals are milliseconds, budgets tokens and seconds; None is no budget."""

    max_rounds: int = 256
    token_budget: int | None = None
    time_budget: int | None = None
    min_interval: int = 1000
    blocked_after: int = 3


class Round(Struct):
    """A round that runs: the goal and the revision it is for, and what has been seen of it."""

    goal_id: str
    revision: int
    started: int
    accepted: bool = False
    interrupted: bool = False
    cancelled: bool = False
    tokens: int = 0
    """What the agent told of single calls of its model; some tell nothing else."""
    text: str = ""
    message: object = None
    calls: dict[object, bool] = field(default_factory=dict)
    """The tool calls that were told of, and which of them the agent used for its work."""

    @property
    def tools(self) -> int:
        """How many tool calls there were, those of the proxy's own tools apart."""
        return sum(self.calls.values())

    def called(self, ident: object, *, is_own: bool) -> None:
        """The agent told of a tool call. Some do so only after it; what is told first has the tool's name."""
        if isinstance(ident, str):
            self.calls.setdefault(ident, not is_own)

    def said(self, text: str, message: object) -> None:
        """The agent said something; only the end of its last message is kept."""
        if message != self.message:
            self.text, self.message = "", message
        self.text = (self.text + text)[-_TEXT_KEPT:]


class Driver:
    """One session's goal, owned by the proxy. Times are Unix milliseconds."""

    def __init__(self, limits: Limits, last_time: int = 0) -> None:
        self.limits = limits
        self.goal: OwnedGoal | None = None
        self.armed = False
        self.round: Round | None = None
        self.not_before = 0
        self.first_content: list[Any] = []
        self.waits_for_user = False
        self._book = RoundBook(limits.min_interval)
        self._publisher = Publisher(last_time)
        self._told_seconds = 0
        self._made = 0

    # What there is

    @property
    def last_time(self) -> int:
        """The last time that was published for the session."""
        return self._publisher.last_time

    @property
    def known(self) -> bool:
        """The proxy always knows its own goals."""
        return True

    @property
    def shown(self) -> Goal | None:
        """The goal as the client should see it."""
        return None if self.goal is None else _shown(self.goal)

    def publication(self, now: int) -> dict[str, Any] | UnsetType | None:
        """The snapshot to publish now, None for "no goal", UNSET if the client has been told already."""
        return self._publisher.publication(self.shown, now)

    def forget_publication(self) -> None:
        """The client has lost what it was told."""
        self._publisher.forget()

    # What is asked

    def set(self, ident: str, objective: str, now: int, *, token_budget: int | None = None) -> list[Change]:
        """Begin a goal, in the place of any other, and arm it."""
        time = self._publisher.next_time(now)
        budget = token_budget if token_budget is not None else self.limits.token_budget
        goal = OwnedGoal(
            ident,
            1,
            objective,
            "active",
            time,
            time,
            self.limits.max_rounds,
            token_budget=budget,
            time_budget=self.limits.time_budget,
        )
        self._arm(now)
        return self._become(goal, is_new=True)

    def restore(self, goal: OwnedGoal | None, now: int, *, armed: bool) -> list[Change]:
        """Take over a goal from the store. One that was active is shown as paused, unless it may go on."""
        if goal is None:
            return []
        if goal.status == "active" and not armed:
            goal = goal.moved("pause", now, code="restored", reason=RESTORED) or goal
        self.armed = armed and goal.status == "active"
        self.goal = goal
        return [GoalRestored(), *between(None, self.shown, is_new=False, restored=True, ended="cleared")]

    def move(
        self, operation: Operation, now: int, *, code: str | None = None, reason: str | None = None
    ) -> list[Change]:
        """Change the goal's status. Raises Refused; nothing has changed then."""
        goal = self.present().moved(operation, now, code=code, reason=reason)
        if operation == "resume":
            self._arm(now)
        elif goal is None or goal.status != "active":
            self.armed = False
        return self._become(goal, is_new=False)

    def raise_limits(self, now: int, *, token_budget: int | None) -> None:
        """Raise a goal's limits before it is resumed: to what is asked for, and to what the operator allows now."""
        goal = self.present()
        budget = token_budget or goal.token_budget
        if self.limits.token_budget is not None and (budget is None or budget < self.limits.token_budget):
            budget = self.limits.token_budget
        self.goal = goal.raised(
            now,
            token_budget=budget,
            time_budget=self.limits.time_budget,
            max_rounds=max(goal.max_rounds, self.limits.max_rounds),
        )

    def edit(self, now: int, objective: str | None, max_rounds: int | None) -> list[Change]:
        """Change the objective or the number of rounds; counters stay. Raises Refused."""
        return self._become(self.present().edited(now, objective, max_rounds), is_new=False)

    def check(self, ident: str, revision: int) -> OwnedGoal:
        """The goal, if it is the one that is named, unchanged. Raises Refused with what there is."""
        goal = self.present()
        if ident != goal.id:
            raise Refused("not-found", f"There is no goal {ident}; the session's goal is {goal.id}.")
        if revision != goal.revision:
            raise Refused(
                "stale-revision", f"The revision {revision} is stale; the goal is at revision {goal.revision}."
            )
        return goal

    # Rounds

    def begin_round(self, now: int) -> list[Change]:
        """A round is being sent; it counts from here on."""
        goal = self.present().started_round(now)
        self.round = Round(goal.id, goal.revision, now)
        self.goal = goal
        return [RoundStarted()]

    def end_round(
        self, ended: Ended, tokens: int | None, now: int, *, has_tools: bool
    ) -> tuple[Verdict | None, list[Change]]:
        """A round is over. The verdict is None where the goal is another now, or has stopped meanwhile."""
        current, self.round = self.round, None
        goal = self.goal
        if current is None or goal is None or goal.id != current.goal_id:
            return None, []
        usage: list[Change] = [TokensUsed(tokens)] if tokens else []
        self.goal = goal = goal.used(now, tokens, None)
        usage += self._time_used(now)
        if goal.status != "active" or current.interrupted:
            return None, usage
        verdict = self._book.after(ended, has_tools=has_tools)
        self.not_before = now + verdict.delay
        if verdict.operation == "continue" and verdict.reason is not None:
            self.goal = goal.used(now, None, verdict.reason)
        return verdict, usage

    def present(self) -> OwnedGoal:
        """The goal; raises Refused if there is none."""
        if self.goal is None:
            raise Refused("not-found", "There is no goal.")
        return self.goal

    def _arm(self, now: int) -> None:
        self.armed, self.waits_for_user = True, False
        self.not_before = now
        self._book = RoundBook(self.limits.min_interval)

    def _become(self, goal: OwnedGoal | None, *, is_new: bool) -> list[Change]:
        before, self.goal = self.shown, goal
        if is_new:
            self._told_seconds = 0
        return between(before, self.shown, is_new=is_new, restored=False, ended="cleared")

    def _time_used(self, now: int) -> list[Change]:
        seconds = self.present().active_seconds(now)
        new, self._told_seconds = seconds - self._told_seconds, max(seconds, self._told_seconds)
        return [TimeUsed(new)] if new > 0 else []


def _shown(goal: OwnedGoal) -> Goal:
    return Goal(
        objective=goal.objective,
        status=goal.status,
        created_at=goal.created_at,
        iterations=goal.rounds,
        last_reason=goal.reason,
        token_budget=goal.token_budget,
        tokens_used=goal.tokens,
        time_used_seconds=goal.active_ms // 1000,
    )
