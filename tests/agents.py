"""Agents that a test of the engine can begin with: introduced, with one session ``s`` open, which has no goal."""

from __future__ import annotations

import json
from typing import Any

from goalproxy.proxy.core.connection import Policy, ToolServer

from .transcript import START, Play

CODEX = "@agentclientprotocol/codex-acp"
CREATED = START + 5000
"""When the agents of these tests say that their goals began: after the session was opened, as agents do."""
ALL = ["set", "pause", "resume", "clear"]
TERMINAL_OUTPUT = {"fs": {}, "_meta": {"terminal_output": True}}


def neutral(*actions: str, **options: Any) -> Play:
    """An agent that nobody has heard of, which advertises the neutral extension."""
    goal = {"version": 1, "controlMethod": "_session/goal", "actions": list(actions or ALL)}
    return introduced({"agentInfo": {"name": "tomorrow", "version": "1"}, "_meta": {"goal": goal}}, **options)


def codex(version: str, **options: Any) -> Play:
    """A Codex adapter of a version, as it introduces itself to a plain client that the proxy speaks for."""
    meta: dict[str, Any] = {"steering": {"supported": True}}
    numbers = tuple(int(part) for part in version.split("."))
    if (1, 1, 10) <= numbers < (2,):
        actions = ALL if numbers >= (1, 1, 14) else ALL[1:]
        meta["goal"] = {"version": 1, "controlMethod": "_session/goal", "actions": actions}
    if numbers >= (2,):
        goal = {"version": 1, "controlMethod": "_session/goal", "actions": ALL}
        meta["jetbrains"] = {"air": {"version": 1, "goal": goal}}
    result = {"agentInfo": {"name": CODEX, "title": "Codex", "version": version}, "_meta": meta}
    return introduced(result, declares_air=True, **options)


def plain(*, http: bool = False, with_tools: bool = False, **options: Any) -> Play:
    """An agent that has no goals, so that the proxy keeps them; ``options`` are those of the policy, and ``protocol``."""
    protocol = options.pop("protocol", 1)
    if with_tools:
        options["tools"] = lambda: ToolServer("http://127.0.0.1:9/mcp", ("goal-bridge", "-x"))
    capabilities = (
        {"mcpCapabilities": {"http": http}} if protocol == 1 else {"session": {"mcp": {"http": {}} if http else {}}}
    )
    key = "agentCapabilities" if protocol == 1 else "capabilities"
    result = {"agentInfo": {"name": "plain", "version": "1"}, key: capabilities}
    return introduced(result, protocol=protocol, policy=Policy(**options))


def plain_at_work(**options: Any) -> Play:
    """The same in the first round of the goal "Ship it", under ``$1``; there are no tools unless they are asked for."""
    play = plain(**options)
    play.feed("client", "control 3 set Ship it")
    play.drop_timers()
    play.facts.clear()
    return play


def introduced(result: dict[str, Any], *, protocol: int = 1, **options: Any) -> Play:
    """An agent that answers ``initialize`` with a result, and its session."""
    play = Play(**options)
    if protocol > 1:
        result = {"info" if key == "agentInfo" else key: value for key, value in result.items()}
    _feed(play, f'client >> request 1 initialize {{"protocolVersion": {protocol}}}')
    _feed(play, f"agent >> result 1 {json.dumps({'protocolVersion': protocol, **result})}")
    _feed(play, 'client >> request 2 session/new {"cwd": "/w", "mcpServers": []}')
    _feed(play, 'agent >> result 2 {"sessionId": "s"}')
    play.facts.clear()
    play.drop_timers()
    return play


def _feed(play: Play, line: str) -> None:
    """Play a line whose consequences are another test's matter."""
    who, _, text = line.split(maxsplit=2)
    play.feed(who, text)


def snapshot(dialect: str, **goal: Any) -> str:
    """The update by which an agent publishes a goal, as a line of a transcript."""
    return _update(dialect, {"tokenBudget": None, "createdAt": CREATED, **goal})


def gone(dialect: str) -> str:
    """The update by which an agent says that there is no goal."""
    return _update(dialect, None)


def mark(kind: str) -> str:
    """The update by which Codex brackets a turn: ``active`` or ``idle``."""
    return "update " + json.dumps(
        {"sessionUpdate": "session_info_update", "_meta": {"codex": {"threadStatus": {"type": kind}}}}
    )


def _update(dialect: str, goal: dict[str, Any] | None) -> str:
    meta: dict[str, Any] = {
        "neutral": {"goal": goal},
        "codex": {"codex": {"goal": goal}},
        "air": {"jetbrains": {"air": {"version": 1, "goal": goal}}},
    }[dialect]
    return "update " + json.dumps({"sessionUpdate": "session_info_update", "_meta": meta})
