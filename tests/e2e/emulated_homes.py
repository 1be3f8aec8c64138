"""What each agent without goals needs around it to work for a fake model, and what is particular about it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .fake_anthropic import FakeAnthropic
from .fake_chat import FakeChat, FakeVibe
from .fake_gemini import FakeGemini
from .fake_model import FakeModel
from .traffic import Json

GEMINI_FILE: Final = ".gemini/settings.json"
QWEN_FILE: Final = ".qwen/settings.json"
OPENCODE_FILE: Final = ".config/opencode/opencode.json"
VIBE_CONFIG: Final = """\
active_model = "fake"
enable_telemetry = false
enable_update_checks = false
[[providers]]
name = "fake"
api_base = "{url}"
api_key_env_var = "FAKE_API_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "fake-model"
provider = "fake"
alias = "fake"
"""
GEMINI_SETTINGS: Final = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
    "telemetry": {"enabled": False},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What the tests have to know of an agent.

    model, furnish: its fake model; fills its home and returns what it needs in the environment
    tool: the name under which its model sees a tool of the server `goal`
    takes_http: it says that it takes MCP servers over http
    reloads: it can load a session after a restart
    finding: the tool with which its model has to search for the proxy's tools; None where it sees them at once
    settings, excluded: the file of its settings, and what in it keeps the server `goal` out
    counts: the tokens that it reports for a prompt with these model calls (input, output); None where it says nothing
    """

    model: type[FakeModel]
    furnish: Callable[[Path, str], dict[str, str]]
    tool: str
    takes_http: bool = True
    reloads: bool = True
    counts: Callable[[list[tuple[int, int]]], int] | None = None
    settings: str = ""
    excluded: Json = field(default_factory=dict)
    finding: str | None = None

    def exclude_tools(self, home: Path) -> None:
        """Let the agent's settings keep the proxy's tools out."""
        file = home / self.settings
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **self.excluded}), "utf-8")

    def named(self, tool: str) -> str:
        """Return the name under which the model sees one of the proxy's tools."""
        return self.tool.format(tool)


def _every_call(calls: list[tuple[int, int]]) -> int:
    return sum(given + made for given, made in calls)


def _last_call(calls: list[tuple[int, int]]) -> int:
    return sum(calls[-1])


def _gemini(home: Path, url: str) -> dict[str, str]:
    _write(home / GEMINI_FILE, GEMINI_SETTINGS)
    return {
        "GEMINI_API_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _opencode(home: Path, url: str) -> dict[str, str]:
    models = {name: {"name": name, "limit": {"context": 100_000, "output": 4096}} for name in ("turn", "aside")}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": url, "apiKey": "fake"},
        "models": models,
    }
    settings: Json = {"autoupdate": False, "share": "disabled", "model": "fake/turn", "small_model": "fake/aside"}
    _write(home / OPENCODE_FILE, {**settings, "provider": {"fake": provider}})
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _qwen(home: Path, url: str) -> dict[str, str]:
    general = {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}
    _write(home / QWEN_FILE, {"security": {"auth": {"selectedType": "openai"}}, **general})
    return {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "fake-model"}


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _vibe(home: Path, url: str) -> dict[str, str]:
    (home / ".vibe").mkdir()
    (home / ".vibe" / "config.toml").write_text(VIBE_CONFIG.format(url=url), "utf-8")
    return {"FAKE_API_KEY": "fake", "MISTRAL_API_KEY": "fake"}


def _write(file: Path, content: Json) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content), "utf-8")


PARTICULARS: Final[Mapping[str, Particulars]] = {
    "gemini-cli-0.61.0": Particulars(
        model=FakeGemini,
        furnish=_gemini,
        tool="mcp_goal_{}",
        reloads=False,
        counts=_every_call,
        settings=GEMINI_FILE,
        excluded={"mcp": {"excluded": ["goal"]}},
    ),
    "opencode-1.18.33": Particulars(
        model=FakeChat,
        furnish=_opencode,
        tool="goal_{}",
        counts=_last_call,
        settings=OPENCODE_FILE,
        excluded={"tools": {"goal_*": False}},
    ),
    "mistral-vibe-3.0.2": Particulars(
        model=FakeVibe, furnish=_vibe, tool="mcp_goal.{}", takes_http=False, counts=_last_call
    ),
    "qwen-code-0.15.10": Particulars(
        model=FakeChat,
        furnish=_qwen,
        tool="mcp__goal__{}",
        counts=_every_call,
        settings=QWEN_FILE,
        excluded={"mcp": {"excluded": ["goal"]}},
        finding="tool_search",
    ),
    "zed-claude-code-acp-0.16.2": Particulars(model=FakeAnthropic, furnish=_claude, tool="mcp__goal__{}"),
}
"""By the key of the agent."""
