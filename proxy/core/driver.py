"""The proxy as the owner of a session's goal: what there is, whether it may act on it, and what runs.

Durable state and permission to act are two things: a goal that was restored is there and disarmed, and no round starts
before somebody resumes it. The driver decides nothing about messages; it is asked, and told what happened.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from goalproxy.proxy.goal.changes import (
    Change,
    GoalRestored,
    GoalSpent,
    GoalStopped,
    RoundStarted,
    TimeUsed,
    TokensUsed,
)
from goalproxy.proxy.goal.differences import between
from goalproxy.proxy.goal.owned import Operation, OwnedGoal, Refused
from goalproxy.proxy.goal.publisher import Publisher
from goalproxy.proxy.goal.rounds import Ended, RoundBook, Verdict
from goalproxy.proxy.goal.snapshot import Goal

from .round import Round

RESTORED = "The goal was restored and does not work by itself; resume it to go on."
RESTORED_CODE = "restored"
DRAINED = "goalproxy is about to end; resume the goal to go on."
DRAINED_CODE = "drained"
_SETTLING = 1000


class Limits(Struct, frozen=True):
    """What the operator allows a goal. Intervals are milliseconds, budgets tokens and seconds; None is no budget."""

    max_rounds: int = 256
    token_budget: int | None = None
    time_budget: int | None = None
    min_interval: int = 1000
    blocked_after: int = 3


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
        self.backoff = 0
        """Milliseconds that the next round waits longer than the least interval."""
        self._owed: list[GoalStopped] = []
        """How the goal came to a stop in the round that runs, with the tokens before it; its own are not known yet."""
        self._book = self._new_book()
        self._publisher = Publisher(last_time)
        self._told_seconds = 0

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
        self.first_content = []
        return self._become(goal, is_new=True)

    def restore(self, goal: OwnedGoal | None, now: int, *, armed: bool) -> list[Change]:
        """Take over a goal from the store. One that was active is shown as paused, unless it may go on.

        So may one that was paused only because goalproxy was about to end.
        """
        if goal is None:
            return []
        goal = goal.reopened(now)
        if armed and goal.status == "paused" and goal.code == DRAINED_CODE:
            goal = goal.moved("resume", now) or goal
        self._told_seconds = goal.active_seconds(now)
        if goal.status == "active" and not armed:
            goal = goal.moved("pause", now, code=RESTORED_CODE, reason=RESTORED) or goal
        self.armed = armed and goal.status == "active"
        self.goal = goal
        return [GoalRestored(), *between(None, self.shown, is_new=False, restored=True, ended="cleared")]

    def move(
        self, operation: Operation, now: int, *, code: str | None = None, reason: str | None = None
    ) -> list[Change]:
        """Change the goal's status. Raises Refused; nothing has changed then."""
        goal = self.present().moved(operation, now, code=code, reason=reason)
        if goal is None or goal.status != "active":
            self.armed = False
        return self._become(goal, is_new=False)

    def resume(self, now: int, *, token_budget: int | None = None) -> list[Change]:
        """Go on; with a budget, or where a limit had stopped the goal, with limits that allow it.

        Raises Refused where none does; nothing has changed then.
        """
        goal = self.present()
        if goal.status == "limited" or token_budget is not None:
            goal = self._raised(goal, now, token_budget)
        if goal.status == "active" and self.armed:
            self.waits_for_user = False
        else:
            goal = goal.moved("resume", now) or goal
            self._arm(now)
        return self._become(goal, is_new=False)

    def user_spoke(self, now: int) -> None:
        """The user takes part: what the rounds before were like does not count any more."""
        self.waits_for_user = False
        self._hurry(now)

    def _raised(self, goal: OwnedGoal, now: int, token_budget: int | None) -> OwnedGoal:
        """The goal with limits raised to what is asked for, or where they are reached, to what the operator allows."""
        limits = self.limits
        budget = token_budget or goal.token_budget
        if budget is not None and (goal.tokens or 0) >= budget and token_budget is None:
            budget = max(budget, limits.token_budget or 0)
        rounds = goal.max_rounds if goal.rounds < goal.max_rounds else max(goal.max_rounds, limits.max_rounds)
        raised = goal.raised(now, token_budget=budget, time_budget=limits.time_budget, max_rounds=rounds)
        limit = raised.exceeded(now)
        if limit is not None:
            raise Refused(limit[0], f"{limit[1]} Raise the limit to go on.")
        return raised

    def edit(self, now: int, objective: str | None, max_rounds: int | None) -> list[Change]:
        """Change the objective or the number of rounds, to as many as the operator allows; counters stay.

        A round that runs was for the objective before. Raises Refused; nothing has changed then.
        """
        goal = self.present().edited(now, objective, max_rounds and min(max_rounds, self.limits.max_rounds))
        if objective is not None:
            self._book = self._new_book()
            if self.round is not None:
                self.round.outdated = True
        return self._become(goal, is_new=False)

    def movable(self, operation: Operation) -> OwnedGoal:
        """The goal, if an operation is possible. Raises Refused."""
        goal = self.present()
        goal.check(operation)
        return goal

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

    def let_settle(self, now: int) -> None:
        """The agent was idle before it answered a prompt: it may begin yet, which has to be seen before the next."""
        self.not_before = max(self.not_before, now + _SETTLING)

    # Rounds

    @property
    def rounds_in_a_row(self) -> int:
        """The number of the round that runs, in the row since the user last took part."""
        return self._book.number

    def begin_round(self, now: int) -> tuple[Round, list[Change]]:
        """A round is being sent; it counts from here on."""
        goal = self.present().started_round(now)
        self.round = Round(goal.id, now)
        self.goal = goal
        return self.round, [RoundStarted()]

    def end_round(self, ended: Ended, tokens: int | None, now: int) -> tuple[Verdict | None, list[Change]]:
        """A round is over. The verdict is None where the goal is another now, or has stopped meanwhile."""
        current, self.round = self.round, None
        goal = self.goal
        usage: list[Change] = [TokensUsed(tokens)] if tokens else []
        usage += _spent(self._owed, tokens)
        self._owed = []
        if current is None or goal is None or goal.id != current.goal_id:
            return None, usage
        self.goal = goal = goal.used(now, tokens, None)
        usage += self._time_used(now)
        if goal.status != "active" or current.interrupted:
            return None, usage
        verdict = self._book.after(ended, reports=not current.outdated)
        self.not_before = max(self.not_before, now + verdict.delay)
        if verdict.operation == "continue" and verdict.reason is not None:
            self.goal = goal.used(now, None, verdict.reason)
        return verdict, usage

    def present(self) -> OwnedGoal:
        """The goal; raises Refused if there is none."""
        if self.goal is None:
            raise Refused("not-found", "There is no goal.")
        return self.goal

    def _new_book(self) -> RoundBook:
        return RoundBook(self.limits.min_interval, self.limits.blocked_after)

    def _arm(self, now: int) -> None:
        self.armed, self.waits_for_user = True, False
        self._hurry(now)

    def _hurry(self, now: int) -> None:
        """The next round may begin now, whatever those before were like."""
        self.not_before, self.backoff = now, 0
        self._book = self._new_book()

    def _become(self, goal: OwnedGoal | None, *, is_new: bool) -> list[Change]:
        old, before, self.goal = self.goal, self.shown, goal
        if is_new:
            self._told_seconds = 0
        changes = between(before, self.shown, is_new=is_new, restored=False, ended="cleared")
        in_round = self.round is not None and old is not None and self.round.goal_id == old.id
        return [self._owing(change) for change in changes] if in_round else changes

    def _owing(self, change: Change) -> Change:
        """A change in a round: if the goal has come to a stop, the tokens of it are told with the round's end."""
        if not isinstance(change, GoalStopped):
            return change
        self._owed.append(change)
        return replace(change, tokens=None)

    def _time_used(self, now: int) -> list[Change]:
        seconds = self.present().active_seconds(now)
        new, self._told_seconds = seconds - self._told_seconds, max(seconds, self._told_seconds)
        return [TimeUsed(new)] if new > 0 else []


def _spent(stops: list[GoalStopped], tokens: int | None) -> list[Change]:
    """What goals had used that came to a stop in a round, now that its tokens are told."""
    known = [stop for stop in stops if (stop.tokens, tokens) != (None, None)]
    return [GoalSpent(stop.outcome, (stop.tokens or 0) + (tokens or 0)) for stop in known]


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
