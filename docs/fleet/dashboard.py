"""Prints the Grafana dashboard; `make docs` writes dashboard.json with it.

Events are drawn as bars, from the growth that rules.yaml records; what is now comes from the gauges themselves.
"""

from __future__ import annotations

import sys
from typing import Final, Literal, NamedTuple

from grafana_foundation_sdk.builders import bargauge, stat, table, timeseries
from grafana_foundation_sdk.builders import common as common_builder
from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

Kind = Literal["lines", "stacked", "bars", "number", "shares", "rows"]
Builder = timeseries.Panel | stat.Panel | bargauge.Panel | table.Panel

HEIGHT: Final = 8
SCHEMA: Final = 38
"""The dashboard's format: that of Grafana 10. Later ones read it, too."""
HOST: Final = 'instance=~"$instance"'
AGENT: Final = f'{HOST}, agent=~"$agent"'
DATASOURCE: Final = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
DECIDED: Final = f'{AGENT}, outcome=~"complete|blocked|limited"'
PER_SECOND: Final = "/ ($__interval_ms / 1000)"
PER_MINUTE: Final = "/ ($__interval_ms / 60000)"


class Panel(NamedTuple):
    """One panel: its queries with their legends, and how they are drawn.

    ``limit`` is the threshold of the alert that the description names; ``wide`` says that values differ by magnitudes.
    """

    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: Kind = "lines"
    width: int = 8
    decimals: int | None = None
    limit: float | None = None
    wide: bool = False


def growth(metric: str, by: str = "", labels: str = AGENT, window: str = "$__interval") -> str:
    """How much a counter grew in each step, by some labels."""
    grouped = f"sum by ({by})" if by else "sum"
    return f'{grouped} (sum_over_time(goalproxy:growth{{metric="{metric}", {labels}}}[{window}]))'


def quantiles(metric: str, by: str, *of: float, labels: str = AGENT) -> tuple[tuple[str, str], ...]:
    """Quantiles of a histogram over the last hour, with the labels as legend."""
    buckets = growth(f"{metric}_bucket", f"{by}, le", labels, "1h")
    legend = " ".join(f"{{{{{label}}}}}" for label in by.split(", "))
    return tuple((f"histogram_quantile({q:g}, {buckets})", f"{legend} p{q * 100:g}") for q in of)


NOW = (
    Panel(
        "Active goals",
        "Goals that are being worked for, by the agent or by goalproxy.",
        "none",
        ((f'sum (goalproxy_goals{{status="active", {AGENT}}})', "active"),),
        "number",
        4,
    ),
    Panel(
        "Goals by status",
        "Goals of the sessions that are open. A complete goal stays until the next one is set.",
        "none",
        ((f"sum by (status) (goalproxy_goals{{{AGENT}}})", "{{status}}"),),
        "stacked",
        10,
    ),
    Panel(
        "Firing alerts",
        "Alerts of docs/fleet/alerts.yaml that fire now.",
        "none",
        (('ALERTS{alertname=~"Goalproxy.+", alertstate="firing"}', "{{alertname}}"),),
        "rows",
        10,
    ),
    Panel(
        "Rounds a minute of an active goal",
        "Average of ten minutes. Above 10 a goal runs away: GoalproxyGoalRunaway.",
        "none",
        ((f"max by (agent) (goalproxy:rounds_per_active_goal:permin10m{{{AGENT}}})", "{{agent}}"),),
        width=6,
        limit=10,
    ),
    Panel(
        "Most rounds",
        "Rounds of the active goal that has the most: GoalproxyGoalManyRounds.",
        "none",
        ((f"max by (agent) (goalproxy_goal_most_rounds{{{AGENT}}})", "{{agent}}"),),
        width=6,
        limit=200,
    ),
    Panel(
        "Token budget used",
        "Of the active goal that is nearest to its end: GoalproxyGoalNearBudget.",
        "percentunit",
        ((f"max by (agent) (goalproxy_goal_budget_used_ratio{{{AGENT}}})", "{{agent}}"),),
        width=6,
        limit=0.9,
    ),
    Panel(
        "Longest idle though active",
        "Time since when nothing is known to work for the active goal that has waited longest: GoalproxyGoalIdle.",
        "s",
        ((f"max by (agent) (time() - goalproxy_goal_idle_since_timestamp_seconds{{{AGENT}}})", "{{agent}}"),),
        width=6,
        limit=900,
    ),
)

