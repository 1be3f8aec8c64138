"""The Python SDK's example agents behind the proxy: they have no model, no tools, and no state that could be asked for.

They say what they are told and are done at once, so a round is long only while the agent's process is stopped. One
process of each plays all the tests, each in a session of its own.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from .agents import Agent, NotInstalledError
from .behaviours import Behaviour, Family
from .checks import done, ended, refused
from .client import GRACE, children
from .conftest import Closing
from .scene import OBJECTIVE, Scene
from .traffic import Entry, Source

pytestmark = pytest.mark.family(Family.EXAMPLE)
covers, absent = pytest.mark.covers, pytest.mark.absent
ROUNDS: Final = 2


@pytest.fixture(scope="module")
def scenes(closing: Closing) -> Iterator[dict[str, Scene]]:
    """The scenes that are shared, by the agents' keys."""
    shared: dict[str, Scene] = {}
    yield shared
    for scene in shared.values():
        closing(scene)


@pytest.fixture
def scene(agent: Agent, scenes: dict[str, Scene], tmp_path: Path) -> Iterator[Scene]:
    """The agent's scene, with a new session; the run so far is judged afterwards."""
    try:
        agent.command()
    except NotInstalledError as missing:
        pytest.fail(str(missing), pytrace=False)
    scene = scenes.get(agent.key)
    if scene is None:
        scene = scenes[agent.key] = Scene(agent, tmp_path)
        settings = {"STORE": str(tmp_path / "goals.sqlite"), "MIN_INTERVAL": "0", "MAX_ROUNDS": str(ROUNDS)}
        scene.more = {f"GOALPROXY_{name}": value for name, value in settings.items()}
        scene.initialize()
    scene.another()
    yield scene
    done(scene.control("clear"))
    faults = scene.complaints()
    assert not faults, "\n".join(faults)


@contextmanager
def stopped(scene: Scene) -> Iterator[None]:
    """Keep the agent from doing anything, so that what it was asked for last goes on."""
    [process] = children(scene.client.process.pid)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def repeats(scene: Scene, words: str, after: int = -1) -> Entry:
    """Wait until the agent says these words, later than index `after`."""
    said = {"agent_message_chunk"}
    return scene.wait_update(
        f"{words!r}",
        lambda update: update.get("sessionUpdate") in said and words in update["content"].get("text", ""),
        after,
    )


@covers(Behaviour.CAPABILITY, Behaviour.NEW_SESSION)
def test_a_plain_client_is_told_of_goals(scene: Scene) -> None:
    """All four actions; and a new session has no goal."""
    results = (entry.message.get("result") for entry in scene.traffic.entries if entry.source is Source.AGENT)
    result = next(result for result in results if isinstance(result, dict) and "protocolVersion" in result)
    capability = {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}
    assert result["_meta"]["goal"] == capability
    assert scene.history() == [None]


@covers(Behaviour.COMMAND, Behaviour.REPORT)
def test_the_command_sets_a_goal_and_its_prompt_ends_at_once(scene: Scene) -> None:
    """The agent hears of the goal in a round, and nothing of the command or the report."""
    with stopped(scene):
        ended(scene.prompt(f"/goal {OBJECTIVE}").reply())
        assert scene.expect("active").goal["objective"] == OBJECTIVE
        ended(scene.prompt("/goal status").reply())
        assert OBJECTIVE in scene.text()
    scene.expect("limited")
    assert "/goal" not in scene.text().partition("round 1 of")[2]
    assert scene.history() == [None, "active", "limited"]


@covers(Behaviour.SET, Behaviour.ROUND_LIMIT)
@absent(Behaviour.COMPLETE)
def test_a_goal_that_is_never_reported_on_is_stopped_by_its_limit(scene: Scene) -> None:
    """Each round is told how to report; to repeat that is no report. To resume is refused: the limit is the operator's."""
    done(scene.control("set", objective=OBJECTIVE))
    limited = scene.expect("limited").goal
    assert limited["iterations"] == ROUNDS
    for number in range(1, ROUNDS + 1):
        repeats(scene, f"round {number} of at most {ROUNDS}")
    assert "GOAL-COMPLETE" in scene.text()
    refused(scene.control("resume"), str(ROUNDS))
    assert scene.history() == [None, "active", "limited"]


@covers(Behaviour.PAUSE, Behaviour.RESUME)
def test_pause_ends_the_round_and_resume_starts_the_next(scene: Scene) -> None:
    """Though the agent never says that it was cancelled."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        active = scene.expect("active")
        done(scene.control("pause"))
        scene.expect("paused")
    with stopped(scene):
        done(scene.control("resume"))
        assert scene.expect("active").created == active.created
    repeats(scene, "round 2 of")
    scene.expect("limited")
    assert scene.history() == [None, "active", "paused", "active", "limited"]


@covers(Behaviour.CLEAR)
def test_clear_ends_the_round_and_the_goal(scene: Scene) -> None:
    """A prompt after it is answered."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        scene.expect("active")
        done(scene.control("clear"))
        scene.expect(None)
    ended(scene.prompt("hello").reply())
    assert scene.text().endswith("hello")
    assert scene.history() == [None, "active", None]


@covers(Behaviour.REPLACE)
def test_replacing_a_goal_ends_the_round_of_the_old_one(scene: Scene) -> None:
    """The next round is the new goal's first."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        first = scene.expect("active")
        done(scene.control("set", objective="Test it"))
        assert scene.expect("active", new=first.goal).goal["iterations"] == 0
    limited = scene.expect("limited").goal
    assert limited["objective"] == "Test it"
    assert limited["iterations"] == ROUNDS
    assert scene.text().count("round 1 of") == 1 + 1


@covers(Behaviour.CANCEL)
def test_cancel_ends_the_round_and_pauses_the_goal(scene: Scene) -> None:
    """It can be resumed."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        scene.expect("active")
        scene.cancel()
        scene.expect("paused")
    done(scene.control("resume"))
    scene.expect("active")
    scene.expect("limited")
    assert scene.history() == [None, "active", "paused", "active", "limited"]


@covers(Behaviour.PROMPT)
def test_a_prompt_comes_before_the_next_round(scene: Scene) -> None:
    """The agent has one prompt at a time."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        scene.expect("active")
        call = scene.prompt("what is two and two?")
    ended(call.reply())
    scene.expect("limited")
    text = scene.text()
    assert text.index("round 1 of") < text.index("two and two") < text.index("round 2 of")


@covers(Behaviour.RESTART)
def test_a_goal_survives_the_death_of_its_agent(scene: Scene) -> None:
    """It is paused after a load; and a new session has none, though these agents give out the same ids again."""
    with stopped(scene):
        done(scene.control("set", objective=OBJECTIVE))
        active = scene.expect("active")
        proxy = scene.client.process
        os.kill(*children(proxy.pid), signal.SIGKILL)
        assert proxy.wait(GRACE) == -signal.SIGKILL
    scene.client.start_again()
    scene.initialize()
    scene.enter("session/load", scene.session)
    paused = scene.expect("paused").goal
    assert paused["createdAt"] == active.created
    assert "restored" in paused["lastReason"]
    done(scene.control("resume"))
    scene.expect("active")
    repeats(scene, "round 2 of")
    assert scene.expect("limited").goal["iterations"] == ROUNDS
    scene.another()
