"""What is tested, as data: the rows of the tables in the README, and which of them each family of agents has."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Family(StrEnum):
    """Agents with one way of keeping goals; each has a table of its own. The value is its title."""

    CODEX = "Codex"
    CLAUDE = "Claude"
    QWEN = "Qwen Code"
    DSH = "DSH"
    PLAIN = "Agents without goals"
    EXAMPLE = "Examples of the Python SDK"


class Behaviour(StrEnum):
    """The rows, in order; the value is what a reader of the README sees."""

    TRANSPARENT = "an ordinary prompt arrives as without the proxy"
    CAPABILITY = "capability seen by a plain client"
    NEW_SESSION = "a new session says that it has no goal"
    MODEL_GOAL = "goal made by the model is seen"
    COMMAND = "`/goal <objective>`"
    VERDICTS = "each verdict is shown with its reason"
    REPORT = "`/goal` and `/goal status` report"
    WORDS = "`/goal pause`, `resume`, `clear`"
    OWN_WORDS = "the agent's own words for clear, such as `/goal stop`"
    TOO_LONG = "an objective that is too long"
    SET = "control: set"
    PAUSE = "control: pause"
    RESUME = "control: resume"
    CLEAR = "control: clear"
    REPLACE = "replace while running"
    CONFLICT = "a control that meets a newer goal"
    COMPLETE = "the model completes the goal"
    REJECTED = "a completion that the verifier rejects"
    BLOCKED = "the model is blocked"
    IMPOSSIBLE = "the goal is judged impossible"
    USAGE_LIMIT = "usage limit"
    BUDGET = "token budget used up"
    ROUND_LIMIT = "round limit"
    NO_VERDICT = "the judge cannot be reached"
    CAP = "cap of consecutive verdicts"
    CHECK = "the operator's check decides what is complete"
    MARKER = "the model completes the goal without the proxy's tools"
    BACKGROUND = "verdict put off until a background task is done"
    API_ERROR = "the model cannot be reached"
    CANCEL = "cancel pauses the goal"
    PROMPT = "ordinary prompt during an autonomous turn"
    QUEUE = "`--on-prompt queue`: a prompt waits for the end of the round"
    HELD = "`--turns held`: the prompt that sets a goal stays open until it stops"
    TOOLS_HTTP = "the proxy's tools over HTTP"
    TOOLS_STDIO = "the proxy's tools over stdio"
    LOAD = "`session/load` after a restart: active, complete, none"
    RESUMED = "`session/resume` after a restart: active, complete, none"
    FORK = "`session/fork`"
    RESTART = "the agent dies in a round, and `session/load` after it"
    RESTART_RESUME = "the agent dies in a round, and `session/resume` after it"
    LOAD_ACTIVE = "`session/load` after a restart, active goal"
    LOAD_PAUSED = "`session/load` after a restart, paused goal"
    RESUME_ACTIVE = "`session/resume` after a restart, active goal"
    RESUME_PAUSED = "`session/resume` after a restart, paused goal"
    REMOTE = "goals told on the wire, without a log (`CLAUDE_CODE_REMOTE`)"
    UNTOLD = "goals told nowhere: no more is said than is known"
    BAD_INPUT = "bad control input"
    ALIAS_CODEX = "alias `_codex/session/goal_control`"
    ALIAS_SESSION = "alias `_session/goal_control`"
    V2_CAPABILITY = "protocol 2: capability"
    V2_COMMAND = "protocol 2: `/goal <objective>`"
    V2_SET = "protocol 2: set"
    V2_PAUSE = "protocol 2: pause and resume"
    V2_CLEAR = "protocol 2: clear"
    V2_COMPLETE = "protocol 2: the model completes the goal"
    V2_RESUME = "protocol 2: `session/resume` after a restart"


PROTOCOL_2: Final = tuple(behaviour for behaviour in Behaviour if behaviour.name.startswith("V2_"))
CONTROLS: Final = (Behaviour.SET, Behaviour.PAUSE, Behaviour.RESUME, Behaviour.CLEAR, Behaviour.REPLACE)
ALIASES: Final = (Behaviour.ALIAS_CODEX, Behaviour.ALIAS_SESSION)
RESTARTS: Final = (Behaviour.LOAD_ACTIVE, Behaviour.LOAD_PAUSED, Behaviour.RESUME_ACTIVE, Behaviour.RESUME_PAUSED)
COMMANDS: Final = (Behaviour.COMMAND, Behaviour.REPORT, Behaviour.WORDS)
ENDINGS: Final = (Behaviour.COMPLETE, Behaviour.BLOCKED, Behaviour.USAGE_LIMIT, Behaviour.BUDGET)

_FIRST: Final = (Behaviour.TRANSPARENT, Behaviour.CAPABILITY, Behaviour.NEW_SESSION)
_OF: Final[Mapping[Family, frozenset[Behaviour]]] = {
    Family.CODEX: frozenset(
        (
            *_FIRST, *COMMANDS, *CONTROLS, *ENDINGS, *RESTARTS, *ALIASES, *PROTOCOL_2,
            Behaviour.MODEL_GOAL, Behaviour.CANCEL, Behaviour.PROMPT, Behaviour.BAD_INPUT,
        )
    ),
    Family.CLAUDE: frozenset(
        (
            *_FIRST, *COMMANDS, *CONTROLS,
            Behaviour.VERDICTS, Behaviour.OWN_WORDS, Behaviour.TOO_LONG, Behaviour.COMPLETE, Behaviour.IMPOSSIBLE,
            Behaviour.NO_VERDICT, Behaviour.CAP, Behaviour.BACKGROUND, Behaviour.API_ERROR, Behaviour.CANCEL,
            Behaviour.PROMPT, Behaviour.LOAD, Behaviour.RESUMED, Behaviour.FORK, Behaviour.REMOTE, Behaviour.UNTOLD,
            Behaviour.BAD_INPUT, Behaviour.V2_CAPABILITY,
        )
    ),
    Family.QWEN: frozenset(
        (
            *_FIRST, *COMMANDS, *CONTROLS,
            Behaviour.OWN_WORDS, Behaviour.CONFLICT, Behaviour.COMPLETE, Behaviour.REJECTED, Behaviour.BLOCKED,
            Behaviour.API_ERROR, Behaviour.CANCEL, Behaviour.PROMPT, Behaviour.LOAD, Behaviour.RESUMED,
            Behaviour.BAD_INPUT,
        )
    ),
    Family.DSH: frozenset(
        (
            *_FIRST, *COMMANDS, *CONTROLS,
            Behaviour.MODEL_GOAL, Behaviour.COMPLETE, Behaviour.BLOCKED, Behaviour.ROUND_LIMIT, Behaviour.CANCEL,
            Behaviour.PROMPT, Behaviour.LOAD, Behaviour.RESUMED, Behaviour.BAD_INPUT,
        )
    ),
    Family.PLAIN: frozenset(
        (
            *CONTROLS,
            Behaviour.CAPABILITY, Behaviour.NEW_SESSION, Behaviour.COMMAND, Behaviour.REPORT, Behaviour.MODEL_GOAL,
            Behaviour.COMPLETE, Behaviour.MARKER, Behaviour.CHECK, Behaviour.BLOCKED, Behaviour.BUDGET, Behaviour.ROUND_LIMIT,
            Behaviour.API_ERROR, Behaviour.CANCEL, Behaviour.PROMPT, Behaviour.QUEUE, Behaviour.HELD,
            Behaviour.TOOLS_HTTP, Behaviour.TOOLS_STDIO, Behaviour.FORK, Behaviour.RESTART, Behaviour.RESTART_RESUME,
        )
    ),
    Family.EXAMPLE: frozenset(
        (
            *CONTROLS,
            Behaviour.CAPABILITY, Behaviour.NEW_SESSION, Behaviour.COMMAND, Behaviour.REPORT, Behaviour.COMPLETE,
            Behaviour.ROUND_LIMIT, Behaviour.CANCEL, Behaviour.PROMPT, Behaviour.RESTART,
        )
    ),
}  # fmt: skip


def rows(family: Family) -> list[Behaviour]:
    """Return the behaviours that a family is tested for, in the order of the table."""
    return [behaviour for behaviour in Behaviour if behaviour in _OF[family]]
