"""The control request: what it may ask, and what is wrong with it.

One list of actions serves the advertisement, the check and the error, so they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from .report import count
from .snapshot import Goal

Action = Literal["set", "pause", "resume", "clear"]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)


class Refusal(ValueError):
    """The request cannot be carried out; the text is a sentence for the person who made it. Nothing has changed."""


class Control(NamedTuple):
    """A control request, checked. ``objective`` is trimmed, and empty unless the action is ``set``."""

    session_id: str
    action: Action
    objective: str
    expected: dict[str, Any] | None
    token_budget: int | None = None


def read_control(
    params: object,
    *,
    actions: Sequence[Action],
    limit: int | None,
    update_is_set: bool,
    no_control: str = "",
    budgets: bool = False,
) -> Control:
    """Check the params of a control request.

    ``actions`` are those that work for this agent, ``limit`` the number of characters that it takes in an objective,
    ``update_is_set`` whether ``update`` is another word for ``set`` (an alias of an old dialect), ``no_control`` a
    sentence on why actions are missing, ``budgets`` whether a goal can be given a token budget. Unknown fields are
    ignored. Raises Refusal.
    """
    if not isinstance(params, dict):
        raise Refusal("The params of a goal request must be an object.")
    session_id, action = params.get("sessionId"), params.get("action")
    if not isinstance(session_id, str) or not session_id:
        raise Refusal("A goal request needs a sessionId.")
    if update_is_set and action == "update":
        action = "set"
    if action not in ACTIONS and actions:
        raise Refusal(f"The action must be one of {', '.join(actions)}.")
    if action not in ACTIONS:
        raise Refusal(f"No action is offered for this agent. {no_control}".rstrip())
    check_action(action, actions, no_control)
    objective = _objective(params.get("objective"), limit) if action == "set" else ""
    budget = _budget(params.get("tokenBudget"), budgets=budgets)
    return Control(session_id, action, objective, _expected(params.get("expectedGoal")), budget)


def check_action(action: Action, actions: Sequence[Action], no_control: str) -> None:
    """Check that an action is among those that work for the agent. Raises Refusal."""
    if action not in actions:
        can = ", ".join(actions) or "nothing"
        raise Refusal(f"This agent cannot {action} a goal; it can: {can}. {no_control}".rstrip())


def check_state(control: Control, goal: Goal | None, *, known: bool) -> None:
    """Check a request against the session's goal; ``known`` is False while nobody has said whether there is one.

    Raises Refusal.
    """
    check_expected(control.expected, goal)
    if control.action not in ("pause", "resume") or not known:
        return
    check_changeable(control.action, goal)
    if control.action == "resume" and goal is not None and goal.status == "limited" and goal.budget_spent:
        budget = f" of {goal.token_budget}" if isinstance(goal.token_budget, int) else ""
        raise Refusal(f"The goal's token budget{budget} is used up, and this agent offers no way to raise it.")


def check_changeable(action: Action, goal: Goal | None) -> None:
    """Check that there is a goal to pause or to resume, and that it is not over. Raises Refusal."""
    if goal is None:
        raise Refusal(f"There is no goal to {action}.")
    if goal.status == "complete":
        raise Refusal(f"The goal is complete; there is nothing to {action}. Set a new one.")


def check_length(objective: str, limit: int | None) -> None:
    """Check an objective against the number of characters that an agent takes. Raises Refusal with both numbers."""
    if limit is not None and len(objective) > limit:
        raise Refusal(f"The objective has {len(objective)} characters; this agent takes at most {limit}.")


def _objective(value: Any, limit: int | None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refusal("Setting a goal needs an objective that is not blank.")
    objective = value.strip()
    check_length(objective, limit)
    return objective


def _budget(value: Any, *, budgets: bool) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or not count(value):
        raise Refusal("A tokenBudget must be a positive integer.")
    if not budgets:
        raise Refusal("This agent offers no way to give a goal a tokenBudget; leave it out.")
    return value


def _expected(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Refusal("An expectedGoal must be an object.")
    return value


def check_expected(expected: dict[str, Any] | None, goal: Goal | None) -> None:
    """Check that the session's goal is the one that the request was made for. Raises Refusal."""
    if expected is None:
        return
    actual = {} if goal is None else {"objective": goal.objective, "createdAt": goal.created_at}
    if any(key in expected and expected[key] != actual.get(key) for key in ("objective", "createdAt")):
        raise Refusal("The session's goal is not the expected one; nothing was changed.")
