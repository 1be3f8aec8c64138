"""A goal that the proxy keeps: what may follow what, that every change is a new revision, and what time and limits count."""

from typing import get_args

import pytest

from goalproxy.proxy.goal.owned import TRANSITIONS, Operation, OwnedGoal, Refused
from goalproxy.proxy.goal.status import STATUSES, Status

START = 1_790_000_000_000
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


def a_goal(status: Status = "active", **fields: object) -> OwnedGoal:
    """A goal that began at START."""
    return OwnedGoal("g", 1, "Ship it", status, START, START, 256, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "operation"), sorted(TRANSITIONS))
def test_an_operation_leads_where_the_table_says(status: Status, operation: Operation) -> None:
    goal = a_goal(status).moved(operation, START + 5, code="why", reason="because")
    expected = TRANSITIONS[status, operation]
    if expected is None:
        assert goal is None
    else:
        assert goal is not None
        assert (goal.status, goal.revision, goal.updated_at) == (expected, 2, START + 5)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_that_is_not_in_the_table_is_refused(status: Status, operation: Operation) -> None:
    if (status, operation) in TRANSITIONS:
        return
    goal = a_goal(status)
    with pytest.raises(Refused, match=f"A goal that is {status} cannot be changed by {operation}") as refused:
        goal.moved(operation, START)
    assert refused.value.code == "invalid-transition"
    with pytest.raises(Refused):
        goal.check(operation)


def test_clear_always_works_and_a_complete_goal_can_do_nothing_else() -> None:
    assert {status for status, operation in TRANSITIONS if operation == "clear"} == set(STATUSES)
    assert [operation for status, operation in TRANSITIONS if status == "complete"] == ["clear"]


def test_nobody_but_a_person_or_the_model_leaves_a_goal_that_stopped() -> None:
    for status in ("paused", "blocked", "limited"):
        assert (status, "block") not in TRANSITIONS
        assert (status, "limit") not in TRANSITIONS


@pytest.mark.parametrize(
    "change",
    [
        lambda goal: goal.moved("pause", START),
        lambda goal: goal.edited(START, "Other", None),
        lambda goal: goal.raised(START, token_budget=5, time_budget=None, max_rounds=9),
        lambda goal: goal.started_round(START),
        lambda goal: goal.used(START, None, None),
        lambda goal: goal.reopened(START),
    ],
)
def test_every_change_is_a_new_revision_of_the_same_goal(change: object) -> None:
    goal = change(a_goal())  # type: ignore[operator]
    assert (goal.id, goal.created_at, goal.revision) == ("g", START, 2)


def test_an_edit_keeps_counters_and_why_the_goal_stopped() -> None:
    goal = a_goal("blocked", rounds=4, tokens=50, active_ms=7000, code="errors", reason="It failed.")
    edited = goal.edited(START + 1000, "Other", 9)
    assert (edited.objective, edited.max_rounds, edited.status) == ("Other", 9, "blocked")
    assert (edited.rounds, edited.tokens, edited.active_ms) == (4, 50, 7000)
    assert (edited.code, edited.reason) == ("errors", "It failed.")
    assert edited.edited(START, None, 3).objective == "Other"
    assert edited.edited(START, "Third", None).max_rounds == 9


def test_a_goal_that_goes_on_has_no_code_and_keeps_its_last_reason() -> None:
    goal = a_goal("blocked", code="errors", reason="It failed.").moved("resume", START)
    assert goal is not None
    assert (goal.code, goal.reason) == (None, "It failed.")


def test_what_went_wrong_before_is_no_reason_for_being_complete() -> None:
    failed = a_goal(reason="Internal error")
    complete = failed.moved("complete", 9)
    assert complete is not None
    assert complete.reason is None
    checked = failed.moved("complete", 9, reason="The check passed.")
    assert checked is not None
    assert checked.reason == "The check passed."


def test_only_active_time_counts_and_no_change_loses_it() -> None:
    goal = a_goal().started_round(START + 1500)
    assert goal.active_seconds(START + 2500) == 2
    paused = goal.moved("pause", START + 3000)
    assert paused is not None
    assert (paused.active_ms, paused.active_seconds(START + 99_000)) == (3000, 3)
    resumed = paused.moved("resume", START + 99_000)
    assert resumed is not None
    assert resumed.active_seconds(START + 100_000) == 4


def test_a_clock_that_goes_back_takes_no_time_away() -> None:
    goal = a_goal().started_round(START + 5000).started_round(START + 1000)
    assert (goal.active_ms, goal.updated_at) == (5000, START + 5000)
    assert goal.active_seconds(START) == 5


def test_the_time_in_which_nobody_kept_a_goal_is_not_spent_on_it() -> None:
    goal = a_goal(active_ms=2000).reopened(START + 86_400_000)
    assert goal.active_seconds(START + 86_401_000) == 3


def test_tokens_that_an_agent_does_not_tell_stay_unknown() -> None:
    assert a_goal().used(START, None, None).tokens is None
    assert a_goal().used(START, 5, None).used(START, None, None).used(START, 6, None).tokens == 11


def test_what_was_last_reported_stays_until_something_else_is() -> None:
    goal = a_goal().used(START, None, "2 tests fail")
    assert goal.used(START, 1, None).reason == "2 tests fail"
    assert goal.used(START, 1, "1 test fails").reason == "1 test fails"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"rounds": 255}, None),
        ({"rounds": 256}, "round-limit"),
        ({"token_budget": 10, "tokens": 9}, None),
        ({"token_budget": 10, "tokens": 10}, "token-budget"),
        ({"token_budget": 10}, None),
        ({"tokens": 10**9}, None),
        ({"time_budget": 10, "active_ms": 8_999}, None),
        ({"time_budget": 10, "active_ms": 9_000}, "time-budget"),
        ({"active_ms": 10**12}, None),
    ],
)
def test_a_limit_is_reached_when_it_is_used_up_and_there_is_no_budget_by_default(
    fields: dict[str, int], code: str | None
) -> None:
    limit = a_goal(**fields).exceeded(START + 1000)
    assert (limit and limit[0]) == code
