"""Tests of the engine that read as a transcript: ``>>`` somebody sends, ``<<`` somebody gets, and nothing else happens.

    client >> prompt 5 /goal Ship it
    agent  << same
    agent  >> update {"sessionUpdate": "session_info_update", "_meta": {"goal": {...}}}
    client << goal {"objective": "Ship it", "status": "active"}
    timers
    client << result 5 {}

Every line that goes out has to stand in the transcript, in its order. After ``>>`` or ``<<`` stands one of

    request ID METHOD PARAMS    notify METHOD PARAMS    result ID RESULT    error ID CODE [TEXT]
    prompt ID TEXT              control ID ACTION [OBJECTIVE]    update UPDATE    raw BYTES
    goal GOAL                   a published snapshot that has at least these fields, or null
    round ID NUMBER             a prompt of the proxy's own, for that round of the goal; its blocks are in ``prompts``
    same                        the bytes that came in, untouched

Where the proxy owns the goal, the store, the model and the operator's check take part, too:

    store << asked preserve|disarmed     store >> loaded preserve|disarmed GOAL    (GOAL: one of ``stores``, by its place, or null)
    model >> NAME ARGUMENTS              model << answer BODY                      (at least these fields; refused: ``refused CODE``)
    check << run DIRECTORY               check >> passed|failed REASON

Whoever ends the proxy is the operator:

    operator >> drain | drain at once    operator << drained

What is stored is in ``stores``, and nothing may be published that was not stored before. In the arguments of a call, ``$goal`` and
``$revision`` stand for those of the goal stored last.

``$1`` is the proxy's first id, ``$2`` its second. Params get ``"sessionId": "s"`` where they name no session (null: none). ``timers``
lets every timer run out, and as much time pass. Each line is one second later than the one before.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from goalproxy.mappers import choose
from goalproxy.proxy.core import actions as act
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import (
    AgentGone,
    CheckDone,
    Drain,
    Event,
    FromAgent,
    FromClient,
    GoalLoaded,
    TimerFired,
    ToolCalled,
)
from goalproxy.proxy.core.facts import Fact, GoalChanged
from goalproxy.proxy.goal.changes import Change, GoalStopped
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.wire.envelope import peek

START = 1_790_000_000_000
_TOKEN = "t"
_SECRET = "secret-1"
"""The first secret: that of the model's tools in the first session that was given them."""


