"""The real agents as data: what to install, how to start it, and what it can and cannot do.

A behaviour that cannot be had from a build has its reason here. It is still tested: such a test asserts that the
client is told the truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from .behaviours import ALIASES, COMMANDS, CONTROLS, ENDINGS, PROTOCOL_2, RESTARTS, Behaviour, Family
from .node import NODE_22, agents_dir, node_22
from .python import LOCKS, MINIMUM


class NotInstalledError(Exception):
    """A build is missing from this machine; the text says how to install it."""


class Language(Enum):
    """What an agent is written in: it decides who installs it and what runs it."""

    NODE = "npm, Node.js"
    PYTHON = "uv, Python"


class Generation(Enum):
    """How a build shows its goals and how it takes commands about them. See docs of the mappers."""

    PROSE = "goals only as sentences in the agent's text, no control"
    CODEX_META = "_meta.codex.goal, control only by /goal prompts"
    LEGACY_CONTROL = "_meta.codex.goal, pause and clear by the legacy method"
    NO_SET = "_meta.goal, _session/goal without set"
    NEUTRAL = "_meta.goal and all of _session/goal"
    AIR = "goals only for AIR clients, _session/goal for all"
    LOG_ONLY = "goals only in the log of the session, control by /goal in prompts and steering"
    LOG = "goals in the log of the session, _session/goal with set and clear"
    GOAL_STATE = "_meta.goalState, control with compare-and-set"
    NONE = "none: the proxy keeps them"
    TOOLS = "goals only in the results of the model's tools, no control"


WITHOUT_CONTROL: Final = frozenset({Generation.PROSE, Generation.TOOLS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One build of an agent.

    key: name in test ids, folders and the matrix
    title: its name for people
    package, version: what is installed
    program: the script that is run, and its arguments; where it is, depends on the language
    language: what the script is written in
    vendored: an archive with the program, unpacked where the package is installed: one in the package (Node.js), or
        the package's own source (Python)
    model: a model name this build knows (for an unknown one it puts a warning into every turn)
    lacks: behaviours that cannot be had from it, each with the reason
    needs_node_22: it does not run with an older Node.js
    ends_with_input: it exits when its standard input ends
    ends_when_told: it exits on SIGTERM, whatever it is about to do
    keeps_jetbrains: it sends `_meta.jetbrains` to every client by itself, so that the proxy has nothing to strip
    """

    key: str
    title: str
    family: Family
    package: str
    version: str
    generation: Generation
    program: tuple[str, ...]
    language: Language = Language.NODE
    vendored: str | None = None
    model: str = "fake-model"
    lacks: Mapping[Behaviour, str] = field(default_factory=dict)
    needs_node_22: bool = False
    ends_with_input: bool = True
    ends_when_told: bool = True
    keeps_jetbrains: bool = False

    @property
    def controllable(self) -> bool:
        """Whether a client can set, pause, resume and clear goals, by whatever way the proxy takes."""
        return self.generation not in WITHOUT_CONTROL

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

    @property
    def lock(self) -> Path:
        """What the environment of an agent in Python consists of."""
        return LOCKS / f"{self.package}-{self.version}.txt"

    def command(self) -> list[str]:
        """Return the command line that starts this build, or raise NotInstalledError."""
        name, *arguments = self.program
        node = node_22() if self.needs_node_22 else None
        if self.language is Language.PYTHON:
            program, runner = self.folder / name, [str(self.folder / "venv" / "bin" / "python")]
        else:
            program, runner = self.folder / "node_modules" / name, [str(node)] if node else []
        if not program.exists() or (self.needs_node_22 and node is None):
            target = "agents" if self in DEFAULT else "agents-all"
            missing = self.key if not program.exists() else NODE_22
            needs = f"Python {MINIMUM} or newer" if self.language is Language.PYTHON else "Node.js"
            raise NotInstalledError(
                f"{missing} is not installed in {agents_dir()}: run `make {target}` (needs {needs})"
            )
        return [*runner, str(program), *arguments]


def _because(reason: str, *groups: tuple[Behaviour, ...]) -> dict[Behaviour, str]:
    """Give all behaviours of these groups the same reason."""
    return {behaviour: reason for group in groups for behaviour in group}


