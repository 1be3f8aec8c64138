"""Facts in, values of metrics out."""

from __future__ import annotations

from typing import Final

from goalproxy.proxy.core import facts
from goalproxy.proxy.goal import changes

from . import catalogue
from .catalogue import Metric
from .series import SeriesTable

_UNKNOWN = "unknown"
_LABEL_LENGTH = 64
_BY_OWNER: Final[dict[type, Metric]] = {
    changes.GoalStarted: catalogue.GOALS_STARTED,
    changes.GoalRestored: catalogue.GOALS_RESTORED,
    changes.RoundStarted: catalogue.GOAL_ITERATIONS,
}
_BY_AGENT: Final[dict[type, Metric]] = {
    changes.LateReport: catalogue.GOAL_REPORTS_IGNORED,
    changes.UnknownStatus: catalogue.GOAL_STATUSES_UNKNOWN,
}
_AMOUNTS: Final[dict[type, tuple[Metric, str]]] = {
    changes.TokensUsed: (catalogue.GOAL_TOKENS, "tokens"),
    changes.TimeUsed: (catalogue.GOAL_SECONDS, "seconds"),
}


class Observer:
    """Keeps the metrics of one sidecar in a table. Call it with each fact, one at a time."""

    def __init__(self, table: SeriesTable, version: str) -> None:
        self._table = table
        self._agent = _UNKNOWN
        table.add(catalogue.SIDECARS_STARTED, 1)
        table.set(catalogue.BUILD_INFO, 1, version)
        table.set(catalogue.AGENT_UP, 1, _UNKNOWN)

    def __call__(self, fact: facts.Fact) -> None:
        """Take a fact."""
        table, agent = self._table, self._agent
        if isinstance(fact, facts.GoalChanged):
            self._on_goal(fact)
        elif isinstance(fact, facts.SessionsOpen | facts.GoalsStand):
            self._on_stand(fact)
        elif isinstance(fact, facts.ControlAnswered):
            table.add(catalogue.CONTROL_REQUESTS, 1, agent, fact.action, fact.result)
        elif isinstance(fact, facts.CommandSeen):
            table.add(catalogue.COMMANDS, 1, agent, fact.word, fact.answered_by)
        elif isinstance(fact, facts.NotRewritten):
            table.add(catalogue.NOT_REWRITTEN, 1, fact.method)
        elif isinstance(fact, facts.AgentFact):
            self._on_agent(fact)
        else:
            self._on_owned(fact)

    def _on_owned(self, fact: facts.OwnedFact) -> None:
        """What happened to a goal that the proxy keeps, beside what happens to any."""
        table, agent = self._table, self._agent
        if isinstance(fact, facts.RoundEnded):
            table.observe(catalogue.ROUND_DURATION, fact.milliseconds / 1000, agent, fact.outcome)
            table.add(catalogue.OPEN_CALLS, fact.open_calls, agent)
        elif isinstance(fact, facts.RoundSpoke):
            table.observe(catalogue.FIRST_OUTPUT, fact.milliseconds / 1000, agent)
        elif isinstance(fact, facts.RoundTokens):
            for kind, tokens in fact.kinds.items():
                table.add(catalogue.ROUND_TOKENS, tokens, agent, kind)
        elif isinstance(fact, facts.BackedOff):
            table.add(catalogue.BACKOFF_SECONDS, fact.milliseconds / 1000, agent)
        elif isinstance(fact, facts.OwnedGoalStopped):
            table.add(catalogue.STOPS, 1, agent, fact.code)
        elif isinstance(fact, facts.ToolAnswered):
            table.add(catalogue.TOOL_CALLS, 1, agent, fact.tool, fact.result)
        else:
            result = "passed" if fact.passed else "failed"
            table.observe(catalogue.CHECK_DURATION, fact.milliseconds / 1000, agent, result)

    def _on_agent(self, fact: facts.AgentFact) -> None:
        if isinstance(fact, facts.AgentIdentified):
            self._on_name(fact)
        elif isinstance(fact, facts.AgentEnded):
            self._table.set(catalogue.AGENT_UP, 0, self._agent)
        else:
            self._table.add(catalogue.AGENT_EXITS, 1, self._agent, fact.outcome)

    def _on_name(self, fact: facts.AgentIdentified) -> None:
        self._table.clear(catalogue.AGENT_UP)
        self._table.clear(catalogue.AGENT_INFO)
        self._agent = agent_label(fact.name)
        self._table.set(catalogue.AGENT_UP, 1, self._agent)
        version = fact.version[:_LABEL_LENGTH]
        self._table.set(catalogue.AGENT_INFO, 1, self._agent, version, str(fact.protocol), fact.dialect)

    def _on_stand(self, fact: facts.SessionsOpen | facts.GoalsStand) -> None:
        if isinstance(fact, facts.SessionsOpen):
            self._say(catalogue.SESSIONS, fact.number)
            return
        idle = None if fact.idle_since is None else fact.idle_since / 1000
        self._say(catalogue.GOAL_MOST_ROUNDS, fact.most_rounds)
        self._say(catalogue.GOAL_BUDGET_USED, fact.budget_used)
        self._say(catalogue.GOAL_IDLE_SINCE, idle)

    def _say(self, metric: Metric, value: float | None) -> None:
        if value is None:
            self._table.clear(metric)
        else:
            self._table.set(metric, value, self._agent)

    def _on_goal(self, fact: facts.GoalChanged) -> None:
        table, agent, owner, change = self._table, self._agent, fact.owner, fact.change
        if type(change) in _BY_OWNER:
            table.add(_BY_OWNER[type(change)], 1, agent, owner)
        elif type(change) in _BY_AGENT:
            table.add(_BY_AGENT[type(change)], 1, agent)
        elif isinstance(change, changes.GoalStopped):
            self._on_stop(change, owner, fact.at)
        elif isinstance(change, changes.GoalSpent):
            table.observe(catalogue.TOKENS_PER_GOAL, change.tokens, agent, owner, change.outcome)
        elif isinstance(change, changes.StatusChanged):
            self._move(owner, change.before, change.after)
        elif type(change) in _AMOUNTS:
            metric, field = _AMOUNTS[type(change)]
            table.add(metric, getattr(change, field), agent, owner)
        elif isinstance(change, changes.CostUsed):
            table.add(catalogue.GOAL_COST, change.amount, agent, owner, change.currency)

    def _on_stop(self, stop: changes.GoalStopped, owner: str, at: int) -> None:
        labels = (self._agent, owner, stop.outcome)
        self._table.add(catalogue.GOALS_FINISHED, 1, *labels)
        if stop.created_at is not None:
            self._table.observe(catalogue.GOAL_DURATION, max(0, at - stop.created_at) / 1000, *labels)
        if stop.rounds is not None:
            self._table.observe(catalogue.ROUNDS_PER_GOAL, stop.rounds, *labels)
        if stop.tokens is not None:
            self._table.observe(catalogue.TOKENS_PER_GOAL, stop.tokens, *labels)

    def _move(self, owner: str, before: str | None, after: str | None) -> None:
        if before is not None:
            self._table.add(catalogue.GOALS, -1, self._agent, owner, before)
        if after is not None:
            self._table.add(catalogue.GOALS, 1, self._agent, owner, after)


def agent_label(name: str) -> str:
    """An agent's own name as a label: without the scope of its package, bounded; ``unknown`` if it has none."""
    return name.rpartition("/")[2].strip()[:_LABEL_LENGTH] or _UNKNOWN
