"""What each family of agents needs around it to work for a fake model on this machine, and for nobody else.

Each agent gets a home of its own, which is thrown away; nobody's settings or keys reach it.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .agents import Agent
from .behaviours import Family
from .emulated_homes import PARTICULARS
from .fake_anthropic import FakeAnthropic
from .fake_chat import FakeChat
from .fake_model import FakeModel
from .fake_openai import FakeOpenAI
from .node import node_22

FOREIGN: Final = (
    "ANTHROPIC",
    "CLAUDE",
    "CODEX",
    "DEEPSEEK",
    "DSH",
    "GEMINI",
    "GOALPROXY",
    "GOOGLE",
    "IS_SANDBOX",
    "MISTRAL",
    "OPENAI",
    "OPENCODE",
    "QWEN",
    "VIBE",
)
"""What the names of somebody's settings begin with."""
CODEX_CONFIG: Final = """\
model = "{model}"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0
[features]
goals = true
[analytics]
enabled = false
"""
QWEN_SETTINGS: Final = {
    "security": {"auth": {"selectedType": "openai"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
}


@dataclass(frozen=True, slots=True)
class Kit:
    """A family's fake model, and what fills a home and returns the environment for it."""

    model: type[FakeModel]
    furnish: Callable[[Agent, Path, str], dict[str, str]]


def _codex(agent: Agent, home: Path, url: str) -> dict[str, str]:
    (home / "codex").mkdir()
    (home / "codex" / "config.toml").write_text(CODEX_CONFIG.format(model=agent.model, url=url), "utf-8")
    return {"CODEX_HOME": str(home / "codex"), "NO_BROWSER": "1", "RUST_LOG": "error"}


def _claude(_: Agent, home: Path, url: str) -> dict[str, str]:
    return {
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _qwen(agent: Agent, home: Path, url: str) -> dict[str, str]:
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text(json.dumps(QWEN_SETTINGS), "utf-8")
    return {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": url, "OPENAI_MODEL": agent.model}


def _dsh(_: Agent, home: Path, url: str) -> dict[str, str]:
    return {
        "DSH_HOME": str(home / "dsh"),
        "DSH_PERMISSION_MODE": "danger-full-access",
        "DSH_TELEMETRY_DISABLED": "1",
        "DEEPSEEK_API_KEY": "fake",
        "DEEPSEEK_BASE_URL": url,
    }


def _nothing(*_: object) -> dict[str, str]:
    return {}


KITS: Final[Mapping[Family, Kit]] = {
    Family.CODEX: Kit(FakeOpenAI, _codex),
    Family.CLAUDE: Kit(FakeAnthropic, _claude),
    Family.QWEN: Kit(FakeChat, _qwen),
    Family.DSH: Kit(FakeChat, _dsh),
    Family.EXAMPLE: Kit(FakeChat, _nothing),
}


def environment(agent: Agent, home: Path, url: str) -> dict[str, str]:
    """Fill the home of an agent and return all of its environment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    node = node_22() if agent.needs_node_22 else None
    if node is not None:
        env["PATH"] = f"{node.parent}{os.pathsep}{env['PATH']}"
    return env | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)} | kit_of(agent).furnish(agent, home, url)


def kit_of(agent: Agent) -> Kit:
    """Return what is around an agent: its family's, or its own where it has no goals."""
    if agent.family is not Family.PLAIN:
        return KITS[agent.family]
    own = PARTICULARS[agent.key]
    return Kit(own.model, lambda _, home, url: own.furnish(home, url))
