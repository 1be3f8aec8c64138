"""What a client is told where a build cannot do something: the truth, and nothing that it would have to take back.

The reasons are in `agents.py`; each of these tests fills the cells of the matrix that carry such a reason.
"""

import pytest

from .agents import Agent
from .behaviours import ALIASES, COMMANDS, CONTROLS, PROTOCOL_2, Behaviour, Family
from .checks import done, ended, refused
from .fake_model import HELD, USAGE_LIMIT, Turn, say, use
from .scene import BUDGET, OBJECTIVE, Scene

pytestmark = pytest.mark.family(Family.CODEX)
absent = pytest.mark.absent


@absent(*CONTROLS, *ALIASES, Behaviour.BAD_INPUT)
def test_every_control_request_is_refused_with_a_sentence(scene: Scene) -> None:
    """None of them reaches the agent, which would say that it does not know the method."""
    scene.open()
    for method in ("_session/goal", "_codex/session/goal_control", "_session/goal_control"):
        for action in ("set", "update", "pause", "resume", "clear", "nope"):
            refused(scene.control(action, method, objective=OBJECTIVE))
    assert scene.history() == [None]
    assert scene.model.turns == 0


@absent(*COMMANDS)
def test_the_command_goes_to_the_agent_and_no_goal_is_claimed(scene: Scene) -> None:
    """One of these agents does not know the command, the other one hands it to its model."""
    commands = (f"/goal {OBJECTIVE}", "/goal", "/goal status", "/goal pause", "/goal resume", "/goal clear")
    scene.open(*(say("I do not know that") for _ in commands))
    for command in commands:
        said = len(scene.text())
        ended(scene.prompt(command).reply())
        assert scene.text()[said:].strip()
    assert scene.history() == [None]


@absent(Behaviour.CANCEL)
def test_cancel_ends_the_turn_and_does_not_claim_a_pause(scene: Scene) -> None:
    """There is no way to pause the goal, so it is not said to be paused."""
    scene.open(use("create_goal", objective=OBJECTIVE), HELD)
    call = scene.prompt("make this a goal")
    scene.expect("active")
    scene.model.asked(2)
    scene.cancel()
    ended(call.reply(), "cancelled")
    scene.prompt("hello")
    scene.model.asked_about("hello")
    assert scene.history() == [None, "active"]


def silent(scene: Scene, *turns: Turn, budget: int | None = None) -> None:
    """Let a goal end in turns of its own and assert that the client hears nothing of it, hence nothing false."""
    scene.open()
    first = scene.start_goal(*turns, budget=budget)
    scene.expect("active")
    scene.model.asked(first + len(turns) - 1)
    scene.prompt("hello")
    scene.model.asked_about("hello")
    assert scene.history() == [None, "active"]


@absent(Behaviour.COMPLETE)
def test_a_completion_that_is_not_shown_is_not_guessed(scene: Scene) -> None:
    """The agent keeps it to itself."""
    silent(scene, use("update_goal", status="complete"), say("all shipped"))


@absent(Behaviour.BLOCKED)
def test_a_block_that_is_not_shown_is_not_guessed(scene: Scene) -> None:
    """The agent keeps it to itself."""
    silent(scene, use("update_goal", status="blocked"), say("I am stuck"))


@absent(Behaviour.USAGE_LIMIT)
def test_a_usage_limit_that_is_not_shown_is_not_guessed(scene: Scene) -> None:
    """The agent keeps it to itself."""
    silent(scene, USAGE_LIMIT)


@absent(Behaviour.BUDGET)
def test_a_used_up_budget_that_is_not_shown_is_not_guessed(scene: Scene) -> None:
    """The agent keeps it to itself."""
    silent(scene, say("step one", (1000, 50)), say("step two", (2500, 60)), budget=BUDGET)


@absent(Behaviour.PROMPT)
def test_a_prompt_during_a_turn_of_the_goal_reaches_the_model(scene: Scene) -> None:
    """Its answer never comes from the agent; at least the text is not lost, and the goal is still said to be active."""
    scene.open()
    turn = scene.start_goal()
    scene.expect("active")
    scene.model.asked(turn)
    scene.prompt("also do this")
    scene.model.release_until("also do this", turn)
    assert scene.history() == [None, "active"]


@absent(Behaviour.LOAD_ACTIVE, Behaviour.LOAD_PAUSED)
def test_an_unknown_state_is_not_claimed_after_session_load(scene: Scene, agent: Agent) -> None:
    """Not even "no goal", which would be wrong here."""
    unknown_after(scene, agent, "session/load")


@absent(Behaviour.RESUME_ACTIVE, Behaviour.RESUME_PAUSED)
def test_an_unknown_state_is_not_claimed_after_session_resume(scene: Scene, agent: Agent) -> None:
    """Not even "no goal", which would be wrong here."""
    unknown_after(scene, agent, "session/resume")


def unknown_after(scene: Scene, agent: Agent, method: str) -> None:
    """Restart with an active goal: nothing is said about it until the first control request that works."""
    scene.open()
    turn = scene.start_goal()
    scene.expect("active")
    scene.model.asked(turn)
    scene.reopen(method)
    refused(scene.control("no such action"))
    assert scene.history() == [None, "active"]
    if agent.controllable:
        scene.model.asked(turn + 1)
        done(scene.control("pause"))
        assert scene.expect("paused").goal["objective"] == OBJECTIVE


@absent(*PROTOCOL_2)
def test_a_client_that_offers_protocol_2_gets_what_the_agent_speaks(scene: Scene, agent: Agent) -> None:
    """The proxy changes nothing about the version."""
    result = scene.initialize(protocol=2)
    assert result["protocolVersion"] == 1
    assert result["_meta"]["goal"]["actions"] == agent.actions