_V1_ONLY = _because("speaks ACP protocol 1 only", PROTOCOL_2)
_CLAUDE_V1_ONLY = _because("speaks ACP protocol 1 only", (Behaviour.V2_CAPABILITY,))
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
        title=f"codex-acp {version}",
        family=Family.CODEX,
        package="@agentclientprotocol/codex-acp",
        version=version,
        generation=generation,
        program=(".bin/codex-acp",),
        model=model,
        lacks=lacks,
        keeps_jetbrains=keeps_jetbrains,
    )


def _claude(
    version: str,
    generation: Generation = Generation.LOG,
    lacks: Mapping[Behaviour, str] | None = None,
    *,
    keeps_jetbrains: bool = False,
) -> Agent:
    """Describe one release of @agentclientprotocol/claude-agent-acp."""
    return Agent(
        key=f"claude-agent-acp-{version}",
        title=f"claude-agent-acp {version}",
        family=Family.CLAUDE,
        package="@agentclientprotocol/claude-agent-acp",
        version=version,
        generation=generation,
        program=(".bin/claude-agent-acp",),
        lacks=lacks or {},
        keeps_jetbrains=keeps_jetbrains,
    )


ZED: Final = Agent(
    key="zed-codex-acp-0.16.0",
    title="zed codex-acp 0.16.0",
    family=Family.CODEX,
    package="@zed-industries/codex-acp",
    version="0.16.0",
    generation=Generation.PROSE,
    program=(".bin/codex-acp",),
    model="gpt-5.5",
    lacks={**_NO_CONTROL, **_SILENT_TURNS},
    ends_with_input=False,
)
QWEN: Final = Agent(
    key="qwen-code-0.24.4",
    title="qwen-code 0.24.4",
    family=Family.QWEN,
    package="@qwen-code/qwen-code",
    version="0.24.4",
    generation=Generation.GOAL_STATE,
    program=("@qwen-code/qwen-code/cli-entry.js", "--acp"),
    needs_node_22=True,
)
DSH: Final = Agent(
    key="dsh-0.1.5-rc.1",
    title="DSH 0.1.5-rc.1",
    family=Family.DSH,
    package="@openma/deepseek-harness-acp",
    version="0.4.33",
    generation=Generation.TOOLS,
    program=("@deepseek-ai/dsh/lib/bin.js", "--profile", "acp"),
    vendored="vendor/dsh-runtime.tgz",
    needs_node_22=True,
    lacks={
        **_because(
            "has no control of goals over ACP: its model's goals are observed, nothing else",
            COMMANDS, CONTROLS, (Behaviour.CANCEL, Behaviour.BAD_INPUT),
        ),
        **_because("has no `session/load`", (Behaviour.LOAD,)),
        **_because(
            "says nothing about a goal when a session is resumed; it is known from its model's next look at it on",
            (Behaviour.RESUMED,),
        ),
        **_because(
            "says nothing when the last round is used up; it is known from its model's next look at it on",
            (Behaviour.ROUND_LIMIT,),
        ),
    },
)  # fmt: skip
LEGACY: Final = _codex("1.1.7", Generation.LEGACY_CONTROL, "gpt-5.6-sol", _V1_ONLY)
NEWEST: Final = _codex("2.6.0", Generation.AIR, "gpt-6.1-sol", {})
_NO_RESUME: Final = _because("has no `session/resume`", (Behaviour.RESTART_RESUME,))
_NO_FORK: Final = _because("has no `session/fork`", (Behaviour.FORK,))
GEMINI: Final = Agent(
    key="gemini-cli-0.61.0",
    title="Gemini CLI 0.61.0",
    family=Family.PLAIN,
    package="@google/gemini-cli",
    version="0.61.0",
    generation=Generation.NONE,
    program=(".bin/gemini", "--acp"),
    lacks={
        **_because("says that it can load a session and cannot find it then", (Behaviour.RESTART,)),
        **_NO_RESUME,
        **_NO_FORK,
    },
    ends_with_input=False,
)
OPENCODE: Final = Agent(
    key="opencode-1.18.33",
    title="opencode 1.18.33",
    family=Family.PLAIN,
    package="opencode-ai",
    version="1.18.33",
    generation=Generation.NONE,
    program=(".bin/opencode", "acp"),
)
QWEN_0_15: Final = Agent(
    key="qwen-code-0.15.10",
    title="Qwen Code 0.15.10",
    family=Family.PLAIN,
    package="@qwen-code/qwen-code",
    version="0.15.10",
    generation=Generation.NONE,
    program=(".bin/qwen", "--acp"),
    lacks={
        **_because("says that it can resume a session and has no `session/resume`", (Behaviour.RESTART_RESUME,)),
        **_NO_FORK,
    },
)
ZED_CLAUDE: Final = Agent(
    key="zed-claude-code-acp-0.16.2",
    title="zed claude-code-acp 0.16.2",
    family=Family.PLAIN,
    package="@zed-industries/claude-code-acp",
    version="0.16.2",
    generation=Generation.NONE,
    program=(".bin/claude-code-acp",),
    lacks={
        **_because("does not say how many tokens it uses", (Behaviour.BUDGET,)),
        **_because("cannot load a session that it was killed in", (Behaviour.RESTART, Behaviour.RESTART_RESUME)),
    },
)
VIBE: Final = Agent(
    key="mistral-vibe-3.0.2",
    title="Mistral Vibe 3.0.2",
    family=Family.PLAIN,
    package="mistral-vibe",
    version="3.0.2",
    generation=Generation.NONE,
    program=("venv/bin/vibe-acp",),
    language=Language.PYTHON,
    ends_when_told=False,
    lacks={
        **_because("does not say that it takes MCP servers over HTTP", (Behaviour.TOOLS_HTTP,)),
    },
)
_EXAMPLES: Final = "agent_client_protocol-0.12.1"


