"""Every generation of Claude's adapter behind the proxy.

Claude's model is asked whether the goal is met each time it wants to stop; that is a verdict here, and what the log of
the session says of it is all that is known: on the wire a turn that ends says nothing. One test is one behaviour.
Turns of the model are held by default, verdicts are "not yet".
"""

from pathlib import Path
from typing import Final

import pytest

from .agents import Agent
from .behaviours import Behaviour, Family
from .checks import METHOD_NOT_FOUND, done, ended, refused
from .fake_anthropic import impossible, met, not_met
from .fake_model import HELD, REFUSED, say, use
from .scene import OBJECTIVE, Scene, Snapshot
from .traffic import Json
from .view import plain_view

pytestmark = pytest.mark.family(Family.CLAUDE)
covers = pytest.mark.covers
absent = pytest.mark.absent
CAP: Final = 9
"""Verdicts in a row after which Claude lets its model stop."""
LIMIT: Final = 4000
RAW: Final = {"claudeCode": {"emitRawSDKMessages": [{"type": "active_goal"}]}}


def work(scene: Scene) -> Json:
    """Set a goal by control and return its snapshot once the model works on it; its next turn is held."""
    turn = scene.model.turns + 1
    done(scene.control("set", objective=OBJECTIVE))
    goal = scene.expect("active").goal
    scene.model.asked(turn)
    return goal


def judged(scene: Scene, reason: str) -> Snapshot:
    """Wait for the next snapshot that shows this reason."""
    return scene.expect_goal(f"a snapshot with the reason {reason!r}", lambda goal: goal.get("lastReason") == reason)


# What a client sees without doing anything


@covers(Behaviour.CAPABILITY)
def test_a_plain_client_is_told_of_goals_in_both_places(scene: Scene, agent: Agent) -> None:
    """Whatever the agent itself says of them: nothing, two of the four actions, or that in another place."""
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
            each.open(use("Bash", command="echo hi", description="say hi"), say("said hi"))
            ended(each.prompt("run echo").reply())
            each.wait_update("the title", lambda update: "title" in update and "toolCallId" not in update, after=0)
    finally:
        bare.close()
    assert plain_view(scene) == plain_view(bare)
    assert len(scene.snapshots()) == 1


@covers(Behaviour.V2_CAPABILITY)
def test_no_action_is_offered_on_protocol_2_that_is_not_there(scene_v2: Scene) -> None:
    """The adapter has neither the control method nor steering there."""
    offered = scene_v2.initialize()["_meta"]["goal"]["actions"]
    scene_v2.another()
    for action in offered:
        more = {"objective": OBJECTIVE} if action == "set" else {}
        error = scene_v2.control(action, **more).error
        assert error is None or error["code"] != METHOD_NOT_FOUND


@absent(Behaviour.V2_CAPABILITY)
def test_a_client_that_offers_protocol_2_gets_what_the_agent_speaks(scene: Scene, agent: Agent) -> None:
    """The proxy changes nothing about the version."""
    result = scene.initialize(protocol=2)
    assert result["protocolVersion"] == 1
    assert result["_meta"]["goal"]["actions"] == agent.actions


# The command


@covers(Behaviour.COMMAND, Behaviour.VERDICTS, Behaviour.COMPLETE)
def test_the_command_works_until_the_goal_is_met(scene: Scene) -> None:
    """One prompt: each verdict is shown with its reason while it runs, the last one with what it has cost."""
    scene.open()
    scene.model.judge(not_met("tests were not run"), not_met("two tests\nfail"), met("the tests pass"))
    call = scene.prompt(f"/goal {OBJECTIVE}")
    active = scene.expect("active")
    assert active.goal["objective"] == OBJECTIVE
    for turn, reason in ((1, "tests were not run"), (2, "two tests fail")):
        scene.model.asked(turn)
        assert not call.answered
        scene.model.release(turn)
        goal = judged(scene, reason).goal
        assert (goal["iterations"], goal["status"]) == (turn, "active")
    scene.model.asked(3)
    scene.model.release(3)
    complete = scene.expect("complete").goal
    ended(call.reply())
    assert complete["createdAt"] == active.created
    assert (complete["iterations"], complete["lastReason"]) == (3, "the tests pass")
    assert complete["tokensUsed"] > 0
    assert complete["timeUsedSeconds"] >= 0
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.COMPLETE, Behaviour.SET)
def test_a_complete_goal_can_only_be_replaced_or_cleared(scene: Scene) -> None:
    """The next goal is a new one, with counters at zero, though its words be the same."""
    scene.open(say("done"))
    scene.model.judge(met("it is so"))
    done(scene.control("set", objective=OBJECTIVE))
    complete = scene.expect("complete")
    refused(scene.control("pause"))
    refused(scene.control("resume"))
    done(scene.control("set", objective=OBJECTIVE))
    active = scene.expect("active", new=complete.goal)
    assert active.goal["createdAt"] > complete.goal["createdAt"]
    assert active.goal.get("iterations", 0) == 0
    assert "tokensUsed" not in active.goal
    scene.model.asked(2)
    done(scene.control("clear"))
    scene.expect(None)
    assert scene.history() == [None, "active", "complete", "active", None]


