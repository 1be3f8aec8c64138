"""The central behaviours on protocol 2 of ACP, where a prompt answers at once and turns end with a state update."""

import pytest

from .agents import Agent
from .behaviours import Behaviour, Family
from .checks import done, refused, work
from .fake_model import say, use
from .scene import OBJECTIVE, Scene
from .traffic import Entry

pytestmark = pytest.mark.family(Family.CODEX)
covers = pytest.mark.covers


def state_is(scene: Scene, state: str, after: int) -> Entry:
    """Wait until the session is said to be running or idle."""
    return scene.wait_update(f"the state {state}", lambda update: update.get("state") == state, after)


@covers(Behaviour.V2_CAPABILITY)
def test_a_plain_client_is_told_of_goals_in_both_places(scene_v2: Scene, agent: Agent) -> None:
    """The second place has another name here."""
    result = scene_v2.initialize()
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": agent.actions}
    assert result["protocolVersion"] == 2
    assert result["_meta"]["goal"] == capability
    assert result["capabilities"]["_meta"]["goal"] == capability


@covers(Behaviour.V2_COMMAND)
def test_the_command_sets_a_goal_that_outlives_its_turn(scene_v2: Scene) -> None:
    """The prompt answers before there is a goal."""
    scene_v2.open()
    reply = scene_v2.prompt(f"/goal {OBJECTIVE}").reply()
    assert reply.result is not None
    assert reply.result["messageId"]
    assert scene_v2.expect("active").goal["objective"] == OBJECTIVE
    scene_v2.model.asked(1)
    released = len(scene_v2.traffic.entries) - 1
    scene_v2.model.release(1)
    idle = state_is(scene_v2, "idle", released)
    assert idle.message["params"]["update"]["stopReason"] == "end_turn"
    scene_v2.model.asked(2)
    assert scene_v2.history() == [None, "active"]


@covers(Behaviour.V2_SET)
def test_set_starts_work_and_answers_while_it_runs(scene_v2: Scene) -> None:
    """As on protocol 1."""
    scene_v2.open()
    reply = scene_v2.control("set", objective=OBJECTIVE)
    done(reply)
    active = scene_v2.expect("active")
    assert active.index < reply.index
    scene_v2.model.asked(1)
    refused(scene_v2.control("set", objective=" "), "objective")
    assert scene_v2.history() == [None, "active"]


@covers(Behaviour.V2_PAUSE)
def test_pause_and_resume_answer_while_a_turn_runs(scene_v2: Scene) -> None:
    """As on protocol 1."""
    scene_v2.open()
    goal = work(scene_v2)
    for action, status, turn in (("pause", "paused", 1), ("resume", "active", 2)):
        reply = scene_v2.control(action)
        done(reply)
        snapshot = scene_v2.expect(status)
        assert snapshot.index < reply.index
        assert snapshot.goal["createdAt"] == goal["createdAt"]
        scene_v2.model.asked(turn)
        if action == "pause":
            scene_v2.release(turn)
    assert scene_v2.history() == [None, "active", "paused", "active"]


@covers(Behaviour.V2_CLEAR)
def test_clear_ends_the_goal_at_once(scene_v2: Scene) -> None:
    """A second clear is no error."""
    scene_v2.open()
    work(scene_v2)
    reply = scene_v2.control("clear")
    done(reply)
    assert scene_v2.expect(None).index < reply.index
    done(scene_v2.control("clear"))
    assert scene_v2.history() == [None, "active", None]


@covers(Behaviour.V2_COMPLETE)
def test_the_model_completes_the_goal(scene_v2: Scene) -> None:
    """It does so in a turn that no prompt has started."""
    scene_v2.open(say("started", (1000, 50)), use("update_goal", status="complete"), say("all shipped"))
    done(scene_v2.control("set", objective=OBJECTIVE))
    complete = scene_v2.expect("complete")
    assert complete.goal["tokensUsed"] > 0
    state_is(scene_v2, "idle", complete.index)
    refused(scene_v2.control("resume"))
    assert scene_v2.history() == [None, "active", "complete"]


@covers(Behaviour.V2_RESUME)
def test_a_paused_goal_is_shown_after_session_resume(scene_v2: Scene) -> None:
    """The agent resets the whole `_meta` of the session after it has sent the goal, so it has to be said again."""
    scene_v2.open()
    work(scene_v2)
    done(scene_v2.control("pause"))
    scene_v2.release(1)
    scene_v2.expect("paused")
    reply = scene_v2.reopen("session/resume")
    paused = scene_v2.expect("paused")
    assert paused.index > reply.index
    done(scene_v2.control("resume"))
    scene_v2.model.asked(2)
    assert scene_v2.session_meta()["goal"]["status"] == "active"
