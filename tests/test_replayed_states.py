"""What the proxy had published when the recorded client asked the agent for its goal, beside what the agent answered.

Claude and Qwen answer ``/goal``; DSH's model calls ``get_goal``. The proxy answers ``/goal`` itself, so these answers
are nobody's to see any more, and make an independent witness. Where the proxy has a source (Claude's log, its
``active_goal``, what Qwen and DSH tell), both must agree. Where it has none, it must not claim what nobody told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from goalproxy.proxy.core.logs import UNTOLD

from .replay import Json, Replay, Wire, at, decode, ident, replay, snapshots, wires
from .session_log import LOG_OF

_ANSWER = re.compile(r"Goal active: (.*) \((?:not yet evaluated|(\d+) turns?)\)(?:\nLast check: (.*))?", re.DOTALL)
_NO_GOAL = "No goal set"
_FRAMES = ("_inject", "_remote", "airmin_env", "_rawgoal_remote")
_CLEAR_WORDS = {"clear", "stop", "off", "reset", "none", "cancel"}

CLAUDE = [name for name in wires() if name.startswith("claude/0.")]
LOCAL = [Wire(name, local=True) for name in CLAUDE if name in LOG_OF]
FRAMES = [Wire(name) for name in CLAUDE if any(word in name for word in _FRAMES)]
REMOTE = [Wire(name) for name in CLAUDE if not any(word in name for word in _FRAMES)]
QWEN = [Wire(f"others/{name}") for name in ("qwen22-goal", "qwen22-goalctl", "qwen22-run")]
DSH = [Wire(f"others/{name}") for name in ("dsh15-goal", "dsh15-goal2")]


class Truth(NamedTuple):
    """What the agent answered: its goal, None if it has none; how many turns it counts, None if it does not say."""

    objective: str | None
    turns: int | None = None
    reason: str | None = None


class Question(NamedTuple):
    """A moment at which the client asked.

    ``truth`` is the agent's answer, ``state`` the last snapshot before it (``untold`` if there was none), ``loaded``
    says that the session is an old one: Claude counts anew then.
    """

    truth: Truth
    state: Json | None
    untold: bool
    loaded: bool


@cache
def replayed(wire: Wire) -> list[Replay]:
    return replay(wire)


# Claude


def _questions(wire: Wire) -> Iterator[Question]:
    """The questions of a recording to Claude that can be compared.

    A command that the proxy carries out otherwise than the recorded agent did (``/goal pause`` sets a goal "pause")
    makes the recording another story, until the next command that both take alike.
    """
    for run in replayed(wire):
        parted = loaded = False
        for place, line in enumerate(run.lines):
            if line.by != "client":
                continue
            message = decode(line.line)
            loaded = loaded or message.get("method") in ("session/load", "session/resume")
            argument = _argument(message)
            if argument == "":
                truth = _answer(run, place, ident(message))
                if truth is not None and not parted:
                    yield Question(truth, *_state(run, place), loaded)
            elif argument is not None:
                parted = _parts(run, message, argument)


def _argument(message: Json) -> str | None:
    """What stands after ``/goal`` in a message of the client, None if it is no command."""
    if message.get("method") == "_session/goal":
        action = at(message, "params", "action")
        return str(at(message, "params", "objective")) if action == "set" else str(action)
    prompt = at(message, "params", "prompt")
    text = prompt[0].get("text", "") if isinstance(prompt, list) and prompt else ""
    match = re.match(r"\s*/goal(?:\s+(.*))?$", text, re.DOTALL)
    return None if match is None else (match[1] or "").strip()


def _parts(run: Replay, message: Json, argument: str) -> bool:
    """Whether the proxy carries a command out otherwise than the recorded agent did."""
    prompt = at(message, "params", "prompt") or []
    kept = "id" in message and ident(message) in run.kept
    # Claude takes these for ordinary prompts, the proxy does not.
    other = len(prompt) > 1 or (prompt and prompt[0].get("text", "")[:1].isspace())
    return bool(other) or (kept and argument.lower() in ("pause", "resume", "status"))


def _answer(run: Replay, place: int, request: str) -> Truth | None:
    """What Claude answered to ``/goal``."""
    for line in run.lines[place:]:
        message = decode(line.line)
        text = at(message, "params", "update", "content", "text")
        if line.by == "agent" and isinstance(text, str):
            match = _ANSWER.fullmatch(text)
            if match is not None:
                return Truth(match[1], int(match[2] or 0), match[3])
            if text.startswith(_NO_GOAL):
                return Truth(None)
        if line.by == "agent" and "method" not in message and ident(message) == request:
            return None
    return None


def _state(run: Replay, place: int) -> tuple[Json | None, bool]:
    """The goal that the client knew of before a line of the recording, and whether it knew nothing."""
    state: list[Json | None] = [goal for got in run.client if got.after < place for _, goal in snapshots(got.message)]
    return (state[-1], False) if state else (None, True)


@pytest.mark.parametrize("wire", LOCAL + FRAMES, ids=Wire.label)
def test_published_goal_is_the_one_that_claude_answers_with(wire: Wire) -> None:
    for question in _told(wire):
        truth, goal = question.truth, question.state
        if truth.objective is None:
            assert goal is None or goal["status"] in ("complete", "blocked"), question
        else:
            assert goal is not None, question
            assert (goal["objective"], goal["status"]) == (truth.objective, "active"), question


@pytest.mark.parametrize("wire", LOCAL + FRAMES, ids=Wire.label)
def test_published_turns_and_reason_are_those_that_claude_answers_with(wire: Wire) -> None:
    for question in _told(wire):
        truth, goal = question.truth, question.state
        if truth.objective is not None and goal is not None and (truth.turns or not question.loaded):
            assert goal.get("iterations", 0) == truth.turns, question
            assert goal.get("lastReason") == truth.reason, question


def _told(wire: Wire) -> Iterator[Question]:
    """The questions before which the proxy was told; frames begin with the first prompt after a load."""
    return (question for question in _questions(wire) if wire.local or not question.untold)


@pytest.mark.parametrize("wire", REMOTE, ids=Wire.label)
def test_goal_without_a_source_is_the_last_one_that_was_set(wire: Wire) -> None:
    for question in _questions(wire):
        if question.state is None:
            assert question.untold or question.truth.objective is None, question
        else:
            assert question.truth.objective in (question.state["objective"], None), question


@pytest.mark.parametrize("wire", REMOTE, ids=Wire.label)
def test_goal_without_a_source_is_said_to_have_an_end_that_nobody_tells(wire: Wire) -> None:
    for goal in (question.state for question in _questions(wire)):
        if goal is not None:
            assert (goal["status"], goal.get("lastReason")) == ("active", UNTOLD)


@pytest.mark.parametrize("wire", REMOTE, ids=Wire.label)
def test_goal_without_a_source_has_no_counters(wire: Wire) -> None:
    for goal in (question.state for question in _questions(wire)):
        assert goal is None or not {"iterations", "tokensUsed", "timeUsedSeconds"} & goal.keys()


def test_recorded_questions_are_found() -> None:
    counts = {kind: sum(len(list(_questions(wire))) for wire in them) for kind, them in _KINDS.items()}
    assert counts["log"] > 30
    assert counts["frames"] > 20
    assert counts["remote"] > 40


_KINDS = {"log": LOCAL, "frames": FRAMES, "remote": REMOTE}


# Qwen and DSH


@pytest.mark.parametrize("wire", QWEN, ids=Wire.label)
def test_published_state_is_what_qwen_tells_whenever_the_client_acts(wire: Wire) -> None:
    seen = 0
    for run in replayed(wire):
        told: list[Json | None] = []
        opened = False
        for place, line in enumerate(run.lines):
            message = decode(line.line)
            opened = opened or isinstance(at(message, "result", "modes"), dict)
            if line.by == "agent":
                told += _goal_states(run, message) if opened else ()
            elif told:
                state, untold = _state(run, place)
                assert not untold
                seen += 1
                _same(state, told[-1])
    assert seen > 1


def _goal_states(run: Replay, message: Json) -> Iterator[Json | None]:
    """The goal that a message of Qwen tells, but for answers to what the proxy did not ask."""
    answers = "method" not in message and ident(message) in run.kept
    snapshot = at(message, "params", "update", "_meta", "goalState") or at(message, "result", "snapshot")
    if isinstance(snapshot, dict) and not answers:
        yield snapshot["goal"]


def _same(state: Json | None, goal: Json | None) -> None:
    if goal is None:
        assert state is None
        return
    assert state is not None
    assert state["objective"] == goal["objective"]
    assert state["status"] == goal["status"]
    assert state["iterations"] == goal["turnCount"]
    assert state["tokensUsed"] <= goal["tokensUsed"]
    assert state.get("lastReason") == (" ".join(goal["lastReason"].split())[:500] if goal.get("lastReason") else None)


@pytest.mark.parametrize("wire", DSH, ids=Wire.label)
def test_published_state_is_what_the_model_of_dsh_is_told(wire: Wire) -> None:
    told = 0
    for run in replayed(wire):
        for place, goal, armed in _tool_results(run):
            state, untold = _state(run, place + 1)
            assert not untold
            told += 1
            _is_told(state, goal, armed=armed)
    assert told > 3


def _tool_results(run: Replay) -> Iterator[tuple[int, Any, bool]]:
    """What DSH's model is told of its goal: the JSON text that its tools answer."""
    for place, line in enumerate(run.lines):
        update = at(decode(line.line), "params", "update")
        if at(update, "sessionUpdate") == "tool_call_update" and at(update, "status") == "completed":
            text = update["content"][0]["content"]["text"] if update.get("content") else ""
            result = json.loads(text) if text.startswith('{"goal"') else {}
            if result:
                yield place, result["goal"], result.get("activation") == "armed"


def _is_told(state: Json | None, goal: Json | None, *, armed: bool) -> None:
    if goal is None:
        assert state is None
        return
    assert state is not None
    assert state["objective"] == goal["objective"]
    assert state["iterations"] == goal["roundsStarted"]
    assert state["status"] == ("paused" if goal["phase"] == "active" and not armed else goal["phase"])
