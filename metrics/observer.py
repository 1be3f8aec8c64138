"""Facts in, metric values out."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from goalproxy.proxy.core import facts
from goalproxy.proxy.goal import changes

from . import catalogue
from .catalogue import Metric

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


class Observer:
    """Keeps the metrics of one sidecar in a registry. Call it with each fact, one at a time."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        told = [metric for metric in catalogue.CATALOGUE if metric not in catalogue.TRAFFIC]
        self._counters = {m: Counter(m.name, m.help, m.labels, registry=registry) for m in told if m.kind == "counter"}
        self._gauges = {m: Gauge(m.name, m.help, m.labels, registry=registry) for m in told if m.kind == "gauge"}
        self._agent = _UNKNOWN
        self._set(catalogue.BUILD_INFO, 1, version)
        self._set(catalogue.AGENT_UP, 1, _UNKNOWN)

    def __call__(self, fact: facts.Fact) -> None:
        """Take a fact."""
        if isinstance(fact, facts.GoalChanged):
            self._on_goal(fact.owner, fact.change)
        elif isinstance(fact, facts.ControlAnswered):
            self._count(catalogue.CONTROL_REQUESTS, 1, self._agent, fact.action, fact.result)
        elif isinstance(fact, facts.CommandSeen):
            self._count(catalogue.COMMANDS, 1, self._agent, fact.word, fact.answered_by)
        elif isinstance(fact, facts.NotRewritten):
            self._count(catalogue.NOT_REWRITTEN, 1, fact.method)
        elif isinstance(fact, facts.AgentIdentified):
            self._on_agent(fact)
        elif isinstance(fact, facts.AgentEnded):
            self._set(catalogue.AGENT_UP, 0, self._agent)
        else:
            self._on_owned(fact)

    def _on_owned(self, fact: facts.OwnedFact) -> None:
        """What happened to a goal that the proxy keeps, beside what happens to any."""
        agent = self._agent
        if isinstance(fact, facts.RoundEnded):
            self._count(catalogue.ROUNDS_ENDED, 1, agent, fact.outcome)
            self._count(catalogue.ROUND_SECONDS, fact.milliseconds / 1000, agent, fact.outcome)
        elif isinstance(fact, facts.BackedOff):
            self._count(catalogue.BACKOFF_SECONDS, fact.milliseconds / 1000, agent)
        elif isinstance(fact, facts.OwnedGoalStopped):
            self._count(catalogue.STOPS, 1, agent, fact.code)
        elif isinstance(fact, facts.ToolAnswered):
            self._count(catalogue.TOOL_CALLS, 1, agent, fact.tool, fact.result)
        else:
            self._count(catalogue.CHECKS, 1, agent, "passed" if fact.passed else "failed")

    def _on_agent(self, fact: facts.AgentIdentified) -> None:
        self._gauges[catalogue.AGENT_UP].clear()
        self._gauges[catalogue.AGENT_INFO].clear()
        self._agent = agent_label(fact.name)
        self._set(catalogue.AGENT_UP, 1, self._agent)
        version = fact.version[:_LABEL_LENGTH]
        self._set(catalogue.AGENT_INFO, 1, self._agent, version, str(fact.protocol), fact.dialect)

    def _on_goal(self, owner: facts.Owner, change: changes.Change) -> None:
        agent = self._agent
        if type(change) in _BY_OWNER:
            self._count(_BY_OWNER[type(change)], 1, agent, owner)
        elif type(change) in _BY_AGENT:
            self._count(_BY_AGENT[type(change)], 1, agent)
        elif isinstance(change, changes.GoalStopped):
            self._count(catalogue.GOALS_FINISHED, 1, agent, owner, change.outcome)
        elif isinstance(change, changes.StatusChanged):
            self._move(owner, change.before, change.after)
        elif isinstance(change, changes.TokensUsed):
            self._count(catalogue.GOAL_TOKENS, change.tokens, agent, owner, "total")
        elif isinstance(change, changes.TimeUsed):
            self._count(catalogue.GOAL_SECONDS, change.seconds, agent, owner)

    def _move(self, owner: str, before: str | None, after: str | None) -> None:
        goals = self._gauges[catalogue.GOALS]
        if before is not None:
            goals.labels(self._agent, owner, before).dec()
        if after is not None:
            goals.labels(self._agent, owner, after).inc()

    def _count(self, metric: Metric, amount: float, *labels: str) -> None:
        self._counters[metric].labels(*labels).inc(amount)

    def _set(self, metric: Metric, value: float, *labels: str) -> None:
        self._gauges[metric].labels(*labels).set(value)


def agent_label(name: str) -> str:
    """An agent's own name as a label: without the scope of its package, bounded; ``unknown`` if it has none."""
    return name.rpartition("/")[2].strip()[:_LABEL_LENGTH] or _UNKNOWN
