"""Qwen Code behind the proxy: a goal domain of its own, translated both ways.

Its goal runs in turns of its own, outside any prompt; its model proposes that the goal is complete or blocked, and a
second model, the verifier, decides. Turns of the model are held by default, and the verifier accepts.
"""

from pathlib import Path
from typing import Final

import pytest

from .agents import Agent
from .behaviours import Behaviour, Family
from .checks import METHOD_NOT_FOUND, done, ended, refused, work
from .fake_chat import verdict
from .fake_model import HELD, REFUSED, say, use
from .scene import OBJECTIVE, Scene
from .view import plain_view

pytestmark = pytest.mark.family(Family.QWEN)
covers = pytest.mark.covers
CONTROL: Final = "qwen/control/session/goal/control"
COMPLETE: Final = use("update_goal", status="complete", reason="all tests pass")
BLOCKED: Final = use("update_goal", status="blocked", reason="no access", blockerKind="external")


def turn_ended(scene: Scene, after: int) -> None:
    """Wait until a turn that the goal runs by itself has ended, later than index `after`."""
    scene.traffic.wait(
        "the end of a turn of the goal", lambda entry: entry.message.get("method") == "_qwencode/end_turn", after
    )


@covers(Behaviour.CAPABILITY)
def test_a_plain_client_is_told_of_goals_in_both_places(scene: Scene, agent: Agent) -> None:
    """The agent itself has no capability for them."""
    result = scene.initialize()
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": agent.actions}
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
            each.open(use("list_directory", path=str(each.cwd)), say("listed"))
            each.wait_update("the list of commands", lambda update: "availableCommands" in update, after=0)
            ended(each.prompt("list it").reply())
    finally:
        bare.close()
    assert plain_view(scene) == plain_view(bare)
    assert len(scene.snapshots()) == 1


