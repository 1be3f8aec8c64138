"""The tools that a model reads and changes the session's goal with: what it is taught, and what its calls mean.

A call is only read here. Whether the model may do it now is decided by who started the turn, never by its words.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeGuard, get_args

from msgspec import Struct

from .owned import Refused
from .report import count, one_line

GET: Final = "get_goal"
CREATE: Final = "create_goal"
UPDATE: Final = "update_goal"
NAMES: Final = (GET, CREATE, UPDATE)
UPDATE_FIELDS: Final = frozenset(
    {"goal_id", "revision", "action", "objective", "max_goal_rounds", "reason", "blocked_reason"}
)
"""Everything that a call of ``update_goal`` may say."""

UpdateAction = Literal["edit", "pause", "resume", "complete", "blocked"]
ACTIONS: Final[tuple[UpdateAction, ...]] = get_args(UpdateAction)
_REPORTS: Final = ("complete", "blocked")
"""The actions that take a reason: they tell how the work has ended."""
_MOST_ROUNDS = 2**53 - 1
"""The largest integer that every JSON reader keeps exact, and every store."""


class GetGoal(Struct, frozen=True):
    """Asks for the goal."""


class CreateGoal(Struct, frozen=True):
    """Asks for a new goal. ``objective`` is trimmed; None is the operator's number of rounds."""

    objective: str
    max_rounds: int | None = None


class UpdateGoal(Struct, frozen=True):
    """Asks for a change of the goal ``goal_id`` as it was at ``revision``. None is what was left out.

    An ``edit`` has an objective, or a number of rounds, or both; only ``complete`` and ``blocked`` have a reason, one
    bounded line.
    """

    goal_id: str
    revision: int
    action: UpdateAction
    objective: str | None = None
    max_rounds: int | None = None
    reason: str | None = None


Call = GetGoal | CreateGoal | UpdateGoal

INSTRUCTIONS: Final = (
    "These tools keep the goal of this session: an objective that the user wants pursued over many turns until it is"
    " reached. Read the goal with get_goal before you change it, and copy its id and revision exactly. Report complete"
    " only when the objective is achieved and you have checked it. Difficulty and uncertainty are not blocked."
)
"""What is said about all of the tools at once, for agents that show it to their model."""

