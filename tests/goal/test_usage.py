"""How many tokens a prompt used: what an agent says, and nothing that it does not say."""

from typing import Any

import pytest

from goalproxy.proxy.goal.usage import UsageMeter


def gemini(**counted: object) -> dict[str, Any]:
    """A result as Gemini words it."""
    return {"_meta": {"quota": {"token_count": counted}}}


@pytest.mark.parametrize(
    ("result", "tokens"),
    [
        ({"usage": {"totalTokens": 12, "inputTokens": 1, "outputTokens": 2}}, 12),
        ({"usage": {"totalTokens": 0}}, 0),
        ({"usage": {"inputTokens": 5, "outputTokens": 2, "cachedReadTokens": 900}}, 7),
        ({"usage": {"outputTokens": 2}}, 2),
        ({"usage": {"inputTokens": 0, "outputTokens": 0}}, 0),
        ({"usage": {}}, None),
        ({"usage": {"totalTokens": -1}}, None),
        ({"usage": {"totalTokens": True}}, None),
        ({"usage": {"totalTokens": "12"}}, None),
        ({"usage": None}, None),
        (gemini(input_tokens=5, output_tokens=2), 7),
        (gemini(input_tokens=5), 5),
        (gemini(), None),
        ({"_meta": {"quota": 5}}, None),
        ({"_meta": None}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_what_the_agent_says_is_read_and_nothing_is_made_up(result: Any, tokens: int | None) -> None:
    assert UsageMeter(cumulative=False, is_new=False).read(result) == tokens


def test_the_sum_of_a_session_counts_as_far_as_it_has_grown() -> None:
    meter = UsageMeter(cumulative=True, is_new=True)
    assert [meter.read({"usage": {"totalTokens": total}}) for total in (100, 150, 150)] == [100, 50, 0]


def test_a_sum_that_has_fallen_is_where_counting_begins() -> None:
    meter = UsageMeter(cumulative=True, is_new=True)
    assert [meter.read({"usage": {"totalTokens": total}}) for total in (100, 30, 40)] == [100, None, 10]


def test_kinds_are_told_apart_as_far_as_the_agent_tells_them() -> None:
    usage = {"totalTokens": 9, "inputTokens": 5, "cachedReadTokens": 4, "cachedWriteTokens": None, "outputTokens": -1}
    assert UsageMeter(cumulative=False, is_new=True).split({"usage": usage}) == {"input": 5, "cached_read": 4}
    quota = gemini(input_tokens=5, output_tokens=2)
    assert UsageMeter(cumulative=False, is_new=True).split(quota) == {"input": 5, "output": 2}
    for result in ({}, None, {"usage": 7}, gemini(total=5)):
        assert UsageMeter(cumulative=False, is_new=True).split(result) == {}


def test_kinds_of_a_sum_count_as_far_as_they_have_grown_also_over_prompts_that_nobody_counts() -> None:
    meter = UsageMeter(cumulative=True, is_new=True)
    meter.pass_over({"usage": {"totalTokens": 30, "inputTokens": 20, "outputTokens": 10}})
    after = {"usage": {"totalTokens": 75, "inputTokens": 50, "outputTokens": 25}}
    assert (meter.read(after), meter.split(after)) == (45, {"input": 30, "output": 15})


def test_a_prompt_that_says_nothing_does_not_disturb_the_sum() -> None:
    meter = UsageMeter(cumulative=True, is_new=True)
    assert [
        meter.read(result) for result in ({"usage": {"totalTokens": 100}}, {}, {"usage": {"totalTokens": 120}})
    ] == [
        100,
        None,
        20,
    ]


def test_the_first_sum_of_a_session_that_was_there_before_is_where_counting_begins() -> None:
    meter = UsageMeter(cumulative=True, is_new=False)
    results = [{}, *({"usage": {"totalTokens": total}} for total in (5000, 5040))]
    assert [meter.read(result) for result in results] == [None, None, 40]
