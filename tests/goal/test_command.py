"""The grammar of ``/goal``: the objective arrives as it was typed, and only a command is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.proxy.goal.command import Command, is_control_word, parse


def text(value: object) -> dict[str, object]:
    """A text block."""
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("typed", "word", "objective"),
    [
        ("/goal Ship it", "set", "Ship it"),
        ("  /goal\tShip it", "set", "Ship it"),
        ("/goal first\nsecond\n\nthird", "set", "first\nsecond\n\nthird"),
        ("/goal\nfirst", "set", "first"),
        ("/goal clear the cache", "set", "clear the cache"),
        ("/goal - fix a\n- fix b --all", "set", "- fix a\n- fix b --all"),
        ("/goal $& {x} %s \\1", "set", "$& {x} %s \\1"),
        ("/goal edit X", "set", "edit X"),
        ("/goal pause", "pause", ""),
        ("/goal  RESUME \n", "resume", ""),
        ("/goal Clear", "clear", ""),
        ("/goal", "status", ""),
        ("/goal ", "status", ""),
        ("/goal status", "status", ""),
    ],
)
def test_what_is_typed_is_what_is_meant(typed: str, word: str, objective: str) -> None:
    assert parse([text(typed)]) == Command(word, objective, 0, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "typed", ["/goals x", "/goal:x", "/goalx", "/Goal x", "goal x", "x /goal y", "\u200b/goal x", ""]
)
def test_what_is_not_the_command_is_none(typed: str) -> None:
    assert parse([text(typed)]) is None


@pytest.mark.parametrize(
    "prompt", [None, 7, "/goal x", {}, [], [7], [None], [{"type": "text"}], [{"type": "image", "text": "/goal x"}]]
)
def test_content_of_an_odd_shape_is_no_command(prompt: object) -> None:
    assert parse(prompt) is None


def test_the_first_text_that_is_not_blank_decides() -> None:
    image = {"type": "image"}
    command = parse([text(" "), image, text("/goal X"), text(""), text("more")])
    assert command == Command("set", "X", 2, (1, 4))
    assert parse([text("hello"), text("/goal X")]) is None


@given(st.text().filter(lambda words: words.strip() and not is_control_word(words)))
def test_any_objective_comes_out_as_it_went_in(objective: str) -> None:
    command = parse([text(f"/goal {objective}")])
    assert command is not None
    assert command.word == "set"
    assert command.objective == objective.strip()
