"""The model's tools: what it is taught can be checked against a schema, and a call means one thing or is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.proxy.goal.owned import Refused
from goalproxy.proxy.goal.tools import (
    ACTIONS,
    INSTRUCTIONS,
    NAMES,
    TOOLS,
    Call,
    CreateGoal,
    GetGoal,
    UpdateGoal,
    read_call,
)

_SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in TOOLS}


def update(action: str, **fields: object) -> dict[str, object]:
    """The arguments of an update of the goal g at revision 3."""
    return {"goal_id": "g", "revision": 3, "action": action, **fields}


def code_of(name: str, arguments: object) -> str | None:
    """Why a call is refused; None if it is read."""
    try:
        assert isinstance(read_call(name, arguments), GetGoal | CreateGoal | UpdateGoal)
    except Refused as refused:
        return refused.code
    return None


@pytest.mark.parametrize(
    ("name", "arguments", "call"),
    [
        ("get_goal", {}, GetGoal()),
        ("get_goal", None, GetGoal()),
        ("get_goal", {"goal_id": ""}, GetGoal()),
        ("create_goal", {"objective": " Ship it\nnow "}, CreateGoal("Ship it\nnow")),
        ("create_goal", {"objective": "Ship it", "max_goal_rounds": 5}, CreateGoal("Ship it", 5)),
        ("create_goal", {"objective": "Ship it", "max_goal_rounds": 5.0, "other": 1}, CreateGoal("Ship it", 5)),
        ("create_goal", {"objective": "Ship it", "max_goal_rounds": 0}, CreateGoal("Ship it")),
        ("create_goal", {"objective": "$& {x} %s </objective>"}, CreateGoal("$& {x} %s </objective>")),
        ("update_goal", update("pause"), UpdateGoal("g", 3, "pause")),
        ("update_goal", update("resume"), UpdateGoal("g", 3, "resume")),
        ("update_goal", update("complete"), UpdateGoal("g", 3, "complete")),
        ("update_goal", update("complete", reason="a\n b"), UpdateGoal("g", 3, "complete", reason="a b")),
        ("update_goal", update("blocked", reason="x" * 600), UpdateGoal("g", 3, "blocked", reason="x" * 500)),
        ("update_goal", update("blocked", blocked_reason="x"), UpdateGoal("g", 3, "blocked", reason="x")),
        ("update_goal", update("blocked", reason="", blocked_reason="x"), UpdateGoal("g", 3, "blocked", reason="x")),
        ("update_goal", update("blocked", reason="y", blocked_reason="x"), UpdateGoal("g", 3, "blocked", reason="y")),
        ("update_goal", update("edit", objective="New"), UpdateGoal("g", 3, "edit", "New")),
        ("update_goal", update("edit", max_goal_rounds=9), UpdateGoal("g", 3, "edit", None, 9)),
        ("update_goal", update("edit", objective="New", max_goal_rounds=9), UpdateGoal("g", 3, "edit", "New", 9)),
    ],
)
def test_a_call_is_read(name: str, arguments: object, call: Call) -> None:
    assert read_call(name, arguments) == call


@pytest.mark.parametrize("filler", ["", " ", 0, None])
@pytest.mark.parametrize("action", ["pause", "resume", "complete", "blocked"])
def test_optional_fields_that_are_only_filled_in_count_as_left_out(action: str, filler: object) -> None:
    fillers = {"objective": filler, "max_goal_rounds": filler, "reason": filler, "blocked_reason": filler}
    assert read_call("update_goal", update(action, **fillers)) == UpdateGoal("g", 3, action)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "sentence"),
    [
        (
            "clear_goal",
            {},
            "unknown-tool",
            "There is no tool clear_goal; there are get_goal, create_goal, update_goal.",
        ),
        ("", {}, "unknown-tool", "There is no tool without a name; there are get_goal, create_goal, update_goal."),
        ("get_goal", [], "invalid-arguments", "The arguments must be an object."),
        ("create_goal", None, "invalid-arguments", "A goal needs an objective that is not blank."),
        ("create_goal", {"objective": " \n"}, "invalid-arguments", "A goal needs an objective that is not blank."),
        ("create_goal", {"objective": ["x"]}, "invalid-arguments", "The field objective must be a string."),
        (
            "create_goal",
            {"objective": "x", "max_goal_rounds": -1},
            "invalid-arguments",
            "The field max_goal_rounds must be a positive integer, or left out.",
        ),
        (
            "create_goal",
            {"objective": "x", "max_goal_rounds": 2**53},
            "invalid-arguments",
            "The field max_goal_rounds must be a positive integer, or left out.",
        ),
        (
            "update_goal",
            {"revision": 3, "action": "pause"},
            "invalid-arguments",
            "An update needs the goal_id, copied from get_goal.",
        ),
        (
            "update_goal",
            {"goal_id": "g", "revision": 0, "action": "pause"},
            "invalid-arguments",
            "An update needs the revision, a positive integer copied from get_goal.",
        ),
        (
            "update_goal",
            {"goal_id": "g", "revision": True, "action": "pause"},
            "invalid-arguments",
            "An update needs the revision, a positive integer copied from get_goal.",
        ),
        (
            "update_goal",
            update("clear"),
            "invalid-arguments",
            "The action must be one of edit, pause, resume, complete, blocked.",
        ),
        (
            "update_goal",
            {"goal_id": "g", "revision": 3, "action": ["edit"]},
            "invalid-arguments",
            "The action must be one of edit, pause, resume, complete, blocked.",
        ),
        (
            "update_goal",
            update("edit", objective=" ", max_goal_rounds=0),
            "invalid-arguments",
            "An edit needs an objective or max_goal_rounds.",
        ),
        (
            "update_goal",
            update("complete", objective="x"),
            "invalid-arguments",
            "The fields objective and max_goal_rounds are for edit only; leave them out to complete.",
        ),
        (
            "update_goal",
            update("resume", max_goal_rounds=9),
            "invalid-arguments",
            "The fields objective and max_goal_rounds are for edit only; leave them out to resume.",
        ),
        (
            "update_goal",
            update("blocked", objective="x", reason="y"),
            "invalid-arguments",
            "The fields objective and max_goal_rounds are for edit only; leave them out to report blocked.",
        ),
        (
            "update_goal",
            update("pause", blocked_reason="x"),
            "invalid-arguments",
            "A reason is for complete and blocked only; leave it out to pause.",
        ),
        ("update_goal", update("blocked", reason={"x": 1}), "invalid-arguments", "The field reason must be a string."),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, arguments: object, code: str, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        read_call(name, arguments)
    assert (refused.value.code, str(refused.value)) == (code, sentence)


def test_the_name_of_an_unknown_tool_is_told_in_one_bounded_line() -> None:
    with pytest.raises(Refused) as refused:
        read_call("x\n" * 10_000, {})
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
_FIELDS = ("objective", "max_goal_rounds", "goal_id", "revision", "action", "reason", "blocked_reason")


@given(
    st.sampled_from(NAMES),
    st.fixed_dictionaries({}, optional={key: _JSON | st.sampled_from(ACTIONS) for key in _FIELDS}) | _JSON,
)
def test_any_arguments_are_read_or_refused(name: str, arguments: object) -> None:
    assert code_of(name, arguments) in (None, "invalid-arguments")


def test_the_tools_are_described_with_schemas() -> None:
    assert tuple(_SCHEMAS) == NAMES
    assert _SCHEMAS["get_goal"]["properties"] == {}
    assert _SCHEMAS["create_goal"]["required"] == ["objective"]
    assert _SCHEMAS["update_goal"]["required"] == ["goal_id", "revision", "action"]
    assert _SCHEMAS["update_goal"]["properties"]["action"]["enum"] == list(ACTIONS)
    assert json.loads(json.dumps(TOOLS)) == TOOLS


@pytest.mark.parametrize("schema", [pytest.param(schema, id=name) for name, schema in _SCHEMAS.items()])
def test_a_schema_lets_fillers_through(schema: dict[str, Any]) -> None:
    for name, field in schema["properties"].items():
        assert field["description"]
        if name not in schema["required"]:
            assert not {"minLength", "enum", "exclusiveMinimum", "pattern"} & set(field)
            assert field.get("minimum", 0) == 0
    assert "additionalProperties" not in schema


def test_no_tool_has_a_title_which_would_hide_its_name() -> None:
    assert not any("title" in tool or "title" in tool["annotations"] for tool in TOOLS)


def test_the_model_is_taught_the_rules() -> None:
    told = " ".join([INSTRUCTIONS, *(tool["description"] for tool in TOOLS)])
    for rule in (
        "copy its id and revision",
        "Call get_goal first",
        "a stale revision is refused",
        "you have checked it",
        "Difficulty and uncertainty are not blocked",
    ):
        assert rule in told
