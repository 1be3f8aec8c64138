"""The real agents as data: what to install, how to start it, and what it can and cannot do.

A behaviour that cannot be had from a build has its reason here. It is still tested: such a test asserts that the
client is told the truth.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


class NotInstalledError(Exception):
    """A build is missing from this machine; the text says how to install it."""


class Generation(Enum):
    """How a build shows its goals and how it takes commands about them. See docs of the mappers."""

    PROSE = "goals only as sentences in the agent's text, no control"
    CODEX_META = "_meta.codex.goal, control only by /goal prompts"
    LEGACY_CONTROL = "_meta.codex.goal, pause and clear by the legacy method"
    NO_SET = "_meta.goal, _session/goal without set"
    NEUTRAL = "_meta.goal and all of _session/goal"
    AIR = "goals only for AIR clients, _session/goal for all"


class Behaviour(StrEnum):
    """The rows of the matrix, in order; the value is what a reader of the README sees."""

    TRANSPARENT = "an ordinary prompt arrives as without the proxy"
    CAPABILITY = "capability seen by a plain client"
    NEW_SESSION = "a new session says that it has no goal"
    MODEL_GOAL = "goal made by the model is seen"
    COMMAND = "`/goal <objective>`"
    REPORT = "`/goal` and `/goal status` report"
    WORDS = "`/goal pause`, `resume`, `clear`"
    SET = "control: set"
    PAUSE = "control: pause"
    RESUME = "control: resume"
    CLEAR = "control: clear"
    REPLACE = "replace while running"
    COMPLETE = "the model completes the goal"
    BLOCKED = "the model is blocked"
    USAGE_LIMIT = "usage limit"
    BUDGET = "token budget used up"
    CANCEL = "cancel pauses the goal"
    PROMPT = "ordinary prompt during an autonomous turn"
    LOAD_ACTIVE = "`session/load` after a restart, active goal"
    LOAD_PAUSED = "`session/load` after a restart, paused goal"
    RESUME_ACTIVE = "`session/resume` after a restart, active goal"
    RESUME_PAUSED = "`session/resume` after a restart, paused goal"
    BAD_INPUT = "bad control input"
    ALIAS_CODEX = "alias `_codex/session/goal_control`"
    ALIAS_SESSION = "alias `_session/goal_control`"
    V2_CAPABILITY = "protocol 2: capability"
    V2_COMMAND = "protocol 2: `/goal <objective>`"
    V2_SET = "protocol 2: set"
    V2_PAUSE = "protocol 2: pause and resume"
    V2_CLEAR = "protocol 2: clear"
    V2_COMPLETE = "protocol 2: the model completes the goal"
    V2_RESUME = "protocol 2: `session/resume` after a restart"


CONTROLS: Final = (Behaviour.SET, Behaviour.PAUSE, Behaviour.RESUME, Behaviour.CLEAR, Behaviour.REPLACE)
ALIASES: Final = (Behaviour.ALIAS_CODEX, Behaviour.ALIAS_SESSION)
RESTARTS: Final = (Behaviour.LOAD_ACTIVE, Behaviour.LOAD_PAUSED, Behaviour.RESUME_ACTIVE, Behaviour.RESUME_PAUSED)
COMMANDS: Final = (Behaviour.COMMAND, Behaviour.REPORT, Behaviour.WORDS)
ENDINGS: Final = (Behaviour.COMPLETE, Behaviour.BLOCKED, Behaviour.USAGE_LIMIT, Behaviour.BUDGET)
PROTOCOL_2: Final = tuple(behaviour for behaviour in Behaviour if behaviour.name.startswith("V2_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One build of an agent.

    key: name in test ids, folders and the matrix
    package, version: what npm installs; the command is called `program`
    model: a model name this build knows (for an unknown one it puts a warning into every turn)
    lacks: behaviours that cannot be had from it, each with the reason
    ends_with_input: it exits when its standard input ends
    keeps_jetbrains: it sends `_meta.jetbrains` to every client by itself, so that the proxy has nothing to strip
    """

    key: str
    package: str
    version: str
    generation: Generation
    model: str
    program: str = "codex-acp"
    lacks: Mapping[Behaviour, str] = field(default_factory=dict)
    ends_with_input: bool = True
    keeps_jetbrains: bool = False

    @property
    def controllable(self) -> bool:
        """Whether a client can set, pause, resume and clear goals, by whatever way the proxy takes."""
        return self.generation is not Generation.PROSE

    @property
    def actions(self) -> list[str]:
        """The actions the proxy is expected to advertise."""
        return ["set", "pause", "resume", "clear"] if self.controllable else []

    @property
    def reports_tokens(self) -> bool:
        """Whether its snapshots count tokens."""
        return self.generation in {Generation.NO_SET, Generation.NEUTRAL, Generation.AIR}

    @property
    def folder(self) -> Path:
        """Where this build is installed."""
        return agents_dir() / self.key

    def command(self) -> list[str]:
        """Return the command line that starts this build, or raise NotInstalledError."""
        program = self.folder / "node_modules" / ".bin" / self.program
        if not program.exists():
            target = "agents" if self in DEFAULT else "agents-all"
            raise NotInstalledError(
                f"{self.key} is not installed in {agents_dir()}: run `make {target}` (needs Node.js)"
            )
        return [str(program)]