class Play:
    """An engine, and the transcript that is played on it."""

    def __init__(self, *, on_cancel: str = "pause", declares_air: bool = False, policy: Policy | None = None) -> None:
        secrets = itertools.count(1)
        self.engine = Engine(
            policy or Policy("turn" if on_cancel == "turn" else "pause", declares_air, "native"),
            choose,
            _TOKEN,
            lambda: f"secret-{next(secrets)}",
        )
        self.facts: list[Fact] = []
        self.now = START
        self.snapshots: list[dict[str, Any] | None] = []
        self.prompts: list[Any] = []
        self.stores: list[OwnedGoal | None] = []
        self._timers: list[str] = []
        self._due: dict[str, int] = {}
        self._sent: list[tuple[str, bytes]] = []
        self._came = b""

    def run(self, transcript: str) -> Play:
        """Play a transcript, and check that it is what happens."""
        for line in filter(None, map(str.strip, transcript.splitlines())):
            if line.startswith("#"):
                continue
            if line == "timers":
                self._nothing_more(line)
                self._run_timers()
            elif line == "agent gone":
                self._nothing_more(line)
                self._perform(self.engine.handle(AgentGone(self.now)), "", b"")
            else:
                who, arrow, text = line.split(maxsplit=2)
                self._send(who, text) if arrow == ">>" else self._expect(who, text, line)
        self._nothing_more("the end")
        return self

    def feed(self, who: str, text: str) -> None:
        """Send a line and do not look at what comes of it."""
        self._send(who, text)
        self._sent.clear()

    def lines_after(self, who: str, text: str, to: str = "client") -> list[bytes]:
        """Send a line; what comes of it for one side."""
        self._send(who, text)
        sent, self._sent = self._sent, []
        return [line for side, line in sent if side == to]

    def let_timers_run(self) -> None:
        """Let every timer run out, and do not look at what comes of it."""
        self._run_timers()
        self._sent.clear()

    def drop_timers(self) -> None:
        """Forget the timers that were set so far."""
        self._timers.clear()

    def _send(self, who: str, text: str) -> None:
        self._nothing_more(f"{who} >> {text}")
        self.now += 1000
        if who in ("store", "model", "check", "operator"):
            self._perform(self.engine.handle(self._event(who, text)), "", b"")
            return
        self._came = text[4:].encode() if text.startswith("raw ") else json.dumps(_message(text)).encode() + b"\n"
        envelope, towards = peek(self._came), "agent" if who == "client" else "client"
        if envelope is None:
            self._sent.append((towards, self._came))
        elif who == "client":
            actions = (
                self.engine.handle(FromClient(self._came, envelope, self.now))
                if self.engine.concerns_client(envelope)
                else [act.Relay()]
            )
            self._perform(actions, towards, self._came)
        else:
            mark = self.engine.mark
            concerns = self.engine.concerns_agent(envelope) or (mark is not None and mark in self._came)
            actions = self.engine.handle(FromAgent(self._came, envelope, self.now)) if concerns else [act.Relay()]
            self._perform(actions, towards, self._came)

    def _run_timers(self) -> None:
        due, self._timers = self._timers, []
        for key in due:
            self.now = max(self.now, self._due[key])
            self._perform(self.engine.handle(TimerFired(key, self.now)), "", b"")

    def _perform(self, actions: list[act.Action], towards: str, came: bytes) -> None:
        answers = 0
        for action in actions:
            if isinstance(action, act.Record):
                self.facts.append(action.fact)
            elif isinstance(action, act.SetTimer):
                self._timers.append(action.key)
                self._due[action.key] = self.now + action.after
            elif isinstance(action, act.StoreGoal):
                self.stores.append(action.goal)
            elif isinstance(action, act.LoadGoal | act.RunCheck | act.AnswerTool | act.Drained):
                self._sent.append(_wanted(action))
            elif isinstance(action, act.ToClient | act.ToAgent):
                self._sent.append(("client" if isinstance(action, act.ToClient) else "agent", action.line))
                self._check_stored(action)
            else:
                answers += 1
                if not isinstance(action, act.Swallow):
                    self._sent.append((towards, action.line if isinstance(action, act.Rewrite) else came))
        assert answers == bool(towards), "a line that came in is answered exactly once"

    def _event(self, who: str, text: str) -> Event:
        """What the store, the model, the check or the operator sends."""
        word, _, rest = text.partition(" ")
        if who == "check":
            return CheckDone("s", word == "passed", rest, self.now)
        if who == "operator":
            return Drain(at_once=rest == "at once", now=self.now)
        if who == "store":
            how, _, place = rest.partition(" ")
            return GoalLoaded("s", None if place == "null" else self.stores[int(place)], how == "preserve", self.now)
        goal = next((goal for goal in reversed(self.stores) if goal is not None), None)
        if goal is not None:
            rest = rest.replace("$goal", json.dumps(goal.id)).replace("$revision", str(goal.revision))
        return ToolCalled(_SECRET, word, json.loads(rest), 1, self.now)

    def _check_stored(self, action: act.ToClient | act.ToAgent) -> None:
        message = json.loads(action.line)
        params = message.get("params", {})
        meta = params.get("update", {}).get("_meta", {})
        if isinstance(action, act.ToAgent) or "goal" not in meta or params["sessionId"] != "s" or not self.stores:
            return
        told, stored = meta["goal"], self.stores[-1]
        assert (told and told["objective"], told and told["status"], told and told["iterations"]) == (
            stored and stored.objective,
            stored and stored.status,
            stored and stored.rounds,
        ), "nothing is published that was not stored"

    def _expect(self, who: str, text: str, line: str) -> None:
        assert self._sent, f"nothing was sent, expected: {line}"
        to, sent = self._sent.pop(0)
        seen = f"sent to {to}: {sent.decode(errors='replace')}, expected: {line}"
        assert to == who, seen
        if text == "same":
            assert sent == self._came, seen
        elif text.startswith("raw "):
            assert sent == text[4:].encode(), seen
        elif text.startswith("goal "):
            self._expect_goal(json.loads(sent), json.loads(text[5:]), seen)
        elif text.startswith("round "):
            self._expect_round(json.loads(sent), text, seen)
        elif text.startswith("answer "):
            _expect_part(json.loads(sent), json.loads(text[7:]), seen)
        elif who in ("store", "check", "operator") or text.startswith("refused "):
            assert sent.decode().startswith(text), seen
        elif text.startswith("error "):
            self._expect_error(json.loads(sent), text, seen)
        else:
            assert json.loads(sent) == _message(text), seen

    def _expect_goal(self, message: dict[str, Any], expected: dict[str, Any] | None, seen: str) -> None:
        assert message["method"] == "session/update", seen
        update = message["params"]["update"]
        assert set(update) == {"sessionUpdate", "_meta"}, seen
        goal = update["_meta"]["goal"]
        self.snapshots.append(goal)
        if expected is None or goal is None:
            assert goal == expected, seen
        else:
            assert {key: goal.get(key, "absent") for key in expected} == expected, seen

    def _expect_round(self, message: dict[str, Any], text: str, seen: str) -> None:
        _, ident, number = text.split()
        assert (message["id"], message["method"], message["params"]["sessionId"]) == (
            _ident(ident),
            "session/prompt",
            "s",
        ), seen
        self.prompts.append(message["params"]["prompt"])
        assert f": round {number} of " in self.prompts[-1][0]["text"], seen

    def _expect_error(self, message: dict[str, Any], text: str, seen: str) -> None:
        _, ident, code, *words = text.split(maxsplit=3)
        assert message["id"] == _ident(ident), seen
        assert message["error"]["code"] == int(code), seen
        assert not words or words[0] in message["error"]["message"], seen

    def _nothing_more(self, before: str) -> None:
        assert not self._sent, f"before {before!r}, this was sent too: {self._sent}"