def _example(name: str) -> Agent:
    """Describe an example of the Python SDK, as it comes with the SDK's source."""
    return Agent(
        key=f"python-sdk-{name.replace('_', '-')}-0.12.1",
        title=f"`{name}.py` 0.12.1",
        family=Family.EXAMPLE,
        package="agent-client-protocol",
        version="0.12.1",
        generation=Generation.NONE,
        program=(f"{_EXAMPLES}/examples/{name}.py",),
        language=Language.PYTHON,
        vendored=f"{_EXAMPLES}.tar.gz",
        lacks=_because("has no model: it says what it is told, and reports nothing", (Behaviour.COMPLETE,)),
    )


ECHO: Final = _example("echo_agent")
EXAMPLE: Final = _example("agent")
CLAUDE: Final = _claude("0.101.0")
AGENTS: Final = (
    ZED,
    _codex("1.0.0", Generation.PROSE, "gpt-5.5", _NO_CONTROL),
    _codex("1.1.0", Generation.CODEX_META, "gpt-5.5", {**_V1_ONLY, **_SILENT_ON_LOAD}),
    LEGACY,
    _codex("1.1.13", Generation.NO_SET, "gpt-5.6-sol", _V1_ONLY),
    _codex("1.13.1", Generation.NEUTRAL, "gpt-6-astra", _V1_ONLY, keeps_jetbrains=True),
    NEWEST,
    _claude("0.65.0", Generation.LOG_ONLY, _CLAUDE_V1_ONLY),
    _claude("0.66.0", lacks=_CLAUDE_V1_ONLY),
    _claude("0.81.2", lacks=_CLAUDE_V1_ONLY, keeps_jetbrains=True),
    CLAUDE,
    QWEN,
    DSH,
    GEMINI,
    OPENCODE,
    VIBE,
    QWEN_0_15,
    ZED_CLAUDE,
    ECHO,
    EXAMPLE,
)
DEFAULT: Final = (
    NEWEST,
    LEGACY,
    CLAUDE,
    QWEN,
    DSH,
    GEMINI,
    OPENCODE,
    QWEN_0_15,
    ZED_CLAUDE,
    VIBE,
    ECHO,
    EXAMPLE,
)
BY_KEY: Final = {agent.key: agent for agent in AGENTS}
