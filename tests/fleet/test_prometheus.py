"""What a real Prometheus says of real sidecars, with the rules and the alerts of the docs."""

from __future__ import annotations

import pytest

from .prometheus import Prometheus, poll

HOST = 'job="goalproxy"'


def growth(metric: str, by: str, labels: str = HOST) -> str:
    """How much a counter has grown since the beginning."""
    return f'sum by ({by}) (sum_over_time(goalproxy:growth{{metric="{metric}", {labels}}}[1h]))'


@pytest.mark.parametrize(
    ("expr", "label", "expected"),
    [
        ("up", "job", {"goalproxy": 1, "sidecars": 1}),
        (f"sum by (status) (goalproxy_goals{{{HOST}}} > 0)", "status", {"active": 1, "paused": 2, "limited": 1}),
        ("sum by (status) (goalproxy_goals{job='sidecars'} > 0)", "status", {"paused": 1}),
        (f"goalproxy_goal_most_rounds{{{HOST}}}", "agent", {"robo": 250}),
        (f"goalproxy_goal_budget_used_ratio{{{HOST}}}", "agent", {"robo": 0.96}),
        (f"goalproxy:goals_active:sum{{{HOST}}}", "agent", {"robo": 1, "worker": 0}),
        ("goalproxy_exporter_sidecars", "job", {"goalproxy": 4}),
        (f"goalproxy_agent_up{{{HOST}}}", "agent", {"robo": 2, "worker": 1, "unknown": 1}),
        ("goalproxy:sidecars_without_agent:sum", "job", {"goalproxy": 0, "sidecars": 0}),
        (f"goalproxy_agent_info{{{HOST}}}", "dialect", {"neutral": 1, "none": 1}),
    ],
)
def test_what_is_now_is_told(prometheus: Prometheus, expr: str, label: str, expected: dict[str, float]) -> None:
    poll(lambda: prometheus.by(label, expr), lambda found: found == expected, expr)


@pytest.mark.parametrize(
    ("metric", "label", "expected"),
    [
        (
            "goalproxy_goals_finished_total",
            "outcome",
            {"complete": 2, "blocked": 3, "limited": 2, "cleared": 1, "replaced": 1},
        ),
        ("goalproxy_goals_started_total", "owner", {"native": 7, "emulated": 4}),
        ("goalproxy_goal_duration_seconds_count", "owner", {"native": 5, "emulated": 4}),
        ("goalproxy_goal_iterations_total", "agent", {"robo": 265, "worker": 8}),
        (
            "goalproxy_goal_stops_total",
            "reason",
            {"complete": 1, "model-reported": 1, "no-progress": 1, "usage-limit": 1},
        ),
        ("goalproxy_goal_check_duration_seconds_count", "result", {"passed": 1, "failed": 1}),
        ("goalproxy_goal_tool_calls_total", "tool", {"get_goal": 3, "update_goal": 3}),
        ("goalproxy_goal_reports_ignored_total", "agent", {"robo": 1}),
        ("goalproxy_goal_statuses_unknown_total", "agent", {"robo": 1}),
        ("goalproxy_relay_malformed_lines_total", "direction", {"client_to_agent": 12, "agent_to_client": 12}),
        ("goalproxy_relay_not_rewritten_total", "method", {"initialize": 1}),
        # The seventh was there before the exporter was looked at for the first time.
        ("goalproxy_sidecars_started_total", "job", {"goalproxy": 6}),
        ("goalproxy_agent_exits_total", "outcome", {"failed": 3}),
    ],
)
def test_growth_misses_nothing_that_was_counted(
    prometheus: Prometheus, metric: str, label: str, expected: dict[str, float]
) -> None:
    poll(lambda: prometheus.by(label, growth(metric, label)), lambda found: found == expected, metric)


def test_growth_is_what_increase_misses(prometheus: Prometheus) -> None:
    """Why the recording rule is there: this counter is 1 in its first sample."""
    missed = prometheus.by("method", f"increase(goalproxy_relay_not_rewritten_total{{{HOST}}}[1h])")
    assert missed == {"initialize": 0}


@pytest.mark.parametrize(
    ("metric", "label", "expected"),
    [
        ("goalproxy_goals_restored_total", "owner", {"native": 1}),
        ("goalproxy_goal_commands_total", "word", {"status": 1, "pause": 1}),
    ],
)
def test_a_sidecar_that_is_scraped_by_itself_grew_from_0(
    prometheus: Prometheus, metric: str, label: str, expected: dict[str, float]
) -> None:
    expr = growth(metric, label, 'job="sidecars"')
    poll(lambda: prometheus.by(label, expr), lambda found: found == expected, metric)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("goalproxy:goals_blocked:ratio1h", {"robo": pytest.approx(1 / 3), "worker": 0.5}),
        ("goalproxy:checks_failed:ratio1h", {"worker": 0.5}),
    ],
)
def test_shares_are_recorded(prometheus: Prometheus, record: str, expected: dict[str, float]) -> None:
    poll(lambda: prometheus.by("agent", f"{record}{{{HOST}}}"), lambda found: found == expected, record)


def test_every_rule_is_healthy(prometheus: Prometheus) -> None:
    def health() -> set[tuple[str, str]]:
        groups = prometheus.ask("rules")["groups"]
        return {(rule["health"], rule.get("lastError", "")) for group in groups for rule in group["rules"]}

    poll(health, lambda found: found == {("ok", "")}, "health of all rules")


def test_alerts_fire_for_what_is_wrong_and_for_nothing_else(prometheus: Prometheus) -> None:
    def firing() -> dict[str, str]:
        alerts = prometheus.ask("alerts")["alerts"]
        return {
            alert["labels"]["alertname"]: alert["labels"].get("agent", "")
            for alert in alerts
            if alert["state"] == "firing"
        }

    expected = {
        "GoalproxyGoalRunaway": "robo",
        "GoalproxyGoalManyRounds": "robo",
        "GoalproxyGoalNearBudget": "robo",
        "GoalproxyAgentUnidentified": "unknown",
        "GoalproxyAgentCrashes": "unknown",
        "GoalproxyMalformedLines": "",
        "GoalproxyNotRewritten": "",
        "GoalproxyStatusesUnknown": "robo",
    }
    poll(firing, lambda found: found == expected, "these alerts alone")