def changes(play: Play, *kinds: type) -> list[Change]:
    """The changes of some kinds that observers were told."""
    return [fact.change for fact in play.facts if isinstance(fact, GoalChanged) and isinstance(fact.change, kinds)]


def outcomes(play: Play) -> list[str]:
    """How goals came to a stop."""
    return [change.outcome for change in changes(play, GoalStopped) if isinstance(change, GoalStopped)]


def _wanted(action: act.LoadGoal | act.RunCheck | act.AnswerTool | act.Drained) -> tuple[str, bytes]:
    """Who is sent what, as a line of a transcript; a tool's answer is its body."""
    if isinstance(action, act.LoadGoal):
        return "store", b"asked preserve" if action.armed else b"asked disarmed"
    if isinstance(action, act.RunCheck):
        return "check", f"run {action.directory}".encode()
    if isinstance(action, act.Drained):
        return "operator", b"drained"
    body = json.dumps(action.body)
    return "model", (f"refused {action.body['error']['code']} {body}" if action.failed else body).encode()


def _expect_part(whole: Any, part: Any, seen: str) -> None:
    """Check that an object has at least what another has, at every depth."""
    if not isinstance(part, dict) or not isinstance(whole, dict):
        assert whole == part, seen
        return
    for key, value in part.items():
        _expect_part(whole.get(key, "absent"), value, seen)


def _message(text: str) -> dict[str, Any]:
    """The message that a line of a transcript stands for."""
    verb, rest = text.split(maxsplit=1)
    match verb:
        case "request":
            ident, method, params = rest.split(maxsplit=2)
            return _rpc(id=_ident(ident), method=method, params=_params(json.loads(params)))
        case "notify":
            method, params = rest.split(maxsplit=1)
            return _rpc(method=method, params=_params(json.loads(params)))
        case "result":
            ident, result = rest.split(maxsplit=1)
            return _rpc(id=_ident(ident), result=json.loads(result))
        case "error":
            ident, code, *words = rest.split(maxsplit=2)
            return _rpc(id=_ident(ident), error={"code": int(code), "message": words[0] if words else "no"})
        case "prompt":
            ident, words = rest.split(maxsplit=1)
            prompt = [{"type": "text", "text": words}]
            return _rpc(id=_ident(ident), method="session/prompt", params=_params({"prompt": prompt}))
        case "control":
            ident, action, *objective = rest.split(maxsplit=2)
            params = {"action": action, **({"objective": objective[0]} if objective else {})}
            return _rpc(id=_ident(ident), method="_session/goal", params=_params(params))
        case "update":
            return _rpc(method="session/update", params=_params({"update": json.loads(rest)}))
    raise AssertionError(f"not a line of a transcript: {text}")


def _rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def _params(params: Any) -> Any:
    if not isinstance(params, dict):
        return params
    named = {"sessionId": "s", **params}
    return {key: value for key, value in named.items() if (key, value) != ("sessionId", None)}


def _ident(text: str) -> Any:
    return f"goalproxy-{_TOKEN}-{text[1:]}" if re.fullmatch(r"\$\d+", text) else json.loads(text)
