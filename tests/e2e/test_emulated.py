"""Agents without goals behind the proxy, which keeps their goals and works on them in rounds of its own.

The scenes of one agent share its process, each in a session of its own, since these agents are slow to start; a scene
that needs other settings, or ends the process, plays on a second stage. Turns of the model are held by default, and a
test counts them from the first one of its session.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from .agents import Agent
from .behaviours import Behaviour, Family
from .checks import METHOD_NOT_FOUND, done, ended, refused
from .client import GRACE, children, descendants
from .conftest import Closing
from .emulated_homes import PARTICULARS
from .fake_model import REFUSED, Turn, say, use
from .scene import OBJECTIVE, Scene, Snapshot
from .stage import Stage, Stages, patient_stage_of, stage_of
from .traffic import Source

pytestmark = pytest.mark.family(Family.PLAIN)
covers, absent = pytest.mark.covers, pytest.mark.absent
CHECK: Final = "if test -e broken; then echo it is broken; exit 1; fi"


@pytest.fixture(scope="module")
def stages(closing: Closing) -> Iterator[Stages]:
    """The stages with the settings that most users have."""
    shared = Stages(closing)
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def patient_stages(closing: Closing) -> Iterator[Stages]:
    """The second stages."""
    shared = Stages(closing)
    yield shared
    shared.close()


@pytest.fixture
def scene(agent: Agent, stages: Stages, tmp_path: Path) -> Iterator[Scene]:
    """The scene of the agent's stage."""
    yield from stages.play(agent, lambda: stage_of(agent, tmp_path, CHECK=CHECK))


@pytest.fixture
def stage(agent: Agent, scene: Scene, stages: Stages) -> Stage:
    """The agent's stage."""
    assert scene is stages.of[agent.key].scene
    return stages.of[agent.key]


@pytest.fixture
def patient_scene(agent: Agent, patient_stages: Stages, tmp_path: Path) -> Iterator[Scene]:
    """The scene of the agent's second stage."""
    yield from patient_stages.play(agent, lambda: patient_stage_of(agent, tmp_path))


@pytest.fixture
def patient_stage(agent: Agent, patient_scene: Scene, patient_stages: Stages) -> Stage:
    """The agent's second stage: prompts wait for goals, and the tools come on stdio."""
    assert patient_scene is patient_stages.of[agent.key].scene
    return patient_stages.of[agent.key]