@covers(Behaviour.COMMAND, Behaviour.COMPLETE)
def test_the_command_works_until_the_verifier_accepts(scene: Scene) -> None:
    """The prompt ends at once, the goal works on by itself."""
    scene.open(say("step", (100, 10)), COMPLETE, say("bye"))
    scene.model.judge(verdict("accept", "it is so"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    active = scene.expect("active")
    assert active.goal["objective"] == OBJECTIVE
    complete = scene.expect("complete").goal
    assert complete["createdAt"] == active.created
    assert complete["iterations"] >= 1
    assert complete["tokensUsed"] >= 110
    assert complete["timeUsedSeconds"] >= 0
    assert scene.history() == [None, "active", "complete"]
    assert scene.model.verdicts == 1


@covers(Behaviour.COMPLETE, Behaviour.SET)
def test_a_complete_goal_can_only_be_replaced_or_cleared(scene: Scene) -> None:
    """The next goal is a new one, with counters at zero, though its words be the same."""
    scene.open(COMPLETE)
    done(scene.control("set", objective=OBJECTIVE))
    complete = scene.expect("complete")
    refused(scene.control("pause"))
    refused(scene.control("resume"))
    done(scene.control("set", objective=OBJECTIVE))
    active = scene.expect("active", new=complete.goal)
    assert active.goal["createdAt"] > complete.goal["createdAt"]
    assert active.goal.get("iterations", 0) == 0
    assert active.goal.get("tokensUsed", 0) == 0
    done(scene.control("clear"))
    scene.expect(None)


@covers(Behaviour.REJECTED)
def test_a_rejected_completion_leaves_the_goal_active(scene: Scene) -> None:
    """The next turn is for the same goal."""
    scene.open(COMPLETE)
    scene.model.judge(verdict("reject", "two tests fail"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    active = scene.expect("active")
    scene.model.judged(1)
    scene.model.asked(2)
    assert scene.history() == [None, "active"]
    assert {snapshot.created for snapshot in scene.snapshots()} == {None, active.created}


@covers(Behaviour.BLOCKED)
def test_a_blocked_goal_can_be_resumed(scene: Scene) -> None:
    """The reason is the verifier's."""
    scene.open(BLOCKED)
    scene.model.judge(verdict("accept", "there is no access"))
    done(scene.control("set", objective=OBJECTIVE))
    blocked = scene.expect("blocked").goal
    assert blocked["lastReason"] == "there is no access"
    turns = scene.model.turns
    done(scene.control("resume"))
    assert scene.expect("active").created == blocked["createdAt"]
    scene.model.asked(turns + 1)
    assert scene.history() == [None, "active", "blocked", "active"]


@covers(Behaviour.REPORT)
def test_reports_need_no_model(scene: Scene) -> None:
    """Without a goal and while one is at work, whose turn they do not disturb."""
    scene.open()
    for command in ("/goal", "/goal status"):
        ended(scene.prompt(command).reply())
    assert scene.text().strip()
    assert scene.model.turns == 0
    work(scene)
    for command in ("/goal", "/goal status"):
        said = len(scene.text())
        ended(scene.prompt(command).reply())
        assert OBJECTIVE in scene.text()[said:]
    assert scene.model.turns == 1
    assert scene.history() == [None, "active"]


@covers(Behaviour.WORDS, Behaviour.OWN_WORDS)
def test_the_words_of_the_command_control_the_goal_while_it_works(scene: Scene) -> None:
    """Qwen knows them all, and has more words for clear."""
    scene.open()
    ended(scene.prompt(f"/goal set {OBJECTIVE}").reply())
    goal = scene.expect("active").goal
    assert goal["objective"] == OBJECTIVE
    for turn, word, status in ((1, "PAUSE", "paused"), (1, "resume", "active"), (2, "stop", None)):
        scene.model.asked(turn)
        ended(scene.prompt(f"/goal {word}").reply())
        assert scene.expect(status).created in (None, goal["createdAt"])
    assert scene.history() == [None, "active", "paused", "active", None]


@covers(Behaviour.SET)
def test_set_starts_work_and_answers_while_it_runs(scene: Scene) -> None:
    """The snapshot comes first."""
    scene.open()
    reply = scene.control("set", objective="  Ship it  \nnow ", _meta={"a": 1}, colour="red")
    done(reply)
    active = scene.expect("active")
    assert active.index < reply.index
    assert active.goal["objective"] == "Ship it  \nnow"
    scene.model.asked(1)
    scene.model.release(1)
    scene.model.asked(2)
    assert scene.history() == [None, "active"]


@covers(Behaviour.PAUSE, Behaviour.RESUME)
def test_pause_and_resume_answer_while_the_turn_runs_and_counters_go_on(scene: Scene) -> None:
    """It is the same goal, and a second pause is no error."""
    scene.open(say("step"), HELD)
    goal = work(scene)
    scene.model.asked(2)
    reply = scene.control("pause")
    done(reply)
    paused = scene.expect("paused")
    assert paused.index < reply.index
    assert paused.created == goal["createdAt"]
    done(scene.control("pause"))
    turns = scene.model.turns
    reply = scene.control("resume")
    done(reply)
    active = scene.expect("active")
    assert active.index < reply.index
    assert active.created == goal["createdAt"]
    assert active.goal["iterations"] >= 1
    scene.model.asked(turns + 1)
    assert scene.history() == [None, "active", "paused", "active"]


@covers(Behaviour.CLEAR)
def test_clear_ends_the_goal_while_it_works(scene: Scene) -> None:
    """A second clear is no error, and nothing works on."""
    scene.open()
    work(scene)
    reply = scene.control("clear")
    done(reply)
    assert scene.expect(None).index < reply.index
    done(scene.control("clear"))
    scene.prompt("hello")
    assert scene.model.asked_about("hello", after=1) == 2
    assert scene.history() == [None, "active", None]


@covers(Behaviour.REPLACE)
def test_replacing_a_working_goal_makes_a_new_one(scene: Scene) -> None:
    """The same words are a new goal too."""
    scene.open()
    done(scene.control("set", objective="One"))
    first = scene.expect("active")
    scene.model.asked(1)
    for objective in ("Two", "Two"):
        reply = scene.control("set", objective=objective)
        done(reply)
        second = scene.expect("active", new=first.goal)
        assert first.index < second.index < reply.index
        assert second.goal["objective"] == objective
        assert second.goal["createdAt"] > first.goal["createdAt"]
        assert second.goal.get("iterations", 0) == 0
        first = second
    scene.model.asked_about("Two", after=1)
    assert scene.history() == [None, "active"]


@covers(Behaviour.CONFLICT)
def test_a_control_that_meets_a_newer_goal_is_said_once_more(scene: Scene) -> None:
    """Somebody else edits the goal, which the agent tells and the proxy hears at the same time as the control."""
    scene.open()
    goal = work(scene)
    state = scene.client.call("qwen/control/session/goal/get", {"sessionId": scene.session})
    assert state.result is not None
    current = state.result["snapshot"]["goal"]
    expected = {"expectedGoalId": current["goalId"], "expectedRevision": current["revision"]}
    request = {"action": "edit", "objective": "Ship it today", **expected}
    edited = scene.client.post(CONTROL, {"sessionId": scene.session, "request": request})
    paused = scene.client.post("_session/goal", {"sessionId": scene.session, "action": "pause"})
    assert edited.reply().error is None
    done(paused.reply())
    shown = scene.expect("paused").goal
    assert shown["objective"] == "Ship it today"
    assert shown["createdAt"] == goal["createdAt"]


@covers(Behaviour.BAD_INPUT)
def test_bad_control_input_is_refused_with_a_sentence(scene: Scene) -> None:
    """Nothing of it changes the state."""
    scene.open()
    refused(scene.control("edit"))
    for objective in ("", "   \n", 7, None):
        refused(scene.control("set", objective=objective), "objective")
    refused(scene.control("set", objective="x", tokenBudget=5), "tokenBudget")
    refused(scene.control("set", objective="x", expectedGoal={"objective": "y", "createdAt": 1}))
    refused(scene.control("pause"))
    refused(scene.control("resume"))
    refused(scene.client.call("_session/goal", {"sessionId": "nope", "action": "pause"}), "nope")
    unknown = scene.client.call("_session/goal/nope", {"sessionId": scene.session})
    assert unknown.error is not None
    assert unknown.error["code"] == METHOD_NOT_FOUND
    assert scene.history() == [None]
    assert scene.model.turns == 0


@covers(Behaviour.API_ERROR)
def test_an_error_of_the_model_does_not_lose_the_goal(scene: Scene) -> None:
    """Qwen says itself what becomes of the goal; it can go on afterwards."""
    scene.open()
    scene.model.always = REFUSED
    done(scene.control("set", objective=OBJECTIVE))
    goal = scene.expect("active").goal
    stopped = scene.expect_goal("a goal that stopped", lambda goal: goal.get("status") != "active")
    assert stopped.status in {"paused", "blocked"}
    scene.model.always = None
    turns = scene.model.turns
    done(scene.control("resume"))
    assert scene.expect("active").created == goal["createdAt"]
    scene.model.asked(turns + 1)


@covers(Behaviour.CANCEL)
def test_cancel_pauses_the_goal(scene: Scene) -> None:
    """The client has no open prompt then; the turn stops and no other follows."""
    scene.open()
    goal = work(scene)
    before = len(scene.traffic.entries) - 1
    scene.cancel()
    assert scene.expect("paused").created == goal["createdAt"]
    turn_ended(scene, before)
    scene.prompt("hello")
    assert scene.model.asked_about("hello", after=1) == 2
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.PROMPT)
def test_a_prompt_during_a_turn_of_the_goal_is_answered(scene: Scene) -> None:
    """It takes the turn's place; the goal goes on afterwards."""
    scene.open()
    work(scene)
    call = scene.prompt("also do this")
    turn = scene.model.asked_about("also do this", after=1)
    scene.model.release(turn)
    ended(call.reply())
    scene.model.asked(turn + 1)
    assert scene.history() == [None, "active"]


def restart(scene: Scene, method: str) -> None:
    """Three sessions of one agent, one without a goal, one with a complete and one with an active one, entered anew."""
    scene.open(say("hi"), COMPLETE)
    ended(scene.prompt("hello").reply())
    none = scene.session
    complete = scene.another()
    done(scene.control("set", objective=OBJECTIVE))
    scene.expect("complete")
    scene.another()
    turns = scene.model.turns
    done(scene.control("set", objective=OBJECTIVE))
    scene.expect("active")
    scene.model.asked(turns + 1)
    reply = scene.reopen(method)
    shown = scene.expect_goal("the goal", lambda goal: goal.get("objective") == OBJECTIVE)
    assert shown.index > reply.index
    assert shown.status in {"active", "paused"}
    if shown.status == "paused":
        done(scene.control("resume"))
        scene.expect("active")
    scene.model.asked(turns + 2)
    done(scene.control("clear"))
    scene.expect(None)
    for session, status in ((none, None), (complete, "complete")):
        reply = scene.enter(method, session)
        assert scene.expect(status).index > reply.index


@covers(Behaviour.LOAD)
def test_goals_are_shown_after_session_load(scene: Scene) -> None:
    """Whatever becomes of an active one, it is told and can be resumed and cleared."""
    restart(scene, "session/load")


@covers(Behaviour.RESUMED)
def test_goals_are_shown_after_session_resume(scene: Scene) -> None:
    """Whatever becomes of an active one, it is told and can be resumed and cleared."""
    restart(scene, "session/resume")