OUTCOMES = (
    Panel(
        "Goals by outcome",
        "Goals that came to a stop in the time range, by outcome.",
        "none",
        ((growth("goalproxy_goals_finished_total", "outcome", window="$__range"), "{{outcome}}"),),
        "shares",
        6,
        0,
    ),
    Panel(
        "Goals stopped",
        "Goals that came to a stop in each bar, by outcome.",
        "none",
        ((growth("goalproxy_goals_finished_total", "outcome"), "{{outcome}}"),),
        "bars",
        10,
    ),
    Panel(
        "Goals set and restored",
        "Goals that were set, and that came with a session that was opened again, in each bar.",
        "none",
        (
            (growth("goalproxy_goals_started_total", "agent"), "{{agent}} set"),
            (growth("goalproxy_goals_restored_total", "agent"), "{{agent}} restored"),
        ),
        "bars",
    ),
    Panel(
        "Time to the outcome",
        "From its creation, if the stop was not the user's doing: median and 90th percentile of the last hour.",
        "s",
        quantiles("goalproxy_goal_duration_seconds", "outcome", 0.5, 0.9, labels=DECIDED),
        width=6,
        wide=True,
    ),
    Panel(
        "Rounds to the outcome",
        "Rounds that a goal had taken when it stopped: median and 90th percentile of the last hour.",
        "none",
        quantiles("goalproxy_goal_rounds", "outcome", 0.5, 0.9, labels=DECIDED),
        width=6,
        decimals=1,
        wide=True,
    ),
    Panel(
        "Tokens to the outcome",
        "Tokens that a goal had used when it stopped: median and 90th percentile of the last hour.",
        "short",
        quantiles("goalproxy_goal_used_tokens", "outcome", 0.5, 0.9, labels=DECIDED),
        width=6,
        wide=True,
    ),
    Panel(
        "Blocked",
        "Part of the goals of the last hour that stopped by themselves and were blocked: GoalproxyGoalsBlocked.",
        "percentunit",
        ((f"max by (agent) (goalproxy:goals_blocked:ratio1h{{{AGENT}}})", "{{agent}}"),),
        width=6,
        limit=0.5,
    ),
)

USAGE = (
    Panel(
        "Rounds a minute",
        "Rounds of work for goals, by who keeps the goal.",
        "none",
        ((f"{growth('goalproxy_goal_iterations_total', 'agent, owner')} {PER_MINUTE}", "{{agent}} {{owner}}"),),
        "stacked",
        6,
    ),
    Panel(
        "Tokens a minute",
        "Tokens used for goals, as the agents report them.",
        "short",
        ((f"{growth('goalproxy_goal_tokens_total', 'agent')} {PER_MINUTE}", "{{agent}}"),),
        "stacked",
        6,
    ),
    Panel(
        "Goals worked for at the same time",
        "Seconds worked for goals a second, as the agents report them.",
        "none",
        ((f"{growth('goalproxy_goal_active_seconds_total', 'agent')} {PER_SECOND}", "{{agent}}"),),
        "stacked",
        6,
    ),
    Panel(
        "Tokens",
        "Tokens used for goals in the time range.",
        "short",
        ((growth("goalproxy_goal_tokens_total", window="$__range"), "tokens"),),
        "number",
        3,
    ),
    Panel(
        "Cost",
        "Cost of work for goals in the time range, by currency, as the agents report it.",
        "none",
        ((growth("goalproxy_goal_cost_total", "currency", window="$__range"), "{{currency}}"),),
        "number",
        3,
        2,
    ),
)