@covers(Behaviour.REPORT)
def test_reports_need_no_model(scene: Scene) -> None:
    """Without a goal and while one is at work; Claude itself would make `status` an objective, and queue the question."""
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


@covers(Behaviour.WORDS)
def test_the_words_of_the_command_control_the_goal_while_it_works(scene: Scene) -> None:
    """Claude knows neither pause nor resume, and would queue the clear behind the turn."""
    scene.open()
    scene.prompt(f"/goal {OBJECTIVE}")
    goal = scene.expect("active").goal
    for turn, word, status in ((1, "PAUSE", "paused"), (1, "resume", "active"), (2, "clear", None)):
        scene.model.asked(turn)
        reply = ended(scene.prompt(f"/goal {word}").reply())
        snapshot = scene.expect(status)
        assert snapshot.index < reply.index
        assert snapshot.created in (None, goal["createdAt"])
    ended(scene.prompt("/goal clear").reply())
    assert scene.history() == [None, "active", "paused", "active", None]


@covers(Behaviour.OWN_WORDS)
def test_other_words_for_clear_are_no_objectives(scene: Scene) -> None:
    """The adapter publishes a goal `stop`; Claude clears the one there is."""
    scene.open()
    for word in ("stop", "OFF"):
        work(scene)
        reply = ended(scene.prompt(f"/goal {word}").reply())
        assert scene.expect(None).index < reply.index
    refused(scene.control("set", objective="reset"))
    assert scene.history() == [None, "active", None, "active", None]
    assert {snapshot.goal.get("objective") for snapshot in scene.snapshots()} == {None, OBJECTIVE}


@covers(Behaviour.TOO_LONG)
def test_an_objective_that_is_too_long_is_never_shown(scene: Scene) -> None:
    """Claude refuses it in its own words, and the adapter publishes it nevertheless."""
    scene.open()
    ended(scene.prompt(f"/goal {'x' * (LIMIT + 1)}").reply())
    assert str(LIMIT) in scene.text()
    refused(scene.control("set", objective="x" * (LIMIT + 1)), str(LIMIT), str(LIMIT + 1))
    assert scene.history() == [None]
    work(scene)
    assert scene.history() == [None, "active"]


# Control


@covers(Behaviour.SET)
def test_set_starts_work_and_answers_while_it_runs(scene: Scene) -> None:
    """The adapter itself would answer when the whole goal is done."""
    scene.open()
    reply = scene.control("set", objective="  Ship it  \nnow ", _meta={"a": 1}, colour="red")
    done(reply)
    active = scene.expect("active")
    assert active.index < reply.index
    assert active.goal["objective"] == "Ship it  \nnow"
    scene.model.asked(1)
    scene.model.release(1)
    assert judged(scene, "not yet").goal["createdAt"] == active.created
    scene.model.asked(2)
    assert scene.history() == [None, "active"]


