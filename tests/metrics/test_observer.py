"""Facts become numbers; what was not told has none."""

from __future__ import annotations

import re

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from goalproxy.metrics import catalogue
from goalproxy.metrics.exposition import SeriesCollector
from goalproxy.metrics.observer import Observer, agent_label
from goalproxy.proxy.core import facts
from goalproxy.proxy.core.facts import Fact
from goalproxy.proxy.goal import changes

from .memory import table

CREATED, NOW = 1_700_000_000_000, 1_700_000_090_500
IDENTIFIED = facts.AgentIdentified("@agentclientprotocol/codex-acp", "2.6.0", 1, "AIR", "because")


def told(*found: Fact) -> CollectorRegistry:
    """A registry whose observer was told facts."""
    series, registry = table(), CollectorRegistry()
    registry.register(SeriesCollector(series.read))
    observer = Observer(series, "1.2.3")
    for fact in found:
        observer(fact)
    return registry


def native(*found: changes.Change) -> list[Fact]:
    """Changes of a goal that the agent keeps."""
    return [facts.GoalChanged("native", change, NOW) for change in found]


AGENT = {"agent": "codex-acp"}
OWNED = {**AGENT, "owner": "native"}
STOPPED = changes.GoalStopped("complete", CREATED, 3, 4000)


@pytest.mark.parametrize(
    ("found", "name", "labels", "value"),
    [
        (native(changes.GoalStarted()), "goalproxy_goals_started_total", OWNED, 1),
        (native(changes.GoalRestored()), "goalproxy_goals_restored_total", OWNED, 1),
        (native(changes.GoalStopped("blocked")), "goalproxy_goals_finished_total", {**OWNED, "outcome": "blocked"}, 1),
        (native(changes.RoundStarted(), changes.RoundStarted()), "goalproxy_goal_iterations_total", OWNED, 2),
        (native(changes.TokensUsed(7), changes.TokensUsed(5)), "goalproxy_goal_tokens_total", OWNED, 12),
        (native(changes.CostUsed(0.25, "EUR")), "goalproxy_goal_cost_total", {**OWNED, "currency": "EUR"}, 0.25),
        (native(changes.TimeUsed(3)), "goalproxy_goal_active_seconds_total", OWNED, 3),
        (native(changes.LateReport()), "goalproxy_goal_reports_ignored_total", AGENT, 1),
        (native(changes.UnknownStatus()), "goalproxy_goal_statuses_unknown_total", AGENT, 1),
        (
            [facts.ControlAnswered("set", "ok")],
            "goalproxy_goal_control_requests_total",
            {**AGENT, "action": "set", "result": "ok"},
            1,
        ),
        (
            [facts.CommandSeen("pause", "agent")],
            "goalproxy_goal_commands_total",
            {**AGENT, "word": "pause", "answered_by": "agent"},
            1,
        ),
        (
            [facts.RoundEnded("error", 500)],
            "goalproxy_goal_round_duration_seconds_count",
            {**AGENT, "outcome": "error"},
            1,
        ),
        (
            [facts.RoundEnded("error", 500)],
            "goalproxy_goal_round_duration_seconds_sum",
            {**AGENT, "outcome": "error"},
            0.5,
        ),
        (
            [facts.RoundTokens({"input": 7, "output": 2})],
            "goalproxy_goal_round_tokens_total",
            {**AGENT, "kind": "input"},
            7,
        ),
        ([facts.RoundEnded("end_turn", 5, 2)], "goalproxy_goal_round_open_tool_calls_total", AGENT, 2),
        ([facts.SessionsOpen(3)], "goalproxy_sessions", AGENT, 3),
        (
            native(changes.GoalSpent("complete", 70)),
            "goalproxy_goal_used_tokens_sum",
            {**OWNED, "outcome": "complete"},
            70,
        ),
        ([facts.RoundSpoke(1500)], "goalproxy_goal_round_first_output_seconds_sum", AGENT, 1.5),
        (native(STOPPED), "goalproxy_goal_duration_seconds_sum", {**OWNED, "outcome": "complete"}, 90.5),
        (native(STOPPED), "goalproxy_goal_duration_seconds_bucket", {**OWNED, "outcome": "complete", "le": "60.0"}, 0),
        (native(STOPPED), "goalproxy_goal_duration_seconds_bucket", {**OWNED, "outcome": "complete", "le": "300.0"}, 1),
        (native(STOPPED), "goalproxy_goal_rounds_bucket", {**OWNED, "outcome": "complete", "le": "3.0"}, 1),
        (native(STOPPED), "goalproxy_goal_rounds_bucket", {**OWNED, "outcome": "complete", "le": "2.0"}, 0),
        (native(STOPPED), "goalproxy_goal_used_tokens_sum", {**OWNED, "outcome": "complete"}, 4000),
        ([facts.GoalsStand(most_rounds=7)], "goalproxy_goal_most_rounds", AGENT, 7),
        ([facts.GoalsStand(budget_used=0.5)], "goalproxy_goal_budget_used_ratio", AGENT, 0.5),
        ([facts.GoalsStand(idle_since=NOW)], "goalproxy_goal_idle_since_timestamp_seconds", AGENT, NOW / 1000),
        ([facts.AgentExited("killed")], "goalproxy_agent_exits_total", {**AGENT, "outcome": "killed"}, 1),
        ([facts.BackedOff(1500), facts.BackedOff(500)], "goalproxy_goal_backoff_seconds_total", AGENT, 2),
        ([facts.OwnedGoalStopped("no-progress")], "goalproxy_goal_stops_total", {**AGENT, "reason": "no-progress"}, 1),
        (
            [facts.ToolAnswered("update_goal", "stale-revision")],
            "goalproxy_goal_tool_calls_total",
            {**AGENT, "tool": "update_goal", "result": "stale-revision"},
            1,
        ),
        ([facts.CheckRan(True, 2000)], "goalproxy_goal_check_duration_seconds_sum", {**AGENT, "result": "passed"}, 2),
        (
            [facts.CheckRan(False, 2000)],
            "goalproxy_goal_check_duration_seconds_count",
            {**AGENT, "result": "failed"},
            1,
        ),
        ([facts.NotRewritten("initialize")], "goalproxy_relay_not_rewritten_total", {"method": "initialize"}, 1),
        ([], "goalproxy_agent_up", AGENT, 1),
        ([facts.AgentEnded()], "goalproxy_agent_up", AGENT, 0),
        ([], "goalproxy_agent_info", {**AGENT, "version": "2.6.0", "protocol": "1", "dialect": "AIR"}, 1),
        ([], "goalproxy_build_info", {"version": "1.2.3"}, 1),
    ],
)
def test_every_fact_is_counted(found: list[Fact], name: str, labels: dict[str, str], value: float) -> None:
    assert told(IDENTIFIED, *found).get_sample_value(name, labels) == value