OWNED = (
    Panel(
        "Rounds by how they ended",
        "Rounds of goals that goalproxy keeps, in each bar: the agent's stop reason, or error.",
        "none",
        ((growth("goalproxy_goal_round_duration_seconds_count", "outcome"), "{{outcome}}"),),
        "bars",
    ),
    Panel(
        "Time of a round",
        "Median and 90th percentile of the last hour.",
        "s",
        quantiles("goalproxy_goal_round_duration_seconds", "agent", 0.5, 0.9),
        wide=True,
    ),
    Panel(
        "Time to the first output",
        "To the agent's first message or tool call in a round: median and 90th percentile of the last hour.",
        "s",
        quantiles("goalproxy_goal_round_first_output_seconds", "agent", 0.5, 0.9),
        wide=True,
    ),
    Panel(
        "Why goals stopped",
        "Goals that goalproxy keeps and that stopped being active, in each bar, by reason: GoalproxyNoProgress.",
        "none",
        ((growth("goalproxy_goal_stops_total", "reason"), "{{reason}}"),),
        "bars",
    ),
    Panel(
        "Tokens of rounds by kind",
        "Tokens a minute, where the agent tells kinds. They overlap: an agent may count cached ones as input, too.",
        "short",
        ((f"{growth('goalproxy_goal_round_tokens_total', 'agent, kind')} {PER_MINUTE}", "{{agent}} {{kind}}"),),
    ),
    Panel(
        "Goals held back at the same time",
        "Seconds a second that goalproxy put between rounds, since one failed or did little.",
        "none",
        ((f"{growth('goalproxy_goal_backoff_seconds_total', 'agent')} {PER_SECOND}", "{{agent}}"),),
        "stacked",
    ),
)

CHECKS = (
    Panel(
        "Checks",
        "Runs of the operator's check in each bar, by result.",
        "none",
        ((growth("goalproxy_goal_check_duration_seconds_count", "result"), "{{result}}"),),
        "bars",
    ),
    Panel(
        "Checks that fail",
        "Part of the checks of the last hour that failed: GoalproxyChecksFail.",
        "percentunit",
        ((f"max by (agent) (goalproxy:checks_failed:ratio1h{{{AGENT}}})", "{{agent}}"),),
        limit=0.8,
    ),
    Panel(
        "Time of a check",
        "Median and 90th percentile of the last hour.",
        "s",
        quantiles("goalproxy_goal_check_duration_seconds", "result", 0.5, 0.9),
        wide=True,
    ),
    Panel(
        "Tool calls",
        "Calls of the model's goal tools in each bar: ok, or the code of the refusal. Calls of any tool that had not"
        " ended with their round.",
        "none",
        (
            (growth("goalproxy_goal_tool_calls_total", "tool, result"), "{{tool}} {{result}}"),
            (growth("goalproxy_goal_round_open_tool_calls_total", "agent"), "{{agent}} not ended"),
        ),
        "bars",
    ),
    Panel(
        "Control requests",
        "Control requests of clients in each bar.",
        "none",
        ((growth("goalproxy_goal_control_requests_total", "action, result"), "{{action}} {{result}}"),),
        "bars",
    ),
    Panel(
        "Commands",
        "Commands typed as /goal in each bar, and who answered them.",
        "none",
        ((growth("goalproxy_goal_commands_total", "word, answered_by"), "{{word}} by {{answered_by}}"),),
        "bars",
    ),
)

RELAY = (
    Panel(
        "Messages",
        "Messages a second by direction and by what was done with them.",
        "mps",
        (
            (
                f"{growth('goalproxy_relay_messages_total', 'direction, treatment', HOST)} {PER_SECOND}",
                "{{direction}} {{treatment}}",
            ),
        ),
    ),
    Panel(
        "Bytes",
        "Bytes of messages a second by direction.",
        "Bps",
        ((f"{growth('goalproxy_relay_bytes_total', 'direction', HOST)} {PER_SECOND}", "{{direction}}"),),
        "stacked",
    ),
    Panel(
        "Time in the relay",
        "From reading messages to having written them: median and 99th percentile of the last hour. A peer that reads "
        "late counts, too.",
        "s",
        quantiles("goalproxy_relay_latency_seconds", "direction", 0.5, 0.99, labels=HOST),
        wide=True,
    ),
    Panel(
        "Malformed lines and messages that could not be changed",
        "In each bar; they were relayed as they were: GoalproxyMalformedLines, GoalproxyNotRewritten.",
        "none",
        (
            (growth("goalproxy_relay_malformed_lines_total", "direction", HOST), "malformed {{direction}}"),
            (growth("goalproxy_relay_not_rewritten_total", "method", HOST), "not rewritten {{method}}"),
        ),
        "bars",
        12,
    ),
    Panel(
        "Reports that were not taken as they came",
        "Late ones are ignored; an unknown status is published as paused: GoalproxyStatusesUnknown.",
        "none",
        (
            (growth("goalproxy_goal_reports_ignored_total", "agent"), "{{agent}} late"),
            (growth("goalproxy_goal_statuses_unknown_total", "agent"), "{{agent}} unknown status"),
        ),
        "bars",
        12,
    ),
)

