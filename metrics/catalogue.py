"""Every metric: its name, type, help and labels, in one place.

No label carries a session, an objective or any other text of a user. What an agent does not report has no sample.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Metric(NamedTuple):
    """One metric, as Prometheus shows it. The names of counters end in ``_total``."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()


GOALS: Final = Metric("goalproxy_goals", "gauge", "Goals of open sessions by status.", ("agent", "owner", "status"))
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
GOAL_ITERATIONS: Final = Metric(
    "goalproxy_goal_iterations_total",
    "counter",
    "Rounds of work for goals that were seen to start.",
    ("agent", "owner"),
)
GOAL_TOKENS: Final = Metric(
    "goalproxy_goal_tokens_total",
    "counter",
    "Tokens used for goals, as reported by the agent. Kind total: the agent reports one figure.",
    ("agent", "owner", "kind"),
)
GOAL_SECONDS: Final = Metric(
    "goalproxy_goal_active_seconds_total",
    "counter",
    "Seconds worked for goals, as reported by the agent.",
    ("agent", "owner"),
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
ROUNDS_ENDED: Final = Metric(
    "goalproxy_goal_rounds_ended_total",
    "counter",
    "Rounds of goals that goalproxy keeps, by how they ended: the agent's stop reason, or error.",
    ("agent", "outcome"),
)
ROUND_SECONDS: Final = Metric(
    "goalproxy_goal_round_seconds_total",
    "counter",
    "Seconds that the rounds of goals that goalproxy keeps took, by how they ended.",
    ("agent", "outcome"),
)
BACKOFF_SECONDS: Final = Metric(
    "goalproxy_goal_backoff_seconds_total",
    "counter",
    "Seconds that goalproxy put between rounds beyond the least interval, since a round failed or did little.",
    ("agent",),
)
STOPS: Final = Metric(
    "goalproxy_goal_stops_total",
    "counter",
    "Goals that goalproxy keeps and that stopped being active, by code, such as no-progress or round-limit.",
    ("agent", "code"),
)
TOOL_CALLS: Final = Metric(
    "goalproxy_goal_tool_calls_total",
    "counter",
    "Calls of the model's goal tools, by tool and by result: ok, or the code of the refusal.",
    ("agent", "tool", "result"),
)
CHECKS: Final = Metric(
    "goalproxy_goal_checks_total",
    "counter",
    "Runs of the operator's check, by result: passed or failed.",
    ("agent", "result"),
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
)
MALFORMED: Final = Metric(
    "goalproxy_relay_malformed_lines_total",
    "counter",
    "Lines that are no single JSON object, batches included; they were relayed as they were.",
    ("direction",),
)
NOT_REWRITTEN: Final = Metric(
    "goalproxy_relay_not_rewritten_total",
    "counter",
    "Messages that should have been changed and could not be; they were relayed as they were.",
    ("method",),
)
AGENT_UP: Final = Metric("goalproxy_agent_up", "gauge", "1 while the agent runs.", ("agent",))
AGENT_INFO: Final = Metric(
    "goalproxy_agent_info",
    "gauge",
    "1, with what the agent said of itself and the dialect in which its goals are read.",
    ("agent", "version", "protocol", "dialect"),
)
BUILD_INFO: Final = Metric("goalproxy_build_info", "gauge", "1, with the version of goalproxy.", ("version",))

TRAFFIC: Final = (MESSAGES, BYTES, MALFORMED)
"""Read from the relay path when somebody asks; all others are told by facts."""

CATALOGUE: Final = (
    GOALS,
    GOALS_STARTED,
    GOALS_RESTORED,
    GOALS_FINISHED,
    GOAL_ITERATIONS,
    GOAL_TOKENS,
    GOAL_SECONDS,
    GOAL_REPORTS_IGNORED,
    GOAL_STATUSES_UNKNOWN,
    ROUNDS_ENDED,
    ROUND_SECONDS,
    BACKOFF_SECONDS,
    STOPS,
    TOOL_CALLS,
    CHECKS,
    CONTROL_REQUESTS,
    COMMANDS,
    *TRAFFIC,
    NOT_REWRITTEN,
    AGENT_UP,
    AGENT_INFO,
    BUILD_INFO,
)
