"""Transcripts in which the agent's log plays a part, and the agents that these are about.

    agent  << request $1 _session/goal {...}
    log    << follow                               the engine follows the log ("follow history", "read", "leave")
    log    >> {"type": "attachment", ...} {...}    lines were written, and are reported
    log    >> history {...}                        the log was read from its beginning
    log    >> none        log >> history none      there is no log

What the engine wants of the log has to stand in the transcript like any line, after the lines that go with it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.events import LogRead

from ..transcript import Play

CLAUDE = "@agentclientprotocol/claude-agent-acp"
_LOOKS = (act.FollowLog, act.ReadLog, act.LeaveLog)


class LogPlay(Play):
    """A play with a third part, the log of session ``s``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.looks: list[str] = []

    def run(self, transcript: str) -> LogPlay:
        """Play a transcript, and check that it is what happens."""
        super().run(transcript)
        return self

    def feed(self, who: str, text: str) -> None:
        """Send a line and do not look at what comes of it."""
        super().feed(who, text)
        self.looks.clear()

    def looks_after(self, who: str, text: str) -> list[str]:
        """Send a line, and look only at what comes of it for the log."""
        self._send(who, text)
        looks = list(self.looks)
        self._sent.clear()
        self.looks.clear()
        return looks

    def _send(self, who: str, text: str) -> None:
        if who != "log":
            super()._send(who, text)
            return
        self._nothing_more(f"log >> {text}")
        self.now += 1000
        history, rest = text.startswith("history "), text.removeprefix("history ")
        lines = [] if rest == "none" else _lines(rest)
        self._perform(self.engine.handle(LogRead("s", lines, rest != "none", history, self.now)), "", b"")

    def _perform(self, actions: list[act.Action], towards: str, came: bytes) -> None:
        self.looks += [_name(action) for action in actions if isinstance(action, _LOOKS)]
        super()._perform([action for action in actions if not isinstance(action, _LOOKS)], towards, came)

    def _expect(self, who: str, text: str, line: str) -> None:
        if who != "log":
            super()._expect(who, text, line)
            return
        assert self.looks, f"nothing was wanted of the log, expected: {line}"
        assert self.looks.pop(0) == text, line

    def _nothing_more(self, before: str) -> None:
        super()._nothing_more(before)
        assert not self.looks, f"before {before!r}, this was wanted of the log too: {self.looks}"


def _name(action: act.Action) -> str:
    if isinstance(action, act.FollowLog):
        return "follow history" if action.history else "follow"
    return "read" if isinstance(action, act.ReadLog) else "leave"


def _lines(text: str) -> list[bytes]:
    """The objects that stand behind one another in a text, each as a line."""
    decode, lines, at = json.JSONDecoder().raw_decode, [], 0
    while at < len(text):
        entry, at = decode(text, at)
        lines.append(json.dumps(entry).encode())
        at += 1
    return lines


def introduced(result: dict[str, Any], *, protocol: int = 1, opening: str = "session/new", **options: Any) -> LogPlay:
    """An agent that answers ``initialize`` with a result, and its session ``s``."""
    play = LogPlay(**options)
    play.feed("client", f'request 1 initialize {{"protocolVersion": {protocol}}}')
    play.feed("agent", f"result 1 {json.dumps({'protocolVersion': protocol, **result})}")
    play.feed("client", f'request 2 {opening} {{"cwd": "/w", "mcpServers": []}}')
    play.feed("agent", 'result 2 {"sessionId": "s"}')
    play.facts.clear()
    play.drop_timers()
    return play


def claude(version: str = "0.101.0", **options: Any) -> LogPlay:
    """A Claude of a version, as it introduces itself to a client that does not declare AIR."""
    meta: dict[str, Any] = {"steering": {"supported": True}}
    return introduced({"agentInfo": {"name": CLAUDE, "version": version}, "_meta": meta}, **options)


def loaded(version: str = "0.101.0") -> LogPlay:
    """A Claude whose session was loaded; its log has been asked for."""
    return claude(version, opening="session/load")


def qwen(**options: Any) -> LogPlay:
    """A Qwen that keeps goals."""
    return introduced({"agentInfo": {"name": "qwen-code", "version": "0.24.4"}}, **options)


def dsh(**options: Any) -> LogPlay:
    """A DSH that tells its model of goals."""
    info = {"name": "deepseek-harness-acp", "version": "0.0.1"}
    return introduced({"agentInfo": info, "agentCapabilities": {"sessionCapabilities": {}}}, **options)


# Lines of Claude's log


def began(objective: str = "Ship it", at: int | None = None) -> str:
    """A goal was set."""
    return _status(at, met=False, sentinel=True, condition=objective)


def not_met(reason: str, objective: str = "Ship it") -> str:
    """A verdict: not yet."""
    return _status(None, met=False, condition=objective, reason=reason)


def met(iterations: int, objective: str = "Ship it", **more: Any) -> str:
    """The last verdict: it is."""
    return _status(None, met=True, condition=objective, reason="done", iterations=iterations, **more)


def impossible(reason: str, objective: str = "Ship it") -> str:
    """The last verdict: it never will be."""
    return _status(
        None, met=False, failed=True, condition=objective, reason=reason, iterations=1, durationMs=1500, tokens=40
    )


def cleared(objective: str = "Ship it") -> str:
    """The goal was cleared."""
    return _status(None, met=True, sentinel=True, condition=objective)


def _status(at: int | None, **status: Any) -> str:
    line = {"type": "attachment", "attachment": {"type": "goal_status", **status}, "sessionId": "s"}
    if at is not None:
        line["timestamp"] = datetime.fromtimestamp(at / 1000, UTC).isoformat().replace("+00:00", "Z")
    return json.dumps(line)


# What agents put on the wire


def wire_goal(objective: str | None) -> str:
    """Claude's snapshot on the wire: what its adapter expects."""
    goal = None if objective is None else {"objective": objective, "status": "active", "controlMethod": "_session/goal"}
    return "update " + json.dumps({"sessionUpdate": "session_info_update", "_meta": {"goal": goal}})


def frame(value: dict[str, Any] | None) -> str:
    """What Claude's SDK sends where it is asked to: ``active_goal``."""
    return f"notify _claude/sdkMessage {json.dumps({'message': {'type': 'active_goal', 'value': value}})}"


def at_work(version: str = "0.101.0", **options: Any) -> LogPlay:
    """A Claude that works for a goal set by a prompt, request 3, which is still open; its log was found."""
    play = claude(version, **options)
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("log", began())
    play.drop_timers()
    play.facts.clear()
    return play


def at_rest(version: str = "0.101.0", **options: Any) -> LogPlay:
    """The same after its turn: two verdicts, and the goal still stands."""
    play = at_work(version, **options)
    play.feed("log", not_met("tests fail") + " " + not_met("lint fails"))
    play.feed("agent", 'result 3 {"stopReason": "end_turn"}')
    play.drop_timers()
    return play
