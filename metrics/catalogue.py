"""Every metric: its name, type, unit, help, labels and buckets, in one place.

No label carries a session, an objective or any other text of a user. What an agent does not report has no sample.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]


class Metric(NamedTuple):
    """One metric, as Prometheus shows it. The names of counters end in ``_total``, those with a unit in it before that.

    ``buckets`` are the upper bounds of a histogram's, without infinity. ``across`` says what a gauge of many sidecars
    is, when one page tells of all of them; counters and histograms are summed.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: Literal["", "seconds", "tokens", "bytes", "ratio"] = ""
    buckets: tuple[float, ...] = ()
    across: Literal["sum", "max", "min"] = "sum"


SESSIONS: Final = Metric("goalproxy_sessions", "gauge", "Sessions that are open.", ("agent",))
GOALS: Final = Metric("goalproxy_goals", "gauge", "Goals of open sessions by status.", ("agent", "owner", "status"))
GOAL_MOST_ROUNDS: Final = Metric(
    "goalproxy_goal_most_rounds",
    "gauge",
    "Rounds of the active goal that has the most.",
    ("agent",),
    across="max",
)
GOAL_BUDGET_USED: Final = Metric(
    "goalproxy_goal_budget_used_ratio",
    "gauge",
    "Part of its token budget, 0 to 1, that the active goal has used which is nearest to its end.",
    ("agent",),
    unit="ratio",
    across="max",
)
GOAL_IDLE_SINCE: Final = Metric(
    "goalproxy_goal_idle_since_timestamp_seconds",
    "gauge",
    "Unix time since when nothing is known to work for the active goal that has waited longest, if any waits.",
    ("agent",),
    unit="seconds",
    across="min",
)
GOALS_STARTED: Final = Metric(
    "goalproxy_goals_started_total", "counter", "Goals that were set, by whomever.", ("agent", "owner")
)
GOALS_RESTORED: Final = Metric(
    "goalproxy_goals_restored_total",
    "counter",
    "Goals that came with a session that was opened again.",
    ("agent", "owner"),
)
GOALS_FINISHED: Final = Metric(
    "goalproxy_goals_finished_total",
    "counter",
    "Goals that came to a stop, by outcome. A goal that is resumed after it was blocked or limited can stop again.",
    ("agent", "owner", "outcome"),
)
GOAL_DURATION: Final = Metric(
    "goalproxy_goal_duration_seconds",
    "histogram",
    "Time from the creation of a goal to each stop of it, by outcome; absent where the creation is not known.",
    ("agent", "owner", "outcome"),
    unit="seconds",
    buckets=(10, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400),
)
ROUNDS_PER_GOAL: Final = Metric(
    "goalproxy_goal_rounds",
    "histogram",
    "Rounds that a goal had taken at each stop of it, by outcome; absent where they are not known.",
    ("agent", "owner", "outcome"),
    buckets=(1, 2, 3, 5, 10, 20, 50, 100, 200, 500),
)
TOKENS_PER_GOAL: Final = Metric(
    "goalproxy_goal_used_tokens",
    "histogram",
    "Tokens that a goal had used at each stop of it, by outcome, as reported by the agent.",
    ("agent", "owner", "outcome"),
    unit="tokens",
    buckets=(1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7),
)
GOAL_ITERATIONS: Final = Metric(
    "goalproxy_goal_iterations_total",
    "counter",
    "Rounds of work for goals that were seen to start.",
    ("agent", "owner"),
)
GOAL_TOKENS: Final = Metric(
    "goalproxy_goal_tokens_total",
    "counter",
    "Tokens used for goals, as reported by the agent: the figure that budgets are compared with.",
    ("agent", "owner"),
    unit="tokens",
)
GOAL_COST: Final = Metric(
    "goalproxy_goal_cost_total",
    "counter",
    "Cost of work for goals, as reported by the agent, in units of the currency (ISO 4217).",
    ("agent", "owner", "currency"),
)
GOAL_SECONDS: Final = Metric(
    "goalproxy_goal_active_seconds_total",
    "counter",
    "Seconds worked for goals, as reported by the agent.",
    ("agent", "owner"),
    unit="seconds",
)
GOAL_REPORTS_IGNORED: Final = Metric(
    "goalproxy_goal_reports_ignored_total",
    "counter",
    "Statements of the agent about a goal that had been replaced, or from before a command.",
    ("agent",),
)
GOAL_STATUSES_UNKNOWN: Final = Metric(
    "goalproxy_goal_statuses_unknown_total",
    "counter",
    "Statements of the agent with a status that is not known; the goal was published as paused.",
    ("agent",),
)
ROUND_DURATION: Final = Metric(
    "goalproxy_goal_round_duration_seconds",
    "histogram",
    "Time that a round took of a goal that goalproxy keeps, by how it ended: the agent's stop reason, or error.",
    ("agent", "outcome"),
    unit="seconds",
    buckets=(1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600),
)
FIRST_OUTPUT: Final = Metric(
    "goalproxy_goal_round_first_output_seconds",
    "histogram",
    "Time from the start of a round of a goal that goalproxy keeps to the agent's first message or tool call in it.",
    ("agent",),
    unit="seconds",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
OPEN_CALLS: Final = Metric(
    "goalproxy_goal_round_open_tool_calls_total",
    "counter",
    "Tool calls that had not ended when the agent ended a round of a goal that goalproxy keeps.",
    ("agent",),
)
ROUND_TOKENS: Final = Metric(
    "goalproxy_goal_round_tokens_total",
    "counter",
    "Tokens of rounds of goals that goalproxy keeps, by kind, where it is told. Kinds overlap: do not sum them.",
    ("agent", "kind"),
    unit="tokens",
)
BACKOFF_SECONDS: Final = Metric(
    "goalproxy_goal_backoff_seconds_total",
    "counter",
    "Seconds that goalproxy put between rounds beyond the least interval, since a round failed or did little.",
    ("agent",),
    unit="seconds",
)
STOPS: Final = Metric(
    "goalproxy_goal_stops_total",
    "counter",
    "Goals that goalproxy keeps and that stopped being active, by reason, such as no-progress or round-limit.",
    ("agent", "reason"),
)
TOOL_CALLS: Final = Metric(
    "goalproxy_goal_tool_calls_total",
    "counter",
    "Calls of the model's goal tools, by tool and by result: ok, or the code of the refusal.",
    ("agent", "tool", "result"),
)
CHECK_DURATION: Final = Metric(
    "goalproxy_goal_check_duration_seconds",
    "histogram",
    "Time that a run of the operator's check took, by result: passed or failed.",
    ("agent", "result"),
    unit="seconds",
    buckets=(0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600),
)
CONTROL_REQUESTS: Final = Metric(
    "goalproxy_goal_control_requests_total",
    "counter",
    "Control requests of clients by action and result.",
    ("agent", "action", "result"),
)
COMMANDS: Final = Metric(
    "goalproxy_goal_commands_total",
    "counter",
    "Commands typed as /goal, by word and by who answered them.",
    ("agent", "word", "answered_by"),
)
MESSAGES: Final = Metric(
    "goalproxy_relay_messages_total",
    "counter",
    "Messages by direction and by what was done with them.",
    ("direction", "treatment"),
)
BYTES: Final = Metric(
    "goalproxy_relay_bytes_total",
    "counter",
    "Bytes of messages by direction and by what was done with them.",
    ("direction", "treatment"),
    unit="bytes",
)
MALFORMED: Final = Metric(
    "goalproxy_relay_malformed_lines_total",
    "counter",
    "Lines that are no single JSON object, batches included; they were relayed as they were.",
    ("direction",),
)
LATENCY: Final = Metric(
    "goalproxy_relay_latency_seconds",
    "histogram",
    "Time from reading a block of messages to having written it, by direction. A peer that reads late counts, too.",
    ("direction",),
    unit="seconds",
    buckets=(0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1, 10),
)
NOT_REWRITTEN: Final = Metric(
    "goalproxy_relay_not_rewritten_total",
    "counter",
    "Messages that should have been changed and could not be; they were relayed as they were.",
    ("method",),
)
SIDECARS_STARTED: Final = Metric("goalproxy_sidecars_started_total", "counter", "Sidecars that were started.")
AGENT_UP: Final = Metric(
    "goalproxy_agent_up", "gauge", "1 while the agent runs; of many sidecars, how many.", ("agent",)
)
AGENT_EXITS: Final = Metric(
    "goalproxy_agent_exits_total",
    "counter",
    "Ends of agents: ended (exit code 0), stopped (it was asked to), failed (another code), or killed (by a signal).",
    ("agent", "outcome"),
)
AGENT_INFO: Final = Metric(
    "goalproxy_agent_info",
    "gauge",
    "1, with what the agent said of itself and the dialect in which its goals are read.",
    ("agent", "version", "protocol", "dialect"),
    across="max",
)
BUILD_INFO: Final = Metric(
    "goalproxy_build_info", "gauge", "1, with the version of goalproxy.", ("version",), across="max"
)

CATALOGUE: Final = (
    SESSIONS,
    GOALS,
    GOAL_MOST_ROUNDS,
    GOAL_BUDGET_USED,
    GOAL_IDLE_SINCE,
    GOALS_STARTED,
    GOALS_RESTORED,
    GOALS_FINISHED,
    GOAL_DURATION,
    ROUNDS_PER_GOAL,
    TOKENS_PER_GOAL,
    GOAL_ITERATIONS,
    GOAL_TOKENS,
    GOAL_COST,
    GOAL_SECONDS,
    GOAL_REPORTS_IGNORED,
    GOAL_STATUSES_UNKNOWN,
    ROUND_DURATION,
    FIRST_OUTPUT,
    OPEN_CALLS,
    ROUND_TOKENS,
    BACKOFF_SECONDS,
    STOPS,
    TOOL_CALLS,
    CHECK_DURATION,
    CONTROL_REQUESTS,
    COMMANDS,
    MESSAGES,
    BYTES,
    MALFORMED,
    LATENCY,
    NOT_REWRITTEN,
    SIDECARS_STARTED,
    AGENT_UP,
    AGENT_EXITS,
    AGENT_INFO,
    BUILD_INFO,
)
"""What a sidecar tells."""

SIDECARS: Final = Metric("goalproxy_exporter_sidecars", "gauge", "Sidecars that live.")
UNREADABLE: Final = Metric(
    "goalproxy_exporter_unreadable_files", "gauge", "Files of sidecars that could not be read at the last look."
)
SKIPPED: Final = Metric(
    "goalproxy_exporter_skipped_series",
    "gauge",
    "Series that were left out at the last look, since another version of goalproxy tells something else by them.",
)
STALE: Final = Metric(
    "goalproxy_exporter_stale_directories",
    "gauge",
    "Directories that could not be read at the last look; what they held before is shown.",
)
COLLECT_DURATION: Final = Metric(
    "goalproxy_exporter_collect_duration_seconds", "gauge", "Time that the last look took.", unit="seconds"
)
COLLECTED: Final = Metric(
    "goalproxy_exporter_last_collect_timestamp_seconds",
    "gauge",
    "Unix time of the last look at all directories.",
    unit="seconds",
)

EXPORTER: Final = (SIDECARS, UNREADABLE, SKIPPED, STALE, COLLECT_DURATION, COLLECTED)
"""What the exporter of a host tells of itself, beside what its sidecars tell."""