@pytest.fixture
def bare_stage(agent: Agent, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A stage of its own, whose agent's settings keep the tools from the model; else, the agent's stage."""
    if not PARTICULARS[agent.key].excluded:
        yield request.getfixturevalue("stage")
        return
    stage = stage_of(agent, tmp_path)
    stage.own.exclude_tools(tmp_path)
    try:
        yield stage
        assert not stage.scene.complaints()
    finally:
        stage.scene.close()


# What a client sees without doing anything, and the command


@covers(Behaviour.CAPABILITY, Behaviour.NEW_SESSION)
def test_a_plain_client_is_told_of_goals(stage: Stage) -> None:
    """All four actions; and a new session has no goal, which is said once."""
    stage.open()
    assert stage.history() == [None]
    result = stage.introduction()
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}
    assert result["_meta"]["goal"] == capability
    assert result["agentCapabilities"]["_meta"]["goal"] == capability
    assert result["agentCapabilities"].get("mcpCapabilities", {}).get("http", False) is stage.own.takes_http


@covers(Behaviour.COMMAND, Behaviour.REPORT)
def test_the_command_sets_a_goal_and_its_prompt_ends_at_once(stage: Stage) -> None:
    """The report needs no turn of the model."""
    stage.open()
    ended(stage.scene.prompt("/goal").reply())
    ended(stage.scene.prompt(f"/goal {OBJECTIVE}").reply())
    assert stage.scene.expect("active").goal["objective"] == OBJECTIVE
    assert OBJECTIVE in stage.asked(1)
    said = len(stage.scene.text())
    ended(stage.scene.prompt("/goal status").reply())
    assert OBJECTIVE in stage.scene.text()[said:]
    assert stage.scene.model.turns == stage.before + 1
    assert stage.history() == [None, "active"]


# How a goal ends


@covers(Behaviour.COMPLETE, Behaviour.SET)
def test_three_rounds_complete_the_goal(stage: Stage) -> None:
    """The model reports with the proxy's tools, and nobody is asked for leave to use them."""
    active = stage.set(say("one"), say("two"), *stage.report("complete", "all tests pass"), say("bye"))
    complete = stage.scene.expect("complete").goal
    assert complete["createdAt"] == active.created
    assert complete["iterations"] == 3
    assert complete["lastReason"] == "all tests pass"
    assert complete["timeUsedSeconds"] >= 0
    if stage.own.counts is not None:
        total = 110 + 110 + stage.own.counts([(100, 10)] * 3)
        if complete.get("tokensUsed") != total:  # It was complete before the last round had ended.
            stage.scene.expect_goal("the tokens of all rounds", lambda goal: goal.get("tokensUsed") == total)
    for turn, word in ((1, "round 1 of"), (2, "round 2 of"), (3, "round 3 of")):
        assert word in stage.asked(turn)
    assert stage.history() == [None, "active", "complete"]
    assert not questions(stage.scene)


def questions(scene: Scene) -> list[str]:
    """Return what the agent asked the client in the session."""
    entries = [entry.message for entry in scene.traffic.entries if entry.source is Source.AGENT]
    asked = [message for message in entries if "method" in message and "id" in message]
    return [message["method"] for message in asked if message["params"].get("sessionId") == scene.session]


@covers(Behaviour.CHECK)
def test_a_goal_is_complete_when_the_check_says_so(stage: Stage) -> None:
    """What the check says last is the reason of the next round."""
    broken = stage.scene.cwd / "broken"
    broken.touch()
    stage.set(*stage.report("complete", "I think so"), say("one"))
    stage.scene.expect_goal("the check's words", lambda goal: "it is broken" in goal.get("lastReason", ""))
    assert "it is broken" in stage.asked(4)
    broken.unlink()
    stage.scene.model.script(*stage.report("complete", "this time it is"), say("bye"))
    stage.release(4)
    assert stage.scene.expect("complete").goal["lastReason"] == "this time it is"
    assert stage.history() == [None, "active", "complete"]


@covers(Behaviour.MARKER)
def test_a_marker_completes_the_goal_where_the_model_does_not_use_the_tools(bare_stage: Stage) -> None:
    """Only the last line of the model's words counts."""
    stage = bare_stage
    stage.set(say("one"), say("GOAL-COMPLETE\nis not said yet"), say("It is done.\nGOAL-COMPLETE"))
    assert stage.scene.expect("complete").goal["iterations"] == 3
    assert "update_goal" in stage.asked(1)
    assert "GOAL-COMPLETE" in stage.asked(1)


@covers(Behaviour.BLOCKED)
def test_blocked_needs_three_rounds(stage: Stage) -> None:
    """Before that the model is told so, and the goal goes on."""
    stage.set(*stage.report("blocked", "no access"), say("one"), say("two"), *stage.report("blocked", "still none"))
    assert "too-early" in stage.asked(3)
    blocked = stage.scene.expect("blocked").goal
    assert blocked["iterations"] == 3
    assert blocked["lastReason"] == "still none"
    stage.asked(7)
    stage.release(7)
    done(stage.scene.control("resume"))
    stage.scene.expect("active")
    assert "round 4 of" in stage.asked(8)
    assert stage.history() == [None, "active", "blocked", "active"]


@covers(Behaviour.BUDGET)
def test_a_used_up_budget_stops_the_goal_until_it_is_raised(stage: Stage) -> None:
    """To resume without raising it is refused."""
    stage.set(say("one", (900, 200)), tokenBudget=1000)
    limited = stage.scene.expect("limited").goal
    assert limited["tokenBudget"] == 1000
    assert limited["tokensUsed"] == 1100
    refused(stage.scene.control("resume"), "1000")
    done(stage.scene.control("resume", tokenBudget=5000))
    assert stage.scene.expect("active").goal["tokenBudget"] == 5000
    assert "round 2 of" in stage.asked(2)
    assert stage.history() == [None, "active", "limited", "active"]


@absent(Behaviour.BUDGET)
def test_tokens_that_are_not_reported_are_not_claimed(stage: Stage) -> None:
    """A budget stops nothing then."""
    stage.set(say("one", (900, 200)), tokenBudget=1000)
    assert "round 2 of" in stage.asked(2)
    assert all("tokensUsed" not in snapshot.goal for snapshot in stage.scene.snapshots())
    assert stage.history() == [None, "active"]


@covers(Behaviour.ROUND_LIMIT, Behaviour.MODEL_GOAL)
def test_the_model_makes_a_goal_with_a_limit_of_rounds(stage: Stage) -> None:
    """It may do so in the user's own turn; resuming raises the limit to what the operator allows."""
    making = use(stage.own.named("create_goal"), objective=OBJECTIVE, max_goal_rounds=2)
    stage.open(making, say("made"), say("one"), say("two"))
    ended(stage.scene.prompt("make this a goal").reply())
    active = stage.scene.expect("active")
    limited = stage.scene.expect("limited").goal
    assert limited["createdAt"] == active.created
    assert limited["iterations"] == 2
    done(stage.scene.control("resume"))
    stage.scene.expect("active")
    assert "round 3 of at most 256" in stage.asked(5)
    assert stage.history() == [None, "active", "limited", "active"]


# Control in the middle of a round


@covers(Behaviour.PAUSE, Behaviour.RESUME)
def test_pause_ends_the_round_and_resume_starts_the_next(stage: Stage) -> None:
    """The agent survives that its turn was cancelled."""
    active = stage.set()
    stage.asked(1)
    reply = stage.scene.control("pause")
    done(reply)
    assert stage.scene.expect("paused").index < reply.index
    done(stage.scene.control("resume"))
    assert stage.scene.expect("active").created == active.created
    assert "round 2 of" in stage.asked(2)
    assert stage.history() == [None, "active", "paused", "active"]


@covers(Behaviour.CLEAR)
def test_clear_ends_the_round_and_the_goal(stage: Stage) -> None:
    """A prompt after it is answered."""
    stage.set()
    stage.asked(1)
    done(stage.scene.control("clear"))
    stage.scene.expect(None)
    stage.scene.model.script(say("hello too"))
    ended(stage.scene.prompt("hello").reply())
    assert "hello" in stage.asked(2)
    assert stage.history() == [None, "active", None]


@covers(Behaviour.REPLACE)
def test_replacing_a_goal_ends_the_round_of_the_old_one(stage: Stage) -> None:
    """The next round is the new goal's first."""
    first = stage.set()
    stage.asked(1)
    done(stage.scene.control("set", objective="Test it"))
    second = stage.scene.expect("active", new=first.goal)
    assert second.goal["iterations"] == 0
    about = stage.asked(2)
    assert "Test it" in about
    assert "round 1 of" in about


@covers(Behaviour.CANCEL)
def test_cancel_ends_the_round_and_pauses_the_goal(stage: Stage) -> None:
    """It can be resumed."""
    stage.set()
    stage.asked(1)
    stage.scene.cancel()
    stage.scene.expect("paused")
    done(stage.scene.control("resume"))
    stage.scene.expect("active")
    assert "round 2 of" in stage.asked(2)
    assert stage.history() == [None, "active", "paused", "active"]


@covers(Behaviour.PROMPT)
def test_a_prompt_interrupts_the_round_and_the_goal_goes_on_after_it(stage: Stage) -> None:
    """The user does not wait for the goal."""
    stage.set()
    stage.asked(1)
    stage.scene.model.script(say("four"))
    ended(stage.scene.prompt("what is two and two?").reply())
    assert "two and two" in stage.asked(2)
    assert "round 2 of" in stage.asked(3)
    assert "four" in stage.scene.text()
    assert stage.history() == [None, "active"]


@covers(Behaviour.API_ERROR)
def test_an_error_of_the_model_is_no_end_of_the_goal(stage: Stage) -> None:
    """The next round waits; the user need not, and the goal goes on after the user's prompt."""
    stage.set(REFUSED)
    stage.scene.expect_goal("the error", lambda goal: "boom" in goal.get("lastReason", ""))
    stage.scene.model.script(say("here"))
    ended(stage.scene.prompt("are you there?").reply())
    assert stage.history() == [None, "active"]


# How the tools reach the agent


@covers(Behaviour.TOOLS_HTTP)
def test_an_agent_that_takes_servers_over_http_has_the_tools_so(stage: Stage) -> None:
    """The proxy starts no process for them."""
    stage.set(*stage.report("complete", "all tests pass"), say("bye"))
    assert stage.scene.expect("complete").goal["lastReason"] == "all tests pass"
    assert not bridges(stage.scene)


@absent(Behaviour.TOOLS_HTTP)
def test_an_agent_that_does_not_say_that_it_takes_http_is_not_given_it(stage: Stage) -> None:
    """It is given the tools over stdio instead."""
    stage.open()
    assert not stage.introduction()["agentCapabilities"].get("mcpCapabilities", {}).get("http", False)
    done(stage.scene.control("set", objective=OBJECTIVE))
    stage.scene.expect("active")
    completes(stage, 1)


@covers(Behaviour.TOOLS_STDIO)
def test_an_agent_that_takes_servers_over_stdio_only_has_the_tools_so(patient_stage: Stage) -> None:
    """The agent starts a process for them, and nobody is asked for leave to use them."""
    patient_stage.set(say("one"), *patient_stage.report("complete", "all tests pass"))
    patient_stage.asked(4)
    assert patient_stage.scene.expect("complete").goal["lastReason"] == "all tests pass"
    assert bridges(patient_stage.scene)
    assert not questions(patient_stage.scene)


def bridges(scene: Scene) -> list[int]:
    """Return the processes that give the proxy's tools to an agent over stdio."""
    processes = descendants(scene.client.process.pid)
    return [process for process in processes if b"mcp_bridge" in Path(f"/proc/{process}/cmdline").read_bytes()]


# What waits for what, where the operator wants that


@covers(Behaviour.QUEUE)
def test_a_prompt_can_wait_for_the_end_of_the_round(patient_stage: Stage) -> None:
    """The round is not broken off, so what it says in the end counts; then the prompt is answered."""
    stage = patient_stage
    stage.set(Turn(text="It is done.\nGOAL-COMPLETE", held=True))
    stage.asked(1)
    call = stage.scene.prompt("what is two and two?")
    ended(stage.scene.prompt("/goal status").reply())
    stage.scene.model.script(say("four"))
    stage.release(1)
    assert "two and two" in stage.asked(2)
    assert stage.scene.expect("complete").index < ended(call.reply()).index
    assert stage.scene.text().index("It is done.") < stage.scene.text().index("four")
    assert stage.history() == [None, "active", "complete"]


@covers(Behaviour.HELD)
def test_the_prompt_that_sets_a_goal_can_stay_open_until_it_stops(patient_stage: Stage) -> None:
    """Its end is that of the goal, and a cancel of it pauses the goal."""
    stage, scene = patient_stage, patient_stage.scene
    stage.open()
    call = scene.prompt(f"/goal {OBJECTIVE}")
    scene.expect("active")
    stage.asked(1)
    assert not call.answered
    scene.cancel()
    ended(call.reply(), "cancelled")
    scene.expect("paused")
    scene.model.script(*stage.report("complete", "all tests pass"), say("bye"))
    call = scene.prompt("/goal resume")
    scene.expect("active")
    assert scene.expect("complete").index < ended(call.reply()).index
    assert stage.history() == [None, "active", "paused", "active", "complete"]


# Forks


@covers(Behaviour.FORK)
def test_a_fork_begins_without_a_goal_and_can_have_its_own(stage: Stage) -> None:
    """The session that it was made from keeps its goal."""
    scene = stage.scene
    stage.open(say("hello too"))
    ended(scene.prompt("hello").reply())
    done(scene.control("set", objective=OBJECTIVE))
    first = scene.expect("active")
    stage.asked(2)
    done(scene.control("pause"))
    scene.expect("paused")
    origin = scene.session
    fork(scene)
    scene.expect(None)
    done(scene.control("set", objective="Test it"))
    assert scene.expect("active").goal["objective"] == "Test it"
    about = stage.asked(3)
    assert "Test it" in about
    assert "round 1 of" in about
    done(scene.control("clear"))
    scene.expect(None)
    assert stage.history() == [None, "active", None]
    scene.session = origin
    done(scene.control("resume"))
    assert scene.expect_goal("the first goal", lambda goal: goal["status"] == "active").created == first.created
    assert "round 2 of" in stage.asked(4)
    assert stage.history() == [None, "active", "paused", "active"]


@absent(Behaviour.FORK)
def test_the_error_of_an_agent_without_forks_arrives_as_it_is(stage: Stage) -> None:
    """And the goal stays as it was."""
    stage.set()
    stage.asked(1)
    params = {"sessionId": stage.scene.session, "cwd": str(stage.scene.cwd), "mcpServers": []}
    reply = stage.scene.client.call("session/fork", params)
    assert reply.error is not None
    assert reply.error["code"] == METHOD_NOT_FOUND
    assert stage.history() == [None, "active"]


def fork(scene: Scene) -> None:
    """Fork the session; the fork is the one that is played from here on."""
    params = {"sessionId": scene.session, "cwd": str(scene.cwd), "mcpServers": []}
    reply = scene.client.call("session/fork", params)
    assert reply.error is None, reply.error
    assert reply.result is not None
    scene.session = reply.result["sessionId"]


# The end of the agent


@covers(Behaviour.RESTART, Behaviour.RESTART_RESUME)
def test_goals_survive_the_death_of_their_agent(patient_stage: Stage) -> None:
    """After a load or a resume they are paused and say why; resumed, they count on and come to their end."""
    stage, scene = patient_stage, patient_stage.scene
    first = stage.set()
    stage.asked(1)
    loaded = scene.session
    second = dies(stage)
    resumed = scene.session
    scene.client.start_again()
    scene.initialize()
    comes_back(stage, "session/load", loaded, first, 2)
    comes_back(stage, "session/resume", resumed, second, 6)


@covers(Behaviour.RESTART)
@absent(Behaviour.RESTART_RESUME)
def test_a_goal_survives_the_death_of_its_agent_where_sessions_are_only_loaded(patient_stage: Stage) -> None:
    """As where they are resumed, too."""
    active = dies(patient_stage)
    patient_stage.scene.client.start_again()
    patient_stage.scene.initialize()
    comes_back(patient_stage, "session/load", patient_stage.scene.session, active, 2)


def comes_back(stage: Stage, method: str, session: str, active: Snapshot, turn: int) -> None:
    """Enter a session again; its goal is paused. Resume it, and bring it to its end, from this turn of the model on."""
    scene = stage.scene
    assert scene.enter(method, session).error is None
    paused = scene.expect("paused").goal
    assert paused["createdAt"] == active.created
    assert paused["iterations"] == 1
    assert "restored" in paused["lastReason"]
    done(scene.control("resume"))
    scene.expect("active")
    assert "round 2 of" in stage.asked(turn)
    completes(stage, turn)
    stage.asked(turn + 3)
    assert stage.history() == [None, "active", "paused", "active", "complete"]


@absent(Behaviour.RESTART, Behaviour.RESTART_RESUME)
def test_a_session_that_cannot_be_entered_again_shows_no_goal(agent: Agent, patient_stage: Stage) -> None:
    """The agent's error arrives as it is, and another session starts without a goal and gets one."""
    scene = patient_stage.scene
    dies(patient_stage)
    scene.client.start_again()
    scene.initialize()
    params = {"sessionId": scene.session, "cwd": str(scene.cwd), "mcpServers": []}
    for behaviour, method in ((Behaviour.RESTART, "session/load"), (Behaviour.RESTART_RESUME, "session/resume")):
        if behaviour in agent.lacks:
            assert scene.client.call(method, params).error is not None
    scene.another()
    done(scene.control("set", objective=OBJECTIVE))
    scene.expect("active")
    patient_stage.asked(2)
    completes(patient_stage, 2)


def dies(stage: Stage) -> Snapshot:
    """Set a goal and kill the agent in its first round; the proxy ends with it, in the way it ended."""
    active = stage.set()
    stage.asked(1)
    proxy = stage.scene.client.process
    [wrapper] = children(proxy.pid)
    [agent] = children(wrapper)
    for each in (agent, *children(agent)):
        os.kill(each, signal.SIGKILL)
    assert proxy.wait(GRACE) == 128 + signal.SIGKILL
    return active


def completes(stage: Stage, turn: int) -> None:
    """Let a held turn end its round, and the model complete the goal in the next one."""
    stage.scene.model.script(*stage.report("complete", "all tests pass"), say("bye"))
    stage.release(turn)
    assert stage.scene.expect("complete").goal["lastReason"] == "all tests pass"
