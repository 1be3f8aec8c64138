"""Goals that the proxy owns, where things end in an odd order: cases that ``test_interleavings`` found or is slow to find."""

from __future__ import annotations

import json

from goalproxy.mappers import choose
from goalproxy.proxy.core.actions import AnswerTool, RunCheck, ToAgent, ToClient
from goalproxy.proxy.core.connection import Policy
from goalproxy.proxy.core.driver import Limits
from goalproxy.proxy.core.engine import Engine
from goalproxy.proxy.core.events import CheckDone, Event, FromAgent, FromClient, ToolCalled
from goalproxy.proxy.wire.envelope import peek

NOW = 1_790_000_000_000


class Scene:
    """An engine with one open session, of a client that says little and an agent that answers when told."""

    def __init__(self, policy: Policy, agent: str = "plain") -> None:
        self.secrets = 0
        self.engine = Engine(policy, choose, "t", self._secret)
        self.sent: list[dict[str, object]] = []
        self.got: list[dict[str, object]] = []
        self.checks = 0
        self.client(0, "initialize", {"protocolVersion": 1})
        self.agent(0, {"protocolVersion": 1, "agentInfo": {"name": agent, "version": "1"}})
        self.client(1, "session/new", {"cwd": "/w", "mcpServers": []})
        self.agent(1, {"sessionId": "s"})

    def _secret(self) -> str:
        self.secrets += 1
        return str(self.secrets)

    def client(self, ident: int, method: str, params: dict[str, object]) -> None:
        self._line(FromClient, {"id": ident, "method": method, "params": {"sessionId": "s", **params}})

    def prompt(self, ident: int, text: str) -> None:
        self.client(ident, "session/prompt", {"prompt": [{"type": "text", "text": text}]})

    def agent(self, ident: int | str, result: dict[str, object]) -> None:
        self._line(FromAgent, {"id": ident, "result": result})

    def refuses(self, ident: int | str) -> None:
        self._line(FromAgent, {"id": ident, "error": {"code": -32000, "message": "no"}})

    def _line(self, kind: type[FromClient | FromAgent], message: dict[str, object]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        envelope = peek(line)
        assert envelope is not None
        self.happens(kind(line, envelope, NOW))

    def happens(self, event: Event) -> None:
        for action in self.engine.handle(event):
            if isinstance(action, ToAgent):
                self.sent.append(json.loads(action.line))
            elif isinstance(action, ToClient):
                self.got.append(json.loads(action.line))
            elif isinstance(action, AnswerTool):
                assert not action.failed
            self.checks += isinstance(action, RunCheck)

    @property
    def rounds(self) -> list[str]:
        """The ids of the rounds that were sent."""
        return [str(line["id"]) for line in self.sent if line["method"] == "session/prompt"]

    @property
    def status(self) -> str | None:
        """The status of the goal, as it was published last."""
        updates = [line["params"] for line in self.got if line.get("method") == "session/update"]
        goal = updates[-1]["update"]["_meta"]["goal"]  # type: ignore[index]
        return None if goal is None else str(goal["status"])


def test_the_answer_to_a_round_of_a_session_that_was_closed_is_not_taken_for_the_next_round() -> None:
    scene = Scene(Policy())
    scene.prompt(2, "/goal A")
    scene.client(3, "session/close", {})
    scene.agent(3, {})
    scene.client(4, "session/resume", {"mcpServers": []})
    scene.agent(4, {})
    scene.prompt(5, "/goal B")
    old, new = scene.rounds
    scene.agent(old, {"stopReason": "refusal"})
    assert scene.status == "active"
    assert scene.engine._connection.rounds == 1
    scene.agent(new, {"stopReason": "refusal"})
    assert scene.status == "blocked"
    assert scene.engine._connection.rounds == 0


def test_a_check_of_a_goal_that_was_replaced_does_not_complete_the_new_one() -> None:
    scene = Scene(Policy(check="make test", limits=Limits(min_interval=0)))
    scene.prompt(2, "/goal A")
    scene.engine._connection.tokens["x"] = scene.engine._connection.sessions["s"]
    scene.happens(ToolCalled("x", "update_goal", {"goal_id": "goal-1", "revision": 2, "action": "complete"}, 1, NOW))
    scene.prompt(3, "/goal B")
    scene.agent(scene.rounds[0], {"stopReason": "cancelled"})
    assert len(scene.rounds) == 2, "the new goal does not wait for the check of the old one"
    scene.happens(ToolCalled("x", "update_goal", {"goal_id": "goal-2", "revision": 2, "action": "complete"}, 2, NOW))
    assert scene.checks == 1, "one check runs at a time"
    scene.happens(CheckDone("s", passed=True, reason="A is fine", now=NOW))
    assert (scene.checks, scene.status) == (2, "active")
    scene.happens(CheckDone("s", passed=True, reason="B is fine", now=NOW))
    assert scene.status == "complete"


def test_a_load_that_fails_leaves_an_open_session_its_goal() -> None:
    scene = Scene(Policy(limits=Limits(min_interval=0)))
    scene.prompt(2, "/goal A")
    scene.client(3, "session/load", {"mcpServers": []})
    scene.agent(scene.rounds[0], {"stopReason": "end_turn"})
    assert len(scene.rounds) == 1
    scene.refuses(3)
    assert len(scene.rounds) == 2, "the goal goes on"


def test_what_is_held_is_answered_when_the_session_is_closed() -> None:
    scene = Scene(Policy(turns="held"))
    scene.prompt(2, "/goal A")
    scene.prompt(3, "Hello")
    scene.client(4, "session/close", {})
    scene.agent(4, {})
    answers = {line["id"]: line["result"] for line in scene.got if "result" in line}
    assert answers == {2: {"stopReason": "cancelled"}, 3: {"stopReason": "cancelled"}}


def test_a_request_that_the_proxy_holds_can_be_taken_back() -> None:
    scene = Scene(Policy())
    scene.prompt(2, "/goal A")
    scene.prompt(3, "Hello")
    scene.client(4, "$/cancel_request", {"requestId": 3})
    assert scene.got[-1]["id"] == 3
    assert scene.got[-1]["error"] == {"code": -32800, "message": "The request was cancelled."}
    scene.agent(scene.rounds[0], {"stopReason": "cancelled"})
    assert [line["method"] for line in scene.sent] == ["session/prompt", "session/cancel", "session/prompt"]


def test_what_the_user_used_is_not_the_goals_where_the_agent_tells_sums() -> None:
    scene = Scene(Policy(limits=Limits(min_interval=0)), "mistral-vibe")
    scene.prompt(2, "Hello")
    scene.agent(2, {"stopReason": "end_turn", "usage": {"totalTokens": 100}})
    scene.prompt(3, "/goal A")
    scene.agent(scene.rounds[0], {"stopReason": "end_turn", "usage": {"totalTokens": 130}})
    goal = scene.engine._connection.sessions["s"].book.shown
    assert goal is not None
    assert goal.tokens_used == 30
