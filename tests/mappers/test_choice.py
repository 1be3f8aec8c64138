"""Which mapper an agent gets, and why, at every border between versions."""

from __future__ import annotations

from typing import Any

import pytest

from goalproxy.mappers import MAPPERS, choose, kind_of
from goalproxy.mappers.base import Agent

CODEX = "@agentclientprotocol/codex-acp"
NEUTRAL = {"goal": {"version": 1, "controlMethod": "_session/goal", "actions": ["clear", "fly"]}}


@pytest.mark.parametrize(
    ("name", "version", "meta", "mapper"),
    [
        (CODEX, "1.0.0", {}, "CodexProse"),
        (CODEX, "1.0.1", {}, "CodexProse"),
        ("codex-acp", "0.16.0", {}, "CodexProse"),
        ("@zed-industries/codex-acp", "0.9.0", {}, "CodexProse"),
        (CODEX, "1.0.2", {}, "CodexMeta"),
        (CODEX, "1.1.3", {}, "CodexMeta"),
        (CODEX, "1.1.9", {}, "CodexMeta"),
        (CODEX, "1.1.10", NEUTRAL, "CodexNeutral"),
        (CODEX, "1.13.1", NEUTRAL, "CodexNeutral"),
        (CODEX, "2.0.0", {}, "Air"),
        (CODEX, "2.0.0-rc.1", {}, "Air"),
        (CODEX, "10.0.0", {}, "Air"),
        ("tomorrow", "0.1", NEUTRAL, "Neutral"),
        ("", "", NEUTRAL, "Neutral"),
        (CODEX, "", {}, "Silent"),
        (CODEX, "1.1.10", {}, "Silent"),
        (CODEX, "0.9", {}, "Silent"),
        ("gemini-cli", "0.61.0", {}, "Silent"),
        ("", "", {}, "Silent"),
        ("x", "", {"goal": 7}, "Silent"),
        ("x", "", {"goal": {"actions": ["set"]}}, "Silent"),
    ],
)
def test_every_agent_gets_the_mapper_of_its_dialect(name: str, version: str, meta: dict[str, Any], mapper: str) -> None:
    agent = Agent(name, version, meta)
    chosen = choose(agent)
    assert type(chosen).__name__ == mapper
    assert chosen.why(agent), "the reason for the choice is told"


@pytest.mark.parametrize(
    ("capabilities", "mapper"),
    [
        ({"mcpCapabilities": {"http": True}, "sessionCapabilities": {"close": {}}}, "Dsh"),
        ({"promptCapabilities": {"image": False}}, "Silent"),
        ({}, "Silent"),
    ],
)
def test_a_dsh_that_tells_nothing_of_goals_is_taken_for_one_that_has_none(
    capabilities: dict[str, Any], mapper: str
) -> None:
    """All of them say that they are version 0.0.1."""
    info = {"name": "deepseek-harness-acp", "version": "0.0.1"}
    agent = Agent.of({"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities})
    assert type(choose(agent)).__name__ == mapper


def test_every_mapper_says_what_it_is_for() -> None:
    assert all(mapper.dialect and mapper.versions and mapper.__doc__ for mapper in MAPPERS)
    assert len({mapper.dialect for mapper in MAPPERS}) == len(MAPPERS)


@pytest.mark.parametrize(
    ("version", "method", "controls"),
    [
        ("1.1.3", "_codex/session/goal_control", ()),
        ("1.1.4", "_codex/session/goal_control", ("pause", "clear")),
        ("1.1.9", "_codex/session/goal_control", ("pause", "clear")),
        ("1.13.1", "_session/goal", ("clear",)),
        ("2.0.0", "_session/goal", ("set", "pause", "resume", "clear")),
    ],
)
def test_every_codex_takes_all_actions_some_of_them_by_its_method(
    version: str, method: str, controls: tuple[str, ...]
) -> None:
    mapper: Any = choose(Agent(CODEX, version, NEUTRAL))
    assert mapper.actions == ("set", "pause", "resume", "clear")
    assert (mapper.control_method, mapper.control_actions) == (method, controls)


def test_words_that_are_no_actions_are_not_advertised() -> None:
    assert choose(Agent("tomorrow", "1", NEUTRAL)).actions == ("clear",)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["npx", "-y", "@agentclientprotocol/codex-acp@2.6.0"], "codex"),
        (["/usr/bin/node", "/x/codex-acp/dist/index.js"], "codex"),
        (["codex-acp"], "codex"),
        (["gemini", "--acp"], ""),
        (["codex", "app-server"], ""),
    ],
)
def test_the_command_line_names_the_family(command: list[str], kind: str) -> None:
    assert kind_of(command) == kind
