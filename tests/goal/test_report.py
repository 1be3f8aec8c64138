"""What agents say about goals is read in every dialect, and never believed beyond what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from goalproxy.proxy.goal.report import Report, Unreadable, read_report

GOAL = {"objective": "X", "status": "active"}


def read(**fields: object) -> Report:
    """The report in a goal object."""
    report = read_report({**GOAL, **fields})
    assert report is not None
    return report


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("active", "active"),
        ("paused", "paused"),
        ("blocked", "blocked"),
        ("usageLimited", "limited"),
        ("usage_limited", "limited"),
        ("usage limited", "limited"),
        ("budgetLimited", "limited"),
        ("budget_limited", "limited"),
        ("limited", "limited"),
        ("complete", "complete"),
        ("completed", "complete"),
        ("done", "complete"),
        ("COMPLETE", "complete"),
    ],
)
def test_every_word_for_a_status_is_known(word: str, status: str) -> None:
    assert read(status=word).status == status
    assert read(status=word).status_known


@pytest.mark.parametrize("word", ["pondering", "", None, 7, True, []])
def test_an_unknown_status_never_drives_work(word: object) -> None:
    assert read(status=word).status == "paused"
    assert not read(status=word).status_known


@pytest.mark.parametrize(
    "value", [None, {**GOAL, "status": "cleared"}, {**GOAL, "status": "cancelled"}, {"status": "cleared"}]
)
def test_no_goal_is_no_goal(value: object) -> None:
    assert read_report(value) is None


@pytest.mark.parametrize("value", [7, "x", [], True, {}, {"objective": None}, {"objective": "\n"}])
def test_what_is_no_goal_says_nothing(value: object) -> None:
    with pytest.raises(Unreadable):
        read_report(value)


@pytest.mark.parametrize(
    ("said", "milliseconds"),
    [
        (1795994979, 1795994979000),
        (1795994979.25, 1795994979250),
        (1795994979000, 1795994979000),
        (1795994979000.0, 1795994979000),
        (0, None),
        (-1, None),
        ("1795994979", None),
        (True, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_times_are_read_as_milliseconds_whether_they_come_as_those_or_as_seconds(
    said: object, milliseconds: int
) -> None:
    assert read(createdAt=said).created_at == milliseconds
    assert read(updatedAt=said).updated_at == milliseconds


@pytest.mark.parametrize(
    ("said", "count"),
    [
        (0, 0),
        (3, 3),
        (3.0, 3),
        (3.5, None),
        (-1, None),
        (True, None),
        ("3", None),
        (None, None),
        (10**400, None),
        (1e300, None),
    ],
)
def test_counters_are_non_negative_integers_or_unknown(said: object, count: int | None) -> None:
    report = read(iterations=said, tokensUsed=said, timeUsedSeconds=said)
    assert (report.iterations, report.tokens_used, report.time_used_seconds) == (count, count, count)


@pytest.mark.parametrize(("said", "budget"), [(None, None), (9, 9), (0, UNSET), (-1, UNSET), ("9", UNSET)])
def test_no_budget_and_an_unknown_budget_are_two_things(said: object, budget: object) -> None:
    assert read(tokenBudget=said).token_budget == budget
    assert read().token_budget is UNSET


def test_a_reason_is_one_bounded_line() -> None:
    assert read(lastReason=" two\n tests\tfail ").last_reason == "two tests fail"
    assert len(read(lastReason="x" * 9999).last_reason or "") == 500
    assert read(lastReason="\n").last_reason is None
    assert read(lastReason=7).last_reason is None


@pytest.mark.parametrize(
    ("fields", "spent"),
    [
        ({"status": "budgetLimited"}, True),
        ({"status": "limited", "tokenBudget": 5, "tokensUsed": 5}, True),
        ({"status": "limited", "tokenBudget": 5, "tokensUsed": 4}, False),
        ({"status": "limited", "tokenBudget": None, "tokensUsed": 4}, False),
        ({"status": "usageLimited"}, False),
        ({"status": "active", "tokenBudget": 5, "tokensUsed": 9}, False),
    ],
)
def test_a_limit_of_the_goals_own_budget_is_told_from_the_accounts(fields: dict[str, object], *, spent: bool) -> None:
    assert read(**fields).budget_spent == spent


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
)
_fields = [
    "objective",
    "status",
    "createdAt",
    "updatedAt",
    "tokenBudget",
    "tokensUsed",
    "timeUsedSeconds",
    "iterations",
    "lastReason",
]


@given(_json | st.dictionaries(st.sampled_from(_fields), _json))
def test_any_value_is_read_or_refused(value: object) -> None:
    try:
        report = read_report(value)
    except Unreadable:
        return
    if report is not None:
        assert report.objective.strip()
        assert min(report.created_at or 0, report.tokens_used or 0, report.iterations or 0) >= 0