# A schema says nothing that a filled-in "" or 0 would break: some agents check calls against it before they send them.
# No tool has a title: agents would show it in the place of the name, by which requests for permission are known.
TOOLS: Final[list[dict[str, Any]]] = [
    {
        "name": GET,
        "description": (
            "Read the goal of this session: its id, revision, objective, status and rounds, or null if there is none."
            " Call it before every update_goal, and after one that was refused as stale."
        ),
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": CREATE,
        "description": (
            "Create the goal of this session: an objective that is then pursued turn after turn without the user,"
            " until it is complete or blocked. Only when the user asks for that, in any words and any language; not"
            " for ordinary work that fits in one turn, and not on your own initiative. A session has one goal at most:"
            " if there is one, edit it when the user changes what is wanted."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "objective": {
                    "type": "string",
                    "description": (
                        "What is to be achieved, in the user's terms and complete, with the way to tell that it is."
                    ),
                },
                "max_goal_rounds": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The most rounds the goal may take, if the user names a number. Else leave it out.",
                },
            },
            "required": ["objective"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
    {
        "name": UPDATE,
        "description": (
            "Change the goal of this session, or report how it ended. Call get_goal first, and copy id and revision"
            " exactly: a stale revision is refused.\n"
            "complete: the whole objective is achieved, and you have checked it by evidence (tests, output, files),"
            " not from memory. If any work remains, do not call this; end your turn, and another round will follow.\n"
            "blocked: the same obstacle, which only the user or an outside change can remove, has stopped you in"
            " several rounds in a row. Difficulty, uncertainty, a failed attempt or slow progress are not blocked.\n"
            "edit, pause, resume: only when the user asks for it in this turn. If the user asks in any words to go on"
            " with a goal that is paused, blocked, limited or restored, that is resume."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "goal_id": {"type": "string", "description": "The goal's id, copied from get_goal."},
                "revision": {"type": "integer", "description": "The goal's revision, copied from get_goal."},
                "action": {"type": "string", "enum": list(ACTIONS), "description": "What to do."},
                "objective": {
                    "type": "string",
                    "description": "For edit only: the complete new objective. Else leave it out.",
                },
                "max_goal_rounds": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "For edit only: the new limit of rounds. Else leave it out.",
                },
                "reason": {
                    "type": "string",
                    "description": (
                        "For complete and blocked only, one line: the evidence that the objective is achieved, or the"
                        " obstacle and what would remove it."
                    ),
                },
            },
            "required": ["goal_id", "revision", "action"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
]


def read_call(name: str, arguments: object) -> Call:
    """Check a call. Raises Refused with ``unknown-tool`` or ``invalid-arguments``.

    Models fill optional fields with ``""``, ``0`` or null: those count as left out, and so do no arguments at all.
    Unknown fields are ignored.
    """
    if name not in NAMES:
        raise Refused("unknown-tool", f"There is no tool {_shown(name)}; there are {', '.join(NAMES)}.")
    fields = {} if arguments is None else arguments
    if not isinstance(fields, dict):
        raise _invalid("The arguments must be an object.")
    if name == GET:
        return GetGoal()
    return _read_create(fields) if name == CREATE else _read_update(fields)


def _read_create(fields: dict[str, Any]) -> CreateGoal:
    objective = _text(fields, "objective")
    if objective is None:
        raise _invalid("A goal needs an objective that is not blank.")
    return CreateGoal(objective, _rounds(fields))


def _read_update(fields: dict[str, Any]) -> UpdateGoal:
    goal_id, revision, action = fields.get("goal_id"), count(fields.get("revision")), fields.get("action")
    if not isinstance(goal_id, str) or not goal_id:
        raise _invalid("An update needs the goal_id, copied from get_goal.")
    if not revision:
        raise _invalid("An update needs the revision, a positive integer copied from get_goal.")
    if not _is_action(action):
        raise _invalid(f"The action must be one of {', '.join(ACTIONS)}.")
    objective, rounds, reason = _text(fields, "objective"), _rounds(fields), _reason(fields)
    _check_fields(action, replaces=objective is not None or rounds is not None, reason=reason)
    return UpdateGoal(goal_id, revision, action, objective, rounds, reason)


def _check_fields(action: UpdateAction, *, replaces: bool, reason: str | None) -> None:
    if action == "edit" and not replaces:
        raise _invalid("An edit needs an objective or max_goal_rounds.")
    if action != "edit" and replaces:
        raise _invalid(
            f"The fields objective and max_goal_rounds are for edit only; leave them out to {_verb(action)}."
        )
    if action not in _REPORTS and reason is not None:
        raise _invalid(f"A reason is for complete and blocked only; leave it out to {_verb(action)}.")


def _verb(action: UpdateAction) -> str:
    return "report blocked" if action == "blocked" else action


def _is_action(value: object) -> TypeGuard[UpdateAction]:
    return value in ACTIONS


def _text(fields: dict[str, Any], key: str) -> str | None:
    """A text, trimmed; None if it is left out or blank."""
    value = fields.get(key)
    if value is None or (isinstance(value, (int, float)) and not value):
        return None
    if not isinstance(value, str):
        raise _invalid(f"The field {key} must be a string.")
    return value.strip() or None


def _rounds(fields: dict[str, Any]) -> int | None:
    """A number of rounds; None if it is left out."""
    value = fields.get("max_goal_rounds")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    rounds = count(value)
    if rounds is None or rounds > _MOST_ROUNDS:
        raise _invalid("The field max_goal_rounds must be a positive integer, or left out.")
    return rounds or None


def _reason(fields: dict[str, Any]) -> str | None:
    """A reason as one bounded line, under either of its names; None if it is left out."""
    return one_line(_text(fields, "reason") or _text(fields, "blocked_reason"))


def _invalid(sentence: str) -> Refused:
    return Refused("invalid-arguments", sentence)


def _shown(name: str) -> str:
    """A name that came from outside, as one bounded line."""
    return (one_line(name) or "without a name")[:80]