AGENTS = (
    Panel(
        "Running agents and open sessions",
        "Agents that run; unknown are those that have not said who they are: GoalproxyAgentUnidentified.",
        "none",
        (
            (f"sum by (agent) (goalproxy_agent_up{{{AGENT}}})", "{{agent}}"),
            (f"sum by (agent) (goalproxy_sessions{{{AGENT}}})", "{{agent}} sessions"),
        ),
    ),
    Panel(
        "Sidecars without an agent",
        "Sidecars that live though their agent has ended: GoalproxyAgentDown.",
        "none",
        ((f"sum (goalproxy:sidecars_without_agent:sum{{{HOST}}})", "sidecars"),),
    ),
    Panel(
        "Sidecars started and agents ended",
        "In each bar; agents by how they ended: GoalproxySidecarsRestart, GoalproxyAgentCrashes.",
        "none",
        (
            (growth("goalproxy_sidecars_started_total", labels=HOST), "started"),
            (growth("goalproxy_agent_exits_total", "agent, outcome"), "{{agent}} {{outcome}}"),
        ),
        "bars",
    ),
    Panel(
        "Agents",
        "What the running agents say of themselves, and how their goals are read.",
        "none",
        ((f"max by (agent, version, protocol, dialect) (goalproxy_agent_info{{{AGENT}}})", "{{agent}}"),),
        "rows",
        16,
    ),
    Panel(
        "Versions of goalproxy",
        "Targets with sidecars of each version.",
        "none",
        ((f"count by (version) (goalproxy_build_info{{{HOST}}})", "{{version}}"),),
        "shares",
    ),
)

EXPORTER = (
    Panel(
        "Living sidecars",
        "Sidecars that live on each host.",
        "none",
        ((f"goalproxy_exporter_sidecars{{{HOST}}}", "{{instance}}"),),
        "stacked",
        6,
    ),
    Panel(
        "Age of the last look",
        "Time since the exporter last looked at all directories: GoalproxyExporterBehind.",
        "s",
        ((f"clamp_min(time() - goalproxy_exporter_last_collect_timestamp_seconds{{{HOST}}}, 0)", "{{instance}}"),),
        width=6,
        limit=120,
    ),
    Panel(
        "Time of a look",
        "Time that the last look took.",
        "s",
        ((f"goalproxy_exporter_collect_duration_seconds{{{HOST}}}", "{{instance}}"),),
        width=6,
    ),
    Panel(
        "What could not be read",
        "Directories, files and series that the last look had to leave out.",
        "none",
        (
            (f"goalproxy_exporter_stale_directories{{{HOST}}}", "{{instance}} directories"),
            (f"goalproxy_exporter_unreadable_files{{{HOST}}}", "{{instance}} files"),
            (f"goalproxy_exporter_skipped_series{{{HOST}}}", "{{instance}} series"),
        ),
        width=6,
    ),
)

SECTIONS: Final = {
    "Goals now": NOW,
    "Outcomes": OUTCOMES,
    "Rounds and usage": USAGE,
    "Rounds of goalproxy's own goals": OWNED,
    "Checks and tools": CHECKS,
    "Relay": RELAY,
    "Agents and sidecars": AGENTS,
    "Exporter": EXPORTER,
}