def test_goals_move_from_status_to_status() -> None:
    registry = told(
        IDENTIFIED,
        *native(
            changes.StatusChanged(None, "active"),
            changes.StatusChanged(None, "active"),
            changes.StatusChanged("active", "paused"),
            changes.StatusChanged("paused", None),
        ),
    )
    values = {
        status: registry.get_sample_value("goalproxy_goals", {**OWNED, "status": status})
        for status in ("active", "paused", "blocked")
    }
    assert values == {"active": 1, "paused": 0, "blocked": None}


def test_what_was_not_told_is_absent() -> None:
    page = generate_latest(told(IDENTIFIED)).decode()
    samples = {re.split("[{ ]", line)[0] for line in page.splitlines() if not line.startswith("#")}
    assert samples == {
        "goalproxy_sidecars_started_total",
        "goalproxy_agent_up",
        "goalproxy_agent_info",
        "goalproxy_build_info",
    }


def test_a_stop_of_a_goal_of_which_little_is_known_is_in_no_histogram() -> None:
    page = generate_latest(told(IDENTIFIED, *native(changes.GoalStopped("complete")))).decode()
    assert "goalproxy_goals_finished_total{" in page
    assert not {"goalproxy_goal_duration_seconds_", "goalproxy_goal_rounds_", "goalproxy_goal_used_tokens_"} & {
        line.split("{")[0].rpartition("_")[0] + "_" for line in page.splitlines() if not line.startswith("#")
    }


def test_how_active_goals_stand_is_gone_when_none_is_left() -> None:
    registry = told(IDENTIFIED, facts.GoalsStand(7, 0.5, NOW), facts.GoalsStand())
    for name in (
        "goalproxy_goal_most_rounds",
        "goalproxy_goal_budget_used_ratio",
        "goalproxy_goal_idle_since_timestamp_seconds",
    ):
        assert registry.get_sample_value(name, AGENT) is None


def test_an_agent_that_introduces_itself_again_is_one_agent() -> None:
    page = generate_latest(told(IDENTIFIED, facts.AgentIdentified("", "", 2, "none", ""))).decode()
    assert [line for line in page.splitlines() if line.startswith("goalproxy_agent_up")] == [
        'goalproxy_agent_up{agent="unknown"} 1.0'
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [("@scope/name", "name"), ("name", "name"), ("", "unknown"), (" ", "unknown"), ("x" * 99, "x" * 64)],
)
def test_an_agents_name_as_a_label_is_bounded(name: str, label: str) -> None:
    assert agent_label(name) == label


def test_the_catalogue_names_each_metric_once_and_by_the_rules() -> None:
    names = [metric.name for metric in catalogue.CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(metric.name.startswith("goalproxy_") and metric.help.endswith(".") for metric in catalogue.CATALOGUE)
    assert all(metric.name.endswith("_total") == (metric.kind == "counter") for metric in catalogue.CATALOGUE)
    labels = {label for metric in catalogue.CATALOGUE for label in metric.labels}
    assert not labels & {"session", "session_id", "objective", "cwd"}


def test_the_unit_of_a_metric_is_in_its_name() -> None:
    for metric in catalogue.CATALOGUE:
        name = metric.name.removesuffix("_total")
        for unit in ("seconds", "tokens", "bytes", "ratio"):
            assert name.endswith(f"_{unit}") == (metric.unit == unit), metric.name


def test_buckets_are_of_histograms_and_rise() -> None:
    for metric in catalogue.CATALOGUE:
        assert bool(metric.buckets) == (metric.kind == "histogram"), metric.name
        assert sorted(set(metric.buckets)) == list(metric.buckets), metric.name
