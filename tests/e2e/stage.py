"""A scene with an agent without goals, and what is particular about the agent; one stage plays many tests.

Each test has a session of its own. A prompt, a goal or a turn that is left over is ended before the next test.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from . import only_stdio
from .agents import Agent, NotInstalledError
from .checks import done, ended
from .conftest import Closing
from .emulated_homes import PARTICULARS, Particulars
from .fake_model import Found, Turn, say, use
from .scene import OBJECTIVE, Scene, Snapshot
from .traffic import Json

GOAL: Final = {"goal_id": Found(("goal", "id")), "revision": Found(("goal", "revision"))}


@dataclass
class Stage:
    """A scene, with what is particular about its agent. Turns of the model count from the start of the session."""

    scene: Scene
    agent: Agent
    own: Particulars
    before: int = 0
    sessions: list[str] = field(default_factory=list)

    def open(self, *turns: Turn) -> None:
        """Make a session and give the model its script; the first session starts the agent."""
        if self.sessions:
            self.scene.another()
        else:
            self.scene.open()
        self.sessions.append(self.scene.session)
        if self.own.finding is not None:
            self._find_tools(self.own.finding)
        self.before = self.scene.model.turns
        self.scene.model.script(*turns)

    def _find_tools(self, finding: str) -> None:
        """Let the model search for the proxy's tools, in a turn of the user's."""
        names = ",".join(self.own.named(tool) for tool in ("get_goal", "create_goal", "update_goal"))
        self.scene.model.script(use(finding, query=f"select:{names}"), say("found"))
        ended(self.scene.prompt("find the tools").reply())

    def introduction(self) -> Json:
        """Return what the agent, as the proxy shows it, said of itself."""
        results = (entry.message.get("result") for entry in self.scene.traffic.entries)
        return next(result for result in results if isinstance(result, dict) and "agentCapabilities" in result)

    def report(self, action: str, reason: str) -> tuple[Turn, Turn]:
        """Return the two turns in which the model looks at the goal and reports on it."""
        looking = use(self.own.named("get_goal"))
        return looking, use(self.own.named("update_goal"), action=action, reason=reason, **GOAL)

    def asked(self, turn: int) -> str:
        """Wait until the model has been asked for a turn; return what it was asked."""
        return str(self.scene.model.asked(self.before + turn).message["about"])

    def release(self, turn: int) -> None:
        """Let a held turn end."""
        self.scene.model.release(self.before + turn)

    def set(self, *turns: Turn, **more: Any) -> Snapshot:
        """Open a session and set a goal in it."""
        self.open(*turns)
        done(self.scene.control("set", objective=OBJECTIVE, **more))
        return self.scene.expect("active")

    def rest(self) -> None:
        """End what runs: a prompt waits for the end of a round, so its own turn is the last one."""
        if not self.sessions:
            return
        done(self.scene.control("clear"))
        call = self.scene.prompt("that is all")
        self.scene.model.asked_about("that is all", after=self.before)
        self.scene.cancel()
        call.reply()

    def history(self) -> list[str | None]:
        """Return the states the client was shown."""
        return self.scene.history()


def stage_of(agent: Agent, folder: Path, **settings: str) -> Stage:
    """Return a stage for an agent, with these settings of the proxy; nothing is started yet."""
    try:
        agent.command()
    except NotInstalledError as missing:
        pytest.fail(str(missing), pytrace=False)
    scene = Scene(agent, folder)
    settings = {"STORE": str(folder / "goals.sqlite"), "MIN_INTERVAL": "0", **settings}
    scene.more = {f"GOALPROXY_{name}": value for name, value in settings.items()}
    return Stage(scene, agent, PARTICULARS[agent.key])


def patient_stage_of(agent: Agent, folder: Path) -> Stage:
    """Return a stage on which prompts wait for goals, and the tools come on stdio."""
    stage = stage_of(agent, folder, ON_PROMPT="queue", TURNS="held")
    stage.scene.before_agent = [sys.executable, str(Path(only_stdio.__file__))]
    return stage


@dataclass
class Stages:
    """The stages that are shared, by the agents' keys."""

    closing: Closing
    of: dict[str, Stage] = field(default_factory=dict)

    def play(self, agent: Agent, make: Callable[[], Stage]) -> Iterator[Scene]:
        """Yield the scene of an agent's stage, which is made where there is none; the run so far is judged afterwards."""
        stage = self.of.get(agent.key) or self.of.setdefault(agent.key, make())
        try:
            yield stage.scene
            stage.rest()
        except BaseException:
            del self.of[agent.key]
            stage.scene.close()
            raise
        faults = stage.scene.complaints()
        assert not faults, "\n".join(faults)

    def close(self) -> None:
        """Stop all of them."""
        for stage in self.of.values():
            self.closing(stage.scene)