def _empty(kind: Kind) -> Builder:
    """A panel of a kind, without its queries."""
    if kind == "rows":
        hidden = dict.fromkeys(("Time", "Value", "__name__", "alertstate", "job"), True)
        order = {name: place for place, name in enumerate(("alertname", "severity", "agent", "version", "instance"))}
        organize = {"excludeByName": hidden, "indexByName": order}
        return table.Panel().with_transformation(dashboard.DataTransformerConfig(id_val="organize", options=organize))
    last = common_builder.ReduceDataOptions().calcs(["lastNotNull"])
    if kind == "number":
        number = stat.Panel().reduce_options(last).graph_mode(common.BigValueGraphMode.NONE)
        return number.text_mode(common.BigValueTextMode.VALUE_AND_NAME)
    if kind == "shares":
        return bargauge.Panel().reduce_options(last).orientation(common.VizOrientation.HORIZONTAL)
    legend = common_builder.VizLegendOptions().show_legend(True).display_mode(common.LegendDisplayMode.LIST)
    tooltip = common_builder.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
    lines = timeseries.Panel().legend(legend.placement(common.LegendPlacement.BOTTOM)).tooltip(tooltip).interval("1m")
    if kind == "lines":
        return lines.show_points(common.VisibilityMode.AUTO)
    lines.stacking(common_builder.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    if kind == "bars":
        return lines.draw_style(common.GraphDrawStyle.BARS).fill_opacity(80)
    return lines.fill_opacity(30)


def _thresholds(limit: float | None = None) -> builder.ThresholdsConfig:
    """One colour, and another from a limit on. Without any, Grafana takes 80 for too much."""
    steps = [dashboard.Threshold(value=None, color="blue")]
    if limit is not None:
        steps.append(dashboard.Threshold(value=limit, color="red"))
    return builder.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)


def _draw_limits(made: timeseries.Panel, panel: Panel) -> None:
    """Draw the threshold of the alert, and let magnitudes be seen."""
    if panel.limit is not None:
        style = common_builder.GraphThresholdsStyleConfig().mode(common.GraphTresholdsStyleMode.DASHED)
        made.thresholds(_thresholds(panel.limit)).thresholds_style(style)
    if panel.wide:
        scale = common_builder.ScaleDistributionConfig().type(common.ScaleDistribution.LOG).log(10)
        made.scale_distribution(scale)


def _panel(panel: Panel, ident: int) -> Builder:
    """A panel of the dashboard."""
    made = _empty(panel.kind).id(ident).title(panel.title).description(panel.description).datasource(DATASOURCE)
    made.unit(panel.unit).span(panel.width).height(HEIGHT)
    if panel.kind != "rows" and not panel.wide:
        made.min(0)
    if isinstance(made, timeseries.Panel):
        _draw_limits(made, panel)
    else:
        made.thresholds(_thresholds())
    if panel.decimals is not None:
        made.decimals(panel.decimals)
    for place, (expr, legend) in enumerate(panel.queries):
        query = Dataquery().expr(expr).legend_format(legend).ref_id(chr(ord("A") + place)).datasource(DATASOURCE)
        if panel.kind == "rows":
            query.format(PromQueryFormat.TABLE)
        made.with_target(query.range() if isinstance(made, timeseries.Panel) else query.instant())
    return made


def _variable(name: str, label: str, query: str) -> builder.QueryVariable:
    """A choice of values of a label, with All."""
    made = builder.QueryVariable(name).label(label).datasource(DATASOURCE).query(query)
    made.refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(dashboard.VariableSort.ALPHABETICAL_ASC)
    every = dashboard.VariableOption(text="All", value="$__all", selected=True)
    return made.multi(True).include_all(True).all_value(".*").current(every)


def build() -> dashboard.Dashboard:
    """The dashboard."""
    made = builder.Dashboard("goalproxy").uid("goalproxy-fleet").tags(["goalproxy"]).editable()
    made.description(
        "Goals of coding agents, their sidecars and the exporters of their hosts. Needs docs/fleet/rules.yaml."
    )
    made.time("now-6h", "now").refresh("1m").timezone("browser").tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
    made.with_variable(builder.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    made.with_variable(_variable("instance", "Host", "label_values(goalproxy_sidecars_started_total, instance)"))
    made.with_variable(_variable("agent", "Agent", 'label_values(goalproxy_agent_up{instance=~"$instance"}, agent)'))
    ident = 0
    for title, panels in SECTIONS.items():
        ident += 1
        made.with_row(builder.Row(title).id(ident))
        for panel in panels:
            ident += 1
            made.with_panel(_panel(panel, ident))
    finished = made.build()
    finished.schema_version = SCHEMA
    return finished


if __name__ == "__main__":
    sys.stdout.write(JSONEncoder(sort_keys=True, indent=2).encode(build()) + "\n")
