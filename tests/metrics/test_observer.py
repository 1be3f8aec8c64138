"""Facts become numbers; what was not told has none."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from goalproxy.metrics import catalogue
from goalproxy.metrics.observer import Observer, agent_label
from goalproxy.metrics.traffic import TrafficCollector
from goalproxy.proxy.core import facts
from goalproxy.proxy.core.facts import Fact
from goalproxy.proxy.goal import changes

IDENTIFIED = facts.AgentIdentified("@agentclientprotocol/codex-acp", "2.6.0", 1, "AIR", "because")


def told(*found: Fact) -> CollectorRegistry:
    """A registry whose observer was told facts."""
    registry = CollectorRegistry()
    observer = Observer(registry, "1.2.3")
    for fact in found:
        observer(fact)
    return registry


def native(*found: changes.Change) -> list[Fact]:
    """Changes of a goal that the agent keeps."""
    return [facts.GoalChanged("native", change) for change in found]


AGENT = {"agent": "codex-acp"}
OWNED = {**AGENT, "owner": "native"}


@pytest.mark.parametrize(
    ("found", "name", "labels", "value"),
    [
        (native(changes.GoalStarted()), "goalproxy_goals_started_total", OWNED, 1),
        (native(changes.GoalRestored()), "goalproxy_goals_restored_total", OWNED, 1),
        (native(changes.GoalStopped("blocked")), "goalproxy_goals_finished_total", {**OWNED, "outcome": "blocked"}, 1),
        (native(changes.RoundStarted(), changes.RoundStarted()), "goalproxy_goal_iterations_total", OWNED, 2),
        (
            native(changes.TokensUsed(7), changes.TokensUsed(5)),
            "goalproxy_goal_tokens_total",
            {**OWNED, "kind": "total"},
            12,
        ),
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
        ([facts.RoundEnded("end_turn", 500)], "goalproxy_goal_rounds_ended_total", {**AGENT, "outcome": "end_turn"}, 1),
        ([facts.RoundEnded("error", 500)], "goalproxy_goal_round_seconds_total", {**AGENT, "outcome": "error"}, 0.5),
        ([facts.BackedOff(1500), facts.BackedOff(500)], "goalproxy_goal_backoff_seconds_total", AGENT, 2),
        ([facts.OwnedGoalStopped("no-progress")], "goalproxy_goal_stops_total", {**AGENT, "code": "no-progress"}, 1),
        (
            [facts.ToolAnswered("update_goal", "stale-revision")],
            "goalproxy_goal_tool_calls_total",
            {**AGENT, "tool": "update_goal", "result": "stale-revision"},
            1,
        ),
        ([facts.CheckRan(passed=True)], "goalproxy_goal_checks_total", {**AGENT, "result": "passed"}, 1),
        ([facts.CheckRan(passed=False)], "goalproxy_goal_checks_total", {**AGENT, "result": "failed"}, 1),
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
    samples = {line.split("{")[0] for line in page.splitlines() if not line.startswith("#")}
    assert samples == {"goalproxy_agent_up", "goalproxy_agent_info", "goalproxy_build_info"}


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


class Counts:
    """A relay path that counted."""

    def __init__(self) -> None:
        self.messages = {("client_to_agent", "relayed"): 3, ("client_to_agent", "injected"): 0}
        self.bytes = {("client_to_agent", "relayed"): 99}
        self.malformed = {"agent_to_client": 1}


def test_traffic_is_read_when_it_is_asked_for() -> None:
    registry = CollectorRegistry()
    registry.register(TrafficCollector(Counts()))
    relayed = {"direction": "client_to_agent", "treatment": "relayed"}
    assert registry.get_sample_value("goalproxy_relay_messages_total", relayed) == 3
    assert registry.get_sample_value("goalproxy_relay_messages_total", {**relayed, "treatment": "injected"}) == 0
    assert registry.get_sample_value("goalproxy_relay_bytes_total", relayed) == 99
    assert registry.get_sample_value("goalproxy_relay_malformed_lines_total", {"direction": "agent_to_client"}) == 1


def test_the_catalogue_names_each_metric_once_and_by_the_rules() -> None:
    names = [metric.name for metric in catalogue.CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(metric.name.startswith("goalproxy_") and metric.help.endswith(".") for metric in catalogue.CATALOGUE)
    assert all(metric.name.endswith("_total") == (metric.kind == "counter") for metric in catalogue.CATALOGUE)
    labels = {label for metric in catalogue.CATALOGUE for label in metric.labels}
    assert not labels & {"session", "session_id", "objective", "cwd", "reason"}
