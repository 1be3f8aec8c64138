"""Every generation of the Codex agents behind the proxy: what a plain client sees and how it is in control.

One test is one behaviour; it runs for each build that has it (`covers`). What a build cannot do is in `agents.py`, and
`test_codex_absent.py` tests what its clients are told instead. Turns of the model are held by default, so wherever a
reply comes here, it comes while the goal is at work.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from .agents import Agent
from .behaviours import Behaviour, Family
from .checks import METHOD_NOT_FOUND, done, ended, refused, work
from .fake_model import HELD, USAGE_LIMIT, say, use
from .scene import BUDGET, OBJECTIVE, Scene
from .traffic import Json
from .view import plain_view

pytestmark = pytest.mark.family(Family.CODEX)
covers = pytest.mark.covers
COMMAND: Final = "for each in 1 2 3 4 5; do echo $each; sleep 0.1; done"
"""Speaks more than once: some builds miss what a command says just before it ends."""
SEEN: Final[Mapping[str, Callable[[Json], bool]]] = {
    "the list of commands": lambda update: "availableCommands" in update,
    "the end of the tool": lambda update: update.get("status") == "completed",
}
"""What some builds send when it suits them, and some not at all after the prompt has ended."""


# What a client sees without doing anything


@covers(Behaviour.CAPABILITY)
def test_a_plain_client_is_told_of_goals_in_both_places(scene: Scene, agent: Agent) -> None:
    """Real clients look at one or the other, and test the version and the name of the method."""
    result = scene.initialize()
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": agent.actions}
    assert result["_meta"]["goal"] == capability
    assert result["agentCapabilities"]["_meta"]["goal"] == capability
    assert result["protocolVersion"] == 1


@covers(Behaviour.NEW_SESSION)
def test_a_new_session_is_said_to_have_no_goal_after_its_response(scene: Scene) -> None:
    """The order is an invariant of all scenes; here is the null itself, once."""
    scene.open()
    refused(scene.control("no such action"))
    assert scene.history() == [None]
    assert len(scene.snapshots()) == 1


@covers(Behaviour.TRANSPARENT)
def test_an_ordinary_prompt_with_a_tool_arrives_as_without_the_proxy(
    scene: Scene, agent: Agent, tmp_path: Path
) -> None:
    """Declaring AIR towards the agent must not change what a client gets, goal matters apart."""
    bare = Scene(agent, tmp_path / "bare", proxy=False)
    try:
        for each in (bare, scene):
            each.open(use("exec_command", cmd=COMMAND, yield_time_ms=30_000), HELD)
            call = each.prompt("run echo")
            for what, wanted in SEEN.items():
                each.wait_update(what, wanted, after=0)
            each.model.release(2)
            ended(call.reply())
    finally:
        bare.close()
    assert plain_view(scene) == plain_view(bare)


@covers(Behaviour.MODEL_GOAL)
def test_a_goal_that_the_model_makes_is_seen(scene: Scene) -> None:
    """The user never typed a command."""
    scene.open(use("create_goal", objective=OBJECTIVE), say("made"))
    call = scene.prompt("make this a goal")
    assert scene.expect("active").goal["objective"] == OBJECTIVE
    ended(call.reply())
    scene.model.asked(3)
    assert scene.history() == [None, "active"]


# The command


@covers(Behaviour.COMMAND)
def test_the_command_sets_a_goal_and_its_prompt_ends_with_its_own_turn(scene: Scene) -> None:
    """The goal stays active after the prompt, and works on by itself."""
    scene.open()
    call = scene.prompt(f"/goal {OBJECTIVE}")
    active = scene.expect("active")
    assert active.goal["objective"] == OBJECTIVE
    scene.model.asked(1)
    assert not call.answered
    scene.model.release(1)
    reply = ended(call.reply())
    assert active.index < reply.index
    scene.model.asked(2)
    assert scene.history() == [None, "active"]


@covers(Behaviour.COMMAND)
def test_an_objective_may_start_with_a_word_of_control(scene: Scene) -> None:
    """Only a whole argument is a word of control."""
    scene.open()
    scene.prompt("/goal clear the cache\nand pause")
    assert scene.expect("active").goal["objective"] == "clear the cache\nand pause"


@covers(Behaviour.REPORT)
@pytest.mark.parametrize("command", ["/goal", "/goal status"])
def test_a_report_needs_no_model(scene: Scene, command: str) -> None:
    """Without a goal and with one; codex itself would make `status` an objective."""
    scene.open()
    for expected in ("", OBJECTIVE):
        said = len(scene.text())
        ended(scene.prompt(command).reply())
        report = scene.text()[said:]
        assert report.strip()
        assert expected in report
        if not expected:
            assert scene.model.turns == 0
            work(scene)
            done(scene.control("pause"))
            scene.release(1)
    assert scene.model.turns == 1
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.WORDS)
def test_the_words_of_the_command_control_the_goal_while_it_works(scene: Scene) -> None:
    """The prompt that set the goal is still open, its turn held."""
    scene.open()
    setting = scene.prompt(f"/goal {OBJECTIVE}")
    scene.expect("active")
    scene.model.asked(1)
    for word, status in (("PAUSE", "paused"), ("resume", "active"), ("clear", None)):
        reply = ended(scene.prompt(f"/goal {word}").reply())
        assert scene.expect(status).index < reply.index
    scene.model.release(1)
    assert setting.reply().error is None


# Control


@covers(Behaviour.SET)
def test_set_starts_work_and_answers_while_it_runs(scene: Scene) -> None:
    """No prompt is needed. The snapshot comes first, the reply does not wait for the turn."""
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


@covers(Behaviour.PAUSE)
def test_pause_answers_while_the_turn_runs_and_no_other_turn_follows(scene: Scene) -> None:
    """A second pause is no error."""
    scene.open()
    goal = work(scene)
    reply = scene.control("pause")
    done(reply)
    paused = scene.expect("paused")
    assert paused.index < reply.index
    assert paused.goal["createdAt"] == goal["createdAt"]
    done(scene.control("pause"))
    scene.release(1)
    scene.prompt("hello")
    assert scene.model.asked_about("hello") == 2
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.RESUME)
def test_resume_goes_on_with_the_same_goal(scene: Scene) -> None:
    """The turn it starts is held when the reply comes."""
    scene.open()
    goal = work(scene)
    done(scene.control("pause"))
    scene.release(1)
    reply = scene.control("resume")
    done(reply)
    active = scene.expect("active")
    assert active.index < reply.index
    assert active.goal["createdAt"] == goal["createdAt"]
    assert active.goal["objective"] == OBJECTIVE
    scene.model.asked(2)
    assert scene.history() == [None, "active", "paused", "active"]


@covers(Behaviour.CLEAR)
def test_clear_ends_the_goal_at_once(scene: Scene) -> None:
    """A second clear is no error, and nothing works on."""
    scene.open()
    work(scene)
    reply = scene.control("clear")
    done(reply)
    assert scene.expect(None).index < reply.index
    done(scene.control("clear"))
    scene.release(1)
    scene.prompt("hello")
    assert scene.model.asked_about("hello") == 2
    assert scene.history() == [None, "active", None]


@covers(Behaviour.REPLACE)
def test_replacing_a_working_goal_makes_a_new_one(scene: Scene) -> None:
    """Codex keeps createdAt and counters; a client must see a new identity, and counters at zero."""
    scene.open(say("step", (1000, 50)), HELD)
    done(scene.control("set", objective="One"))
    first = scene.expect("active")
    scene.model.asked(2)
    reply = scene.control("set", objective="Two")
    done(reply)
    second = scene.expect("active", new=first.goal)
    assert first.index < second.index < reply.index
    assert second.goal["objective"] == "Two"
    assert second.goal["createdAt"] > first.goal["createdAt"]
    assert second.goal.get("tokensUsed", 0) == 0
    assert second.goal.get("timeUsedSeconds", 0) == 0
    scene.model.release(2)
    scene.model.asked_about("Two", after=2)


@covers(Behaviour.REPLACE)
def test_setting_the_same_objective_again_is_a_new_goal(scene: Scene) -> None:
    """Codex says nothing then, as nothing has changed for it."""
    scene.open()
    first = work(scene)
    reply = scene.control("set", objective=OBJECTIVE)
    done(reply)
    second = scene.expect("active", new=first)
    assert second.index < reply.index
    assert second.goal["createdAt"] > first["createdAt"]


@covers(Behaviour.BAD_INPUT)
def test_bad_control_input_is_refused_with_a_sentence(scene: Scene) -> None:
    """Nothing of it changes the state."""
    scene.open()
    refused(scene.control("edit"))
    refused(scene.control("set"), "objective")
    for objective in ("", "   \n", 7, None):
        refused(scene.control("set", objective=objective), "objective")
    refused(scene.control("set", objective="x" * 4001), "4000", "4001")
    refused(scene.control("set", objective="x", tokenBudget=5), "tokenBudget")
    refused(scene.control("set", objective="x", expectedGoal={"objective": "y", "createdAt": 1}))
    refused(scene.control("pause"))
    refused(scene.control("resume"))
    session = scene.session
    for params in (
        {"sessionId": session},
        {"action": "pause"},
        {"sessionId": 5, "action": "pause"},
        {},
        [session, "pause"],
    ):
        refused(scene.client.call("_session/goal", params))
    refused(scene.client.call("_session/goal", {"sessionId": "nope", "action": "pause"}), "nope")
    unknown = scene.client.call("_session/goal/nope", {"sessionId": session})
    assert unknown.error is not None
    assert unknown.error["code"] == METHOD_NOT_FOUND
    assert scene.history() == [None]
    assert scene.model.turns == 0


@covers(Behaviour.BAD_INPUT)
def test_a_request_about_another_goal_changes_nothing(scene: Scene) -> None:
    """The proxy compares `expectedGoal` with what it has published; codex ignores it."""
    scene.open()
    goal = work(scene)
    for action, more in (("pause", {}), ("clear", {}), ("set", {"objective": "Other"})):
        refused(
            scene.control(action, expectedGoal={"objective": OBJECTIVE, "createdAt": goal["createdAt"] - 1}, **more)
        )
    assert scene.history() == [None, "active"]
    done(scene.control("pause", expectedGoal={"objective": OBJECTIVE, "createdAt": goal["createdAt"]}))
    assert scene.expect("paused").created == goal["createdAt"]


def through_alias(scene: Scene, method: str, setting: str) -> None:
    """Drive a goal through all its states by an old name of the control method."""
    scene.open()
    done(scene.control(setting, method, objective=OBJECTIVE))
    scene.expect("active")
    scene.model.asked(1)
    done(scene.control("pause", method))
    scene.expect("paused")
    scene.release(1)
    done(scene.control("resume", method))
    scene.expect("active")
    scene.model.asked(2)
    done(scene.control("clear", method))
    scene.expect(None)
    refused(scene.control("nope", method))
    assert scene.history() == [None, "active", "paused", "active", None]


@covers(Behaviour.ALIAS_CODEX)
def test_the_old_name_of_codex_works(scene: Scene) -> None:
    """Newer builds answer "method not found" to it, older ones know only two of its actions."""
    through_alias(scene, "_codex/session/goal_control", "set")


@covers(Behaviour.ALIAS_SESSION)
def test_the_other_old_name_works_and_its_update_is_set(scene: Scene) -> None:
    """No build knows this one."""
    through_alias(scene, "_session/goal_control", "update")


# How a goal ends


@covers(Behaviour.COMPLETE)
def test_the_model_completes_the_goal(scene: Scene, agent: Agent) -> None:
    """It does so in a turn outside any prompt."""
    scene.open()
    scene.start_goal(use("update_goal", status="complete"), say("all shipped"))
    active, complete = scene.expect("active"), scene.expect("complete")
    assert complete.goal["objective"] == OBJECTIVE
    assert complete.goal["createdAt"] == active.goal["createdAt"]
    assert not agent.reports_tokens or complete.goal["tokensUsed"] > 0
    assert scene.history() == [None, "active", "complete"]


@covers(Behaviour.COMPLETE, Behaviour.SET)
def test_a_complete_goal_can_only_be_replaced_or_cleared(scene: Scene) -> None:
    """The next goal is a new one, with counters at zero, whatever codex carries over."""
    scene.open()
    scene.start_goal(use("update_goal", status="complete"), say("all shipped", (10, 1)))
    complete = scene.expect("complete")
    scene.turn_ended(complete.index)
    refused(scene.control("pause"))
    refused(scene.control("resume"))
    assert scene.history() == [None, "active", "complete"]
    done(scene.control("set", objective=OBJECTIVE))
    active = scene.expect("active", new=complete.goal)
    assert active.goal["createdAt"] > complete.goal["createdAt"]
    assert active.goal.get("tokensUsed", 0) == 0
    done(scene.control("clear"))
    scene.expect(None)


@covers(Behaviour.BLOCKED)
def test_the_model_says_that_it_is_blocked(scene: Scene, agent: Agent) -> None:
    """The user can resume then."""
    scene.open()
    scene.start_goal(use("update_goal", status="blocked"), say("I am stuck"))
    blocked = scene.expect("blocked")
    assert scene.history() == [None, "active", "blocked"]
    if agent.controllable:
        resumes(scene, blocked.index)


@covers(Behaviour.USAGE_LIMIT)
def test_a_usage_limit_stops_the_goal(scene: Scene, agent: Agent) -> None:
    """It can be resumed, since the limit may be gone by then."""
    scene.open()
    scene.start_goal(USAGE_LIMIT)
    limited = scene.expect("limited")
    assert scene.history() == [None, "active", "limited"]
    if agent.controllable:
        resumes(scene, limited.index)


def resumes(scene: Scene, stopped: int) -> None:
    """Assert that a goal that stopped by itself goes on when it is resumed; its next turn is held."""
    scene.turn_ended(stopped)
    turns = scene.model.turns
    done(scene.control("resume"))
    scene.expect("active")
    scene.model.asked(turns + 1)


@covers(Behaviour.BUDGET)
def test_a_used_up_budget_stops_the_goal_for_good(scene: Scene, agent: Agent) -> None:
    """Only the model can give a budget, and ACP cannot raise it, so resuming is refused instead of doing nothing."""
    scene.open()
    scene.start_goal(say("step one", (1000, 50)), say("step two", (2500, 60)), budget=BUDGET)
    limited = scene.expect("limited")
    assert not agent.controllable or limited.goal["tokenBudget"] == BUDGET
    assert not agent.reports_tokens or limited.goal["tokensUsed"] >= BUDGET
    if agent.controllable:
        scene.turn_ended(limited.index)
        refused(scene.control("resume"), "budget")
    assert scene.history() == [None, "active", "limited"]


@covers(Behaviour.CANCEL)
def test_cancelling_the_prompt_of_a_goal_pauses_it(scene: Scene) -> None:
    """Codex would leave it active without working."""
    scene.open()
    call = scene.prompt(f"/goal {OBJECTIVE}")
    scene.expect("active")
    scene.model.asked(1)
    scene.cancel()
    ended(call.reply(), "cancelled")
    scene.expect("paused")
    done(scene.control("resume"))
    scene.expect("active")
    scene.model.asked(2)
    assert scene.history() == [None, "active", "paused", "active"]


@covers(Behaviour.CANCEL)
def test_cancelling_a_turn_outside_a_prompt_pauses_the_goal(scene: Scene) -> None:
    """The client has no open prompt then; the turn stops and no other follows."""
    scene.open()
    turn = scene.start_goal()
    scene.expect("active")
    scene.model.asked(turn)
    before = len(scene.traffic.entries) - 1
    scene.cancel()
    scene.expect("paused")
    scene.turn_ended(before)
    scene.prompt("hello")
    assert scene.model.asked_about("hello") == turn + 1
    assert scene.history() == [None, "active", "paused"]


@covers(Behaviour.PROMPT)
def test_a_prompt_during_a_turn_of_the_goal_is_answered(scene: Scene) -> None:
    """The user comes first: neither refused nor lost, and the goal goes on afterwards."""
    scene.open()
    turn = scene.start_goal()
    scene.model.asked(turn)
    call = scene.prompt("also do this")
    turn = scene.model.release_until("also do this", turn)
    scene.model.release(turn)
    ended(call.reply())
    scene.model.asked(turn + 1)
    assert scene.history() == [None, "active"]


# After a restart


def restart_with_active_goal(scene: Scene, method: str) -> None:
    """An active goal is said to be active after the response, works on, and can be ended."""
    scene.open()
    turn = scene.start_goal()
    scene.expect("active")
    scene.model.asked(turn)
    reply = scene.reopen(method)
    active = scene.expect("active")
    assert active.index > reply.index
    assert active.goal["objective"] == OBJECTIVE
    scene.model.asked(turn + 1)
    done(scene.control("clear"))
    scene.expect(None)
    assert scene.history() == [None, "active", None]


def restart_with_paused_goal(scene: Scene, method: str) -> None:
    """A paused goal is said to be paused after the response, does not work, and can be resumed."""
    scene.open()
    turn = scene.start_goal()
    scene.model.asked(turn)
    done(scene.control("pause"))
    scene.expect("paused")
    scene.release(turn)
    reply = scene.reopen(method)
    paused = scene.expect("paused")
    assert paused.index > reply.index
    assert paused.goal["objective"] == OBJECTIVE
    assert scene.model.turns == turn
    done(scene.control("resume"))
    scene.expect("active")
    scene.model.asked(turn + 1)
    assert scene.history() == [None, "active", "paused", "active"]


@covers(Behaviour.LOAD_ACTIVE)
def test_an_active_goal_is_shown_after_session_load(scene: Scene) -> None:
    """Codex sends it before the response, where clients drop it."""
    restart_with_active_goal(scene, "session/load")


@covers(Behaviour.LOAD_PAUSED)
def test_a_paused_goal_is_shown_after_session_load(scene: Scene) -> None:
    """Codex sends it before the response, where clients drop it."""
    restart_with_paused_goal(scene, "session/load")


@covers(Behaviour.RESUME_ACTIVE)
def test_an_active_goal_is_shown_after_session_resume(scene: Scene) -> None:
    """Nothing is replayed here."""
    restart_with_active_goal(scene, "session/resume")


@covers(Behaviour.RESUME_PAUSED)
def test_a_paused_goal_is_shown_after_session_resume(scene: Scene) -> None:
    """Nothing is replayed here."""
    restart_with_paused_goal(scene, "session/resume")