@covers(Behaviour.PAUSE, Behaviour.RESUME)
def test_pause_and_resume_answer_while_the_loop_runs_and_counters_go_on(scene: Scene) -> None:
    """Claude knows neither: the goal is remembered, cleared, and set again."""
    scene.open(say("step"), HELD)
    scene.model.judge(not_met("one test fails"))
    goal = work(scene)
    assert judged(scene, "one test fails").goal["iterations"] == 1
    scene.model.asked(2)
    reply = scene.control("pause")
    done(reply)
    paused = scene.expect("paused")
    assert paused.index < reply.index
    assert (paused.created, paused.goal["iterations"]) == (goal["createdAt"], 1)
    done(scene.control("pause"))
    scene.model.judge(met("all tests pass"))
    reply = scene.control("resume")
    done(reply)
    active = scene.expect("active")
    assert active.index < reply.index
    assert (active.created, active.goal["iterations"]) == (goal["createdAt"], 1)
    scene.model.asked(3)
    scene.model.release(3)
    complete = scene.expect("complete")
    assert (complete.created, complete.goal["iterations"]) == (goal["createdAt"], 2)
    assert scene.history() == [None, "active", "paused", "active", "complete"]


@covers(Behaviour.RESUME, Behaviour.OWN_WORDS)
def test_a_command_after_pause_and_resume_does_not_wait_behind_the_loop(scene: Scene) -> None:
    """The request that set the goal is answered by then, and no prompt is open, and yet Claude works."""
    scene.open()
    work(scene)
    done(scene.control("pause"))
    done(scene.control("resume"))
    scene.model.asked(2)
    reply = ended(scene.prompt("/goal stop").reply())
    assert scene.expect(None).index < reply.index
    call = scene.prompt("hello")
    scene.model.release(scene.model.asked_about("hello", after=2))
    ended(call.reply())
    assert scene.history() == [None, "active", "paused", "active", None]


@covers(Behaviour.PAUSE)
def test_a_paused_goal_does_not_work_with_the_next_prompt(scene: Scene) -> None:
    """As it would, were it still set: no verdict is asked for."""
    scene.open()
    work(scene)
    done(scene.control("pause"))
    scene.expect("paused")
    call = scene.prompt("hello")
    turn = scene.model.asked_about("hello", after=1)
    scene.model.release(turn)
    ended(call.reply())
    assert scene.history() == [None, "active", "paused"]
    assert scene.model.verdicts == 0


@covers(Behaviour.CLEAR)
def test_clear_ends_the_goal_while_it_works(scene: Scene) -> None:
    """A second clear is no error."""
    scene.open()
    call = scene.prompt(f"/goal {OBJECTIVE}")
    scene.expect("active")
    scene.model.asked(1)
    reply = scene.control("clear")
    done(reply)
    assert scene.expect(None).index < reply.index
    ended(call.reply())
    done(scene.control("clear"))
    assert scene.history() == [None, "active", None]
    assert scene.model.verdicts == 0


@covers(Behaviour.REPLACE)
def test_replacing_a_working_goal_makes_a_new_one(scene: Scene) -> None:
    """Late verdicts on the old one are not the new one's, and the same words are a new goal too."""
    scene.open(say("step"), HELD)
    done(scene.control("set", objective="One"))
    first = scene.expect("active")
    assert judged(scene, "not yet").goal["iterations"] == 1
    scene.model.asked(2)
    for objective in ("Two", "Two"):
        reply = scene.control("set", objective=objective)
        done(reply)
        second = scene.expect("active", new=first.goal)
        assert first.index < second.index < reply.index
        assert second.goal["objective"] == objective
        assert second.goal["createdAt"] > first.goal["createdAt"]
        assert second.goal.get("iterations", 0) == 0
        assert "lastReason" not in second.goal
        scene.model.asked_about("Two", after=2)
        first = second
    assert scene.history() == [None, "active"]


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


# How a goal ends, and how it only seems to


