"""The neutral goal extension as it crosses the wire: its names, its capability, its aliases.

Clients test ``version`` and ``controlMethod`` literally, so both are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .acp import SESSION_INFO, is_v2

VERSION = 1
CONTROL_METHOD = "_session/goal"
CODEX_ALIAS = "_codex/session/goal_control"
SESSION_ALIAS = "_session/goal_control"
CONTROL_METHODS = frozenset({CONTROL_METHOD, CODEX_ALIAS, SESSION_ALIAS})
"""Every name a control request may come under; only the first is advertised."""

COMMAND_NAME = "goal"
COMMAND_DESCRIPTION = "Set, pause, resume or clear a goal that the agent keeps working on."
COMMAND_HINT = "[<objective>|pause|resume|clear]"


def capability(actions: Sequence[str]) -> dict[str, Any]:
    """What ``_meta.goal`` of an ``initialize`` result says."""
    return {"version": VERSION, "controlMethod": CONTROL_METHOD, "actions": list(actions)}


def command_entry(protocol: int) -> dict[str, Any]:
    """The ``goal`` entry of a list of commands, in the shape of the protocol version."""
    if is_v2(protocol):
        return {
            "type": "command",
            "name": COMMAND_NAME,
            "description": COMMAND_DESCRIPTION,
            "input": {"type": "text", "hint": COMMAND_HINT},
        }
    return {"name": COMMAND_NAME, "description": COMMAND_DESCRIPTION, "input": {"hint": COMMAND_HINT}}


def clears(update: dict[str, Any]) -> bool:
    """Whether an update of version 2 takes the goal away from the client: a null ``_meta`` of a session's information.

    There ``_meta`` is a patch by its top-level keys, and null clears them all. In other updates it says nothing.
    """
    return update.get("sessionUpdate") == SESSION_INFO and "_meta" in update and update["_meta"] is None