def agents_dir() -> Path:
    """Return the folder of all builds: $GOALPROXY_AGENTS_DIR, else `.agents` in the repository."""
    return Path(os.environ.get("GOALPROXY_AGENTS_DIR") or ROOT / ".agents")


def _because(reason: str, *groups: tuple[Behaviour, ...]) -> dict[Behaviour, str]:
    """Give all behaviours of these groups the same reason."""
    return {behaviour: reason for group in groups for behaviour in group}


_V1_ONLY = _because("speaks ACP protocol 1 only", PROTOCOL_2)
_NO_CONTROL = {
    **_V1_ONLY,
    **_because(
        "has no goal command and no control method: its model's goals are observed, nothing else",
        COMMANDS, CONTROLS, (Behaviour.CANCEL, Behaviour.BAD_INPUT), ALIASES,
    ),
    **_because("says nothing about a goal when a session is loaded or resumed", RESTARTS),
    **_because("never answers a prompt that comes during a turn which the goal runs by itself", (Behaviour.PROMPT,)),
}  # fmt: skip
_SILENT_ON_LOAD = _because(
    "says nothing about a goal when a session is loaded or resumed; it is known from the next command on", RESTARTS
)
_SILENT_TURNS = _because(
    "shows a client nothing of the turns that a goal runs by itself, nor how they leave the goal", ENDINGS
)


def _codex(
    version: str, generation: Generation, model: str, lacks: Mapping[Behaviour, str], *, keeps_jetbrains: bool = False
) -> Agent:
    """Describe one release of @agentclientprotocol/codex-acp."""
    return Agent(
        key=f"codex-acp-{version}",
        package="@agentclientprotocol/codex-acp",
        version=version,
        generation=generation,
        model=model,
        lacks=lacks,
        keeps_jetbrains=keeps_jetbrains,
    )


ZED: Final = Agent(
    key="zed-codex-acp-0.16.0",
    package="@zed-industries/codex-acp",
    version="0.16.0",
    generation=Generation.PROSE,
    model="gpt-5.5",
    lacks={**_NO_CONTROL, **_SILENT_TURNS},
    ends_with_input=False,
)
LEGACY: Final = _codex("1.1.7", Generation.LEGACY_CONTROL, "gpt-5.6-sol", _V1_ONLY)
NEWEST: Final = _codex("2.6.0", Generation.AIR, "gpt-6.1-sol", {})
AGENTS: Final = (
    ZED,
    _codex("1.0.0", Generation.PROSE, "gpt-5.5", _NO_CONTROL),
    _codex("1.1.0", Generation.CODEX_META, "gpt-5.5", {**_V1_ONLY, **_SILENT_ON_LOAD}),
    LEGACY,
    _codex("1.1.13", Generation.NO_SET, "gpt-5.6-sol", _V1_ONLY),
    _codex("1.13.1", Generation.NEUTRAL, "gpt-6-astra", _V1_ONLY, keeps_jetbrains=True),
    NEWEST,
)
DEFAULT: Final = (NEWEST, LEGACY)
BY_KEY: Final = {agent.key: agent for agent in AGENTS}
