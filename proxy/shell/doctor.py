"""``goalproxy doctor``: start an agent, introduce ourselves as a plain client, and say what its goals will look like.

Nothing is asked of the agent but ``initialize``: no session, no model call.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from goalproxy.mappers import choose
from goalproxy.mappers.base import Agent, Mapper, at
from goalproxy.proxy.core.actions import Relay, Rewrite
from goalproxy.proxy.core.connection import Policy, owner_of
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import FromAgent, FromClient
from goalproxy.proxy.core.facts import Owner
from goalproxy.proxy.errors import Failure
from goalproxy.proxy.goal.control import ACTIONS
from goalproxy.proxy.settings import Settings
from goalproxy.proxy.version import VERSION
from goalproxy.proxy.wire import acp, jsonrpc
from goalproxy.proxy.wire.envelope import Envelope, load, peek
from goalproxy.proxy.wire.ndjson import LineBuffer, lines

from .process import AgentProcess
from .sidecar import policy

_ID = "goalproxy-doctor"
_CHUNK = 1 << 16
_KEEPER = {"native": "the agent", "emulated": "goalproxy, which works for them in rounds", None: "nobody"}


class NoAnswer(Failure):
    """The agent started and did not answer ``initialize`` with a result."""

    exit_code = 3


class Diagnosis(Struct, frozen=True):
    """What was found. ``actions`` are the controls that work; ``missing`` pairs what does not with what to do."""

    command: list[str]
    agent: str
    version: str
    protocol: int
    dialect: str
    why: str
    owner: Owner | None
    actions: list[str]
    slash_command: str
    declared_air: bool
    missing: list[tuple[str, str]]

    @property
    def exit_code(self) -> int:
        """For scripts: 0 if every control works, 1 if something is missing."""
        return 1 if self.missing else 0


def examine(command: Sequence[str], settings: Settings, timeout: float) -> Diagnosis:
    """Start the agent, initialize it through the engine, end it. ``timeout`` is in seconds. Raises Failure."""
    rules = policy(command, settings)
    engine = Engine(rules, choose, os.urandom(8).hex(), lambda: "")
    process = AgentProcess(command)
    try:
        with contextlib.suppress(BrokenPipeError):  # It has ended already; what it said is read below.
            os.write(process.stdin, _introduction(engine))
        answer = _answer(process, time.monotonic() + timeout)
    finally:
        process.end_group()
        process.signal(signal.SIGKILL)
        process.wait()
    return _diagnose(command, rules, _through(engine, answer), answer)


def _introduction(engine: Engine) -> bytes:
    params = {
        "protocolVersion": 1,
        "clientCapabilities": {},
        "clientInfo": {"name": "goalproxy doctor", "version": VERSION},
    }
    line = jsonrpc.request(_ID, acp.INITIALIZE, params)
    return _forwarded(engine.handle(FromClient(line, Envelope(acp.INITIALIZE, _ID), 0)), line)


def _answer(process: AgentProcess, deadline: float) -> bytes:
    """The line that answers the introduction; anything before it is skipped."""
    buffer = LineBuffer()
    while (left := deadline - time.monotonic()) > 0 and select.select([process.stdout], [], [], left)[0]:
        chunk = os.read(process.stdout, _CHUNK)
        if not chunk:
            raise NoAnswer("the agent ended without an answer to initialize; what it said is above")
        for line in (line for block in buffer.feed(chunk) for line in lines(bytes(block))):
            envelope = peek(line)
            if envelope is not None and not envelope.method and envelope.id == _ID:
                return line
    raise NoAnswer("the agent gave no answer to initialize in time; --timeout sets how long to wait")


def _through(engine: Engine, answer: bytes) -> dict[str, Any]:
    """The result as the client sees it."""
    result = at(load(_forwarded(engine.handle(FromAgent(answer, Envelope(id=_ID), 0)), answer)), "result")
    if not isinstance(result, dict):
        error = at(load(answer), "error", "message")
        raise NoAnswer(f"the agent answered initialize with an error: {error or 'no result'}")
    return result


def _forwarded(actions: Sequence[object], line: bytes) -> bytes:
    for action in actions:
        if isinstance(action, Rewrite):
            return action.line
        if isinstance(action, Relay):
            break
    return line


def _diagnose(command: Sequence[str], rules: Policy, seen: dict[str, Any], answer: bytes) -> Diagnosis:
    agent = Agent.of(at(load(answer), "result") or {})
    mapper = choose(agent)
    actions = at(seen, "_meta", "goal", "actions") or []
    return Diagnosis(
        command=list(command),
        agent=agent.name,
        version=agent.version,
        protocol=at(seen, "protocolVersion") if isinstance(at(seen, "protocolVersion"), int) else 1,
        dialect=mapper.dialect,
        why=mapper.why(agent) or "",
        owner=owner_of(rules.goals, mapper),
        actions=actions,
        slash_command=_slash_command(mapper, rules),
        declared_air=rules.declares_air,
        missing=_missing(mapper, rules, actions),
    )


def _slash_command(mapper: Mapper, rules: Policy) -> str:
    owner = owner_of(rules.goals, mapper)
    if owner == "emulated":
        return "yes, by goalproxy"
    if owner is None or mapper.understands_command is False:
        return "no"
    return "yes" if mapper.understands_command else "yes, by goalproxy unless the agent lists it"


def _missing(mapper: Mapper, rules: Policy, actions: list[str]) -> list[tuple[str, str]]:
    owner = owner_of(rules.goals, mapper)
    if owner is None:
        return [("goals: nobody keeps them", f"they are set to {rules.goals}; --goals auto lets goalproxy keep them")]
    if owner == "emulated":
        return []
    missing = []
    lacking = [action for action in ACTIONS if action not in actions]
    if lacking:
        remedy = mapper.no_control or "update the agent; newer versions take them"
        missing.append((f"the controls {', '.join(lacking)}", remedy))
    if mapper.hides_air and not rules.declares_air:
        missing.append(
            ("the goal's state: the agent was not recognised before it started to speak", "add --agent-kind codex")
        )
    return missing


def print_json(diagnosis: Diagnosis) -> None:
    """Print the diagnosis as one JSON object."""
    json.dump({**asdict(diagnosis), "missing": [list(pair) for pair in diagnosis.missing]}, sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_table(diagnosis: Diagnosis) -> None:
    """Print the diagnosis as a table for a person."""
    rows = [
        ("agent", f"{diagnosis.agent or 'does not say'} {diagnosis.version}".strip()),
        ("protocol", f"ACP version {diagnosis.protocol}"),
        ("goals read as", f"{diagnosis.dialect}, because {diagnosis.why}"),
        ("AIR declared to it", "yes; what it adds is hidden from the client" if diagnosis.declared_air else "no"),
        ("goals kept by", _KEEPER[diagnosis.owner]),
        ("client will see", "the goal, by _meta.goal" if diagnosis.owner else "what the agent sends, and nothing more"),
        ("controls", ", ".join(diagnosis.actions) or "none"),
        ("/goal", diagnosis.slash_command),
        *(("missing", f"{what}: {remedy}") for what, remedy in diagnosis.missing),
    ]
    width = max(len(name) for name, _ in rows)
    sys.stdout.write("".join(f"{name:<{width}}  {value}\n" for name, value in rows))