@covers(Behaviour.IMPOSSIBLE)
def test_an_impossible_goal_is_blocked_with_the_reason(scene: Scene) -> None:
    """The prompt ends as if the goal were met. The user may resume it."""
    scene.open(say("cannot"))
    scene.model.judge(impossible("no such thing"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    blocked = scene.expect("blocked").goal
    assert (blocked["iterations"], blocked["lastReason"]) == (1, "no such thing")
    assert scene.history() == [None, "active", "blocked"]
    done(scene.control("resume"))
    assert scene.expect("active").created == blocked["createdAt"]
    scene.model.asked(2)
    scene.model.judge(met("there is one after all"))
    scene.model.release(2)
    complete = scene.expect("complete").goal
    assert (complete["createdAt"], complete["iterations"]) == (blocked["createdAt"], 2)
    assert scene.history() == [None, "active", "blocked", "active", "complete"]


@covers(Behaviour.NO_VERDICT)
def test_a_judge_that_cannot_be_reached_leaves_the_goal_active(scene: Scene) -> None:
    """The prompt ends as if the goal were met; the next prompt is judged again."""
    scene.open(say("step"), say("hi"))
    scene.model.judge(REFUSED, met("it is so"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    scene.expect("active")
    ended(scene.prompt("hello").reply())
    scene.expect("complete")
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.CAP)
def test_too_many_verdicts_in_a_row_end_the_turn_and_not_the_goal(scene: Scene) -> None:
    """The prompt ends as if the goal were met, and some builds say nothing."""
    scene.open(*(say("step") for _ in range(CAP)))
    scene.model.judge(*(not_met(f"reason {number}") for number in range(1, CAP + 1)))
    call = scene.prompt(f"/goal {OBJECTIVE}")
    ended(call.reply())
    goal = judged(scene, f"reason {CAP}").goal
    assert (goal["status"], goal["iterations"]) == ("active", CAP)
    assert scene.model.turns == CAP
    assert scene.history() == [None, "active"]


@covers(Behaviour.BACKGROUND)
def test_a_verdict_is_put_off_until_a_background_task_is_done(scene: Scene) -> None:
    """The prompt ends before anything is judged; the goal works on and is met outside any prompt."""
    gate = scene.cwd / "gate"
    command = f"until test -e {gate}; do sleep 0.05; done"
    scene.open(
        use("Bash", command=command, description="wait", run_in_background=True), say("it runs"), say("it is done")
    )
    scene.model.judge(met("all is done"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    scene.expect("active")
    assert scene.model.verdicts == 0
    gate.touch()
    complete = scene.expect("complete")
    assert complete.goal["lastReason"] == "all is done"
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.API_ERROR)
def test_an_error_of_the_model_keeps_the_goal(scene: Scene) -> None:
    """The adapter takes its snapshot back, although Claude keeps the goal."""
    scene.open(say("step"))
    scene.model.always = REFUSED
    reply = scene.prompt(f"/goal {OBJECTIVE}").reply()
    assert reply.error is not None
    scene.expect("active")
    scene.model.always = None
    scene.model.judge(met("it is so"))
    ended(scene.prompt("go on").reply())
    scene.expect("complete")
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.CANCEL)
def test_cancel_pauses_the_goal(scene: Scene) -> None:
    """Claude would keep it, and work on it with the next prompt."""
    scene.open(say("step"), HELD)
    call = scene.prompt(f"/goal {OBJECTIVE}")
    created = scene.expect("active").created
    judged(scene, "not yet")
    scene.model.asked(2)
    scene.cancel()
    ended(call.reply(), "cancelled")
    paused = scene.expect("paused")
    assert (paused.created, paused.goal["iterations"]) == (created, 1)
    call = scene.prompt("hello")
    turn = scene.model.asked_about("hello", after=2)
    scene.model.release(turn)
    ended(call.reply())
    assert scene.model.verdicts == 1
    done(scene.control("resume"))
    active = scene.expect("active")
    assert (active.created, active.goal["iterations"]) == (created, 1)
    scene.model.asked(turn + 1)
    assert scene.history() == [None, "active", "paused", "active"]


@covers(Behaviour.PROMPT)
def test_a_prompt_while_the_goal_works_is_answered_after_it(scene: Scene) -> None:
    """The goal was set by control, so the client has no prompt open. The whole goal is one turn of Claude's."""
    scene.open()
    work(scene)
    call = scene.prompt("also do this")
    scene.model.judge(met("it is so"))
    scene.model.release(1)
    scene.expect("complete")
    scene.model.release(scene.model.asked_about("also do this", after=1))
    ended(call.reply())
    assert scene.history() == [None, "active", "complete"]


# After a restart


def restart(scene: Scene, method: str) -> None:
    """Three sessions of one agent, one without a goal, one with a complete and one with an active one, entered anew."""
    scene.open(say("hi"), say("done"))
    ended(scene.prompt("hello").reply())
    none = scene.session
    complete = scene.another()
    scene.model.judge(met("it is so"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    scene.expect("complete")
    active = scene.another()
    work(scene)
    reply = scene.reopen(method)
    shown = scene.expect("active")
    assert shown.index > reply.index
    assert shown.goal["objective"] == OBJECTIVE
    for session, status in ((none, None), (complete, "complete")):
        reply = scene.enter(method, session)
        assert scene.expect(status).index > reply.index
    scene.session = active
    scene.model.judge(met("now it is so"))
    call = scene.prompt("go on")
    scene.model.release(scene.model.asked_about("go on", after=3))
    ended(call.reply())
    assert scene.expect("complete").goal["lastReason"] == "now it is so"


@covers(Behaviour.LOAD)
def test_goals_are_shown_after_session_load(scene: Scene) -> None:
    """The adapter itself says nothing of them."""
    restart(scene, "session/load")


@covers(Behaviour.RESUMED)
def test_goals_are_shown_after_session_resume(scene: Scene) -> None:
    """The adapter itself says nothing of them."""
    restart(scene, "session/resume")


@covers(Behaviour.FORK)
def test_a_fork_is_said_to_have_what_it_has(scene: Scene) -> None:
    """The goal of the session it comes from stays as it is."""
    scene.open(say("hi"))
    ended(scene.prompt("hello").reply())
    work(scene)
    first = scene.session
    params = {"sessionId": first, "cwd": str(scene.cwd), "mcpServers": []}
    reply = scene.client.call("session/fork", params)
    assert reply.result is not None, reply.error
    scene.session = reply.result["sessionId"]
    assert scene.session != first
    shown = scene.expect_goal("any snapshot of the fork", lambda _: True)
    assert shown.index > reply.index
    call = scene.prompt("/goal")
    ended(call.reply())
    assert scene.history()[-1] == shown.status


# Where the log cannot be seen


def hide_log(scene: Scene) -> None:
    """Let the agent keep its log where the proxy does not look, as an agent on another machine does."""
    scene.only_agent["CLAUDE_CONFIG_DIR"] = str(scene.cwd.parent / "elsewhere")


@covers(Behaviour.REMOTE)
def test_what_the_sdk_tells_counts_where_there_is_no_log(scene: Scene) -> None:
    """Each verdict is told; that the goal is gone is told too, and not why."""
    hide_log(scene)
    scene.more["CLAUDE_CODE_REMOTE"] = "1"
    scene.initialize()
    scene.another(**RAW)
    scene.model.judge(not_met("one test fails"), met("the tests pass"))
    call = scene.prompt(f"/goal {OBJECTIVE}")
    scene.expect("active")
    scene.model.asked(1)
    scene.model.release(1)
    assert judged(scene, "one test fails").goal["iterations"] == 1
    scene.model.asked(2)
    scene.model.release(2)
    ended(call.reply())
    scene.expect(None)
    assert scene.history() == [None, "active", None]


@covers(Behaviour.REMOTE)
def test_the_log_counts_in_a_remote_session_too(scene: Scene) -> None:
    """It says more than the wire does: that the goal is complete."""
    scene.more["CLAUDE_CODE_REMOTE"] = "1"
    scene.open(say("step"), say("done"))
    scene.model.judge(not_met("one test fails"), met("the tests pass"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    complete = scene.expect("complete").goal
    assert (complete["iterations"], complete["lastReason"]) == (2, "the tests pass")
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.UNTOLD)
def test_a_goal_that_nobody_tells_of_is_not_said_to_be_met(scene: Scene) -> None:
    """It stays active, with a reason that says why; control works."""
    hide_log(scene)
    scene.open(say("done"))
    scene.model.judge(met("it is so"))
    ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
    goal = scene.expect_goal("a snapshot with a reason", lambda goal: "lastReason" in goal).goal
    assert goal["status"] == "active"
    assert "does not say whether the goal is met" in goal["lastReason"]
    assert "iterations" not in goal or goal["iterations"] == 0
    done(scene.control("pause"))
    scene.expect("paused")
    done(scene.control("resume"))
    scene.expect("active")
    scene.model.asked(2)
    done(scene.control("clear"))
    scene.expect(None)
    assert scene.history() == [None, "active", "paused", "active", None]
