"""DSH behind the proxy: its model's goals, seen in what its goal tools answer, and no control that would not be true.

Its rounds run outside any prompt and are not marked. Turns of the model are held by default.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from .agents import Agent
from .behaviours import COMMANDS, CONTROLS, Behaviour, Family
from .checks import METHOD_NOT_FOUND, ended, refused
from .fake_model import HELD, Found, Turn, say, use
from .scene import OBJECTIVE, Scene
from .view import plain_view

pytestmark = pytest.mark.family(Family.DSH)
covers = pytest.mark.covers
absent = pytest.mark.absent
ASK: Final = use("get_goal")
LOOKS: Final = 20
"""Looks of the model at its goal within which DSH has done what it does after a turn."""


def make(**more: Any) -> Turn:
    """Return a turn in which the model makes a goal."""
    return use("create_goal", objective=OBJECTIVE, **more)


def update(action: str, **more: Any) -> Turn:
    """Return a turn in which the model changes the goal that it has just looked at."""
    return use(
        "update_goal", goal_id=Found(("goal", "id")), revision=Found(("goal", "revision")), action=action, **more
    )


def with_goal(scene: Scene, *turns: Turn, **more: Any) -> None:
    """Let the model make a goal in a prompt that ends; the turns are those of its rounds, from turn 3 on."""
    scene.open(make(**more), say("made"), *turns)
    ended(scene.prompt("make this a goal").reply())
    scene.expect("active")


@covers(Behaviour.CAPABILITY)
def test_a_plain_client_is_told_that_there_is_no_control(scene: Scene) -> None:
    """Goals are shown, actions are not offered."""
    result = scene.initialize()
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": []}
    assert result["_meta"]["goal"] == capability
    assert result["agentCapabilities"]["_meta"]["goal"] == capability
    assert result["protocolVersion"] == 1


@covers(Behaviour.TRANSPARENT, Behaviour.NEW_SESSION)
def test_an_ordinary_prompt_with_a_tool_arrives_as_without_the_proxy(
    scene: Scene, agent: Agent, tmp_path: Path
) -> None:
    """And a session without a goal is said to have none, once."""
    bare = Scene(agent, tmp_path / "bare", proxy=False)
    try:
        for each in (bare, scene):
            each.open(ASK, say("looked"))
            ended(each.prompt("look").reply())
    finally:
        bare.close()
    assert plain_view(scene) == plain_view(bare)
    assert len(scene.snapshots()) == 1


@covers(Behaviour.MODEL_GOAL, Behaviour.COMPLETE)
def test_a_goal_that_the_model_makes_is_seen_until_it_is_complete(scene: Scene) -> None:
    """The rounds come after the prompt has ended, and the last words after the goal is complete."""
    with_goal(scene, say("round one"), ASK, update("complete"), say("all shipped"))
    active = scene.snapshots()[-1]
    assert active.goal["objective"] == OBJECTIVE
    complete = scene.expect("complete")
    assert complete.created == scene.snapshots()[1].created
    assert complete.goal["iterations"] == 2
    assert scene.history() == [None, "active", "complete"]
    scene.wait_update("the last words", lambda seen: "all shipped" in str(seen.get("content")), complete.index)


@covers(Behaviour.BLOCKED)
def test_a_blocked_goal_shows_why(scene: Scene) -> None:
    """Its model may say so in the third round at the earliest."""
    with_goal(scene, say("one"), say("two"), ASK, update("blocked", blocked_reason="waiting for access"), say("stuck"))
    blocked = scene.expect("blocked").goal
    assert (blocked["iterations"], blocked["lastReason"]) == (3, "waiting for access")
    assert scene.history() == [None, "active", "blocked"]


@absent(Behaviour.ROUND_LIMIT)
def test_a_goal_that_has_used_up_its_rounds_is_blocked_at_its_models_next_look(scene: Scene) -> None:
    """Until then nothing is claimed: DSH says nothing."""
    with_goal(scene, say("only round"), say("hi"), max_goal_rounds=1)
    scene.model.asked(3)
    ended(scene.prompt("hello").reply())
    assert scene.history() == [None, "active"]
    for _ in range(LOOKS):  # It stops the goal soon after the turn, and tells nobody.
        scene.model.script(ASK, say("looked"))
        ended(scene.prompt("how is it going").reply())
        if scene.history()[-1] == "blocked":
            break
    blocked = scene.expect("blocked").goal
    assert "limit" in blocked["lastReason"]
    assert scene.history() == [None, "active", "blocked"]


@absent(*CONTROLS, Behaviour.BAD_INPUT)
def test_every_control_request_is_refused_with_a_sentence_that_says_why(scene: Scene) -> None:
    """With a goal as without one; none of them reaches the agent."""
    with_goal(scene)
    for method in ("_session/goal", "_codex/session/goal_control", "_session/goal_control"):
        for action in ("set", "pause", "resume", "clear"):
            refused(scene.control(action, method, objective=OBJECTIVE), "DSH", "ACP")
    refused(scene.control("nope"))
    unknown = scene.client.call("_session/goal/nope", {"sessionId": scene.session})
    assert unknown.error is not None
    assert unknown.error["code"] == METHOD_NOT_FOUND
    assert scene.history() == [None, "active"]


@absent(*COMMANDS)
def test_the_command_goes_to_the_model_and_no_goal_is_claimed(scene: Scene) -> None:
    """It is text like any other here, and its model may make a goal of it or not."""
    commands = (f"/goal {OBJECTIVE}", "/goal", "/goal status", "/goal pause", "/goal resume", "/goal clear")
    scene.open(*(say("I do not know that") for _ in commands))
    for number, command in enumerate(commands, 1):
        ended(scene.prompt(command).reply())
        assert command in scene.model.asked(number).message["about"]
    assert scene.history() == [None]


@absent(Behaviour.CANCEL)
def test_cancel_stops_the_round_and_does_not_claim_a_pause(scene: Scene) -> None:
    """DSH pauses or disarms the goal, and says so at its model's next look."""
    with_goal(scene)
    scene.model.asked(3)
    scene.cancel()
    scene.model.script(ASK, say("looked"))
    ended(scene.prompt("how is it going").reply())
    assert scene.expect("paused").goal["objective"] == OBJECTIVE
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.PROMPT)
def test_a_prompt_during_a_round_is_answered(scene: Scene) -> None:
    """After the round; its answer is there at once, and DSH calls the prompt ended when the next round is over."""
    with_goal(scene)
    scene.model.asked(3)
    call = scene.prompt("also do this")
    turn = scene.model.release_until("also do this", 3)
    for number in (turn, turn + 1):
        scene.model.asked(number)
        scene.model.release(number)
    ended(call.reply())
    scene.model.asked(turn + 2)
    assert scene.history() == [None, "active"]


@absent(Behaviour.LOAD, Behaviour.RESUMED)
def test_an_unknown_state_is_not_claimed_after_a_restart(scene: Scene) -> None:
    """The goal is active and not armed then, which its model's next look tells: it does no work."""
    with_goal(scene)
    scene.model.asked(3)
    scene.reopen("session/resume")
    refused(scene.control("pause"), "DSH")
    assert scene.history() == [None, "active"]
    scene.model.script(ASK, say("looked"))
    ended(scene.prompt("how is it going").reply())
    paused = scene.expect("paused").goal
    assert "not armed" in paused["lastReason"]
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.MODEL_GOAL)
def test_a_goal_is_active_again_when_its_model_has_resumed_it(scene: Scene) -> None:
    """After a restart, in a prompt of the user's."""
    with_goal(scene)
    scene.model.asked(3)
    scene.reopen("session/resume")
    scene.model.script(ASK, update("resume"), say("on it"), HELD)
    ended(scene.prompt("go on").reply())
    scene.expect("paused")
    scene.expect("active")
    scene.model.asked(7)
    assert scene.history() == [None, "active", "paused", "active"]
