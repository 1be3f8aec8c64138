"""The verbs of the model client, the model agent and its model, for ``test_interleavings``."""

from __future__ import annotations

import json
from typing import Any

from goalproxy.proxy.core.events import ToolCalled

from .emulated_world import ENDING, OPENING, Life, Message, Request, World


class Peers:
    """Everybody around the engine; ``ids`` counts what they ask."""

    world: World
    ids: int

    def _begin(self, method: str, *, preserve: bool) -> None:
        """A new process, in which both sessions are opened."""
        self._ask("initialize", {"protocolVersion": self.world.protocol})
        http = {
            "agentCapabilities": {"mcpCapabilities": {"http": True}},
            "capabilities": {"session": {"mcp": {"http": {}}}},
        }
        self._answer({"protocolVersion": self.world.protocol, "agentInfo": {"name": "plain", "version": "1"}, **http})
        for session in self.world.lives:
            self._open(session, method, preserve=preserve)
            self._agent_opens(session)

    def _ask(self, method: str, params: Message) -> None:
        """The client sends a request."""
        self.ids += 1
        self.world.from_client(
            {"id": str(self.ids) if self.ids % 3 == 0 else self.ids, "method": method, "params": params}
        )

    def _open(self, session: str, method: str, *, preserve: bool) -> None:
        """The client opens a session."""
        named = {} if method == "session/new" else {"sessionId": session}
        policy = {"_meta": {"goal": {"resumePolicy": "preserve"}}} if preserve else {}
        self._ask(method, {**named, "cwd": "/w", "mcpServers": [], **policy})

    def _prompt(self, session: str, text: str) -> None:
        """The client prompts."""
        self._ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def _wanted(self, session: str, word: str) -> None:
        """What the user says about the goal; it may be refused, and what is refused starts nothing."""
        life = self.world.lives[session]
        if word in ("set", "resume"):
            life.may_run = True
        elif word in ("pause", "clear"):
            life.may_run = False

    def _fail(self, request: Request, code: int, words: str) -> None:
        """The agent answers with an error."""
        self._over(request)
        del self.world.agent[type(request.ident), request.ident]
        self.world.from_agent({"id": request.ident, "error": {"code": code, "message": words}})

    def _succeed(self, request: Request, stop: str, tokens: int | None) -> None:
        """The agent does what it was asked."""
        if request.method in OPENING:
            self._agent_opens(request.session)
        elif request.method in ENDING:
            life = self.world.lives[request.session]
            life.turns, life.is_open, life.may_run, life.published, life.running = [], False, False, None, False
            self._answer({}, request)
        elif self.world.is_v2:
            request.accepted = True
            if request.idle:
                self._over(request)
            self._answer({}, request)
        else:
            self._over(request)
            self._answer({"stopReason": stop, **usage(tokens)}, request)

    def _over(self, request: Request) -> None:
        """A prompt is over, as the agent sees it."""
        life = self.world.lives.get(request.session)
        if life is not None:
            life.turns = [turn for turn in life.turns if turn is not request]

    def _agent_opens(self, session: str) -> None:
        """The agent opens a session."""
        request = next(
            request
            for request in self.world.agent.values()
            if request.method in OPENING and request.session in ("", session)
        )
        life = self.world.lives[session]
        servers = json.loads(request.line)["params"]["mcpServers"]
        if servers:
            life.token = servers[-1]["headers"][0]["value"].removeprefix("Bearer ")
        life.is_open, life.published = True, None
        self._answer({"sessionId": session} if request.method == "session/new" else {}, request)

    def _answer(self, result: Message, request: Request | None = None) -> None:
        """The agent answers the request, or the only one."""
        request = request or next(iter(self.world.agent.values()))
        del self.world.agent[type(request.ident), request.ident]
        self.world.from_agent({"id": request.ident, "result": result})

    def _update(self, session: str, kind: str, **fields: Any) -> None:
        """The agent sends an update."""
        self.world.from_agent(
            {"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}}
        )

    def _call(self, token: str, name: str, arguments: Message, starts: Life | None = None) -> Message:
        """The model calls a tool; ``starts`` is the session whose goal may run if the call works."""
        world = self.world
        self.ids += 1
        before = starts.may_run if starts is not None else False
        if starts is not None:
            starts.may_run = True
        world.calls[self.ids] = name
        world.happens(ToolCalled(token, name, arguments, self.ids, world.now))
        if starts is not None and world.answers[self.ids]["failed"]:
            starts.may_run = before
        return world.answers[self.ids]

    def _unsent(self) -> list[Request]:
        """What the client waits for, and the agent never got."""
        held = ("session/prompt", "_session/goal")
        return [request for request in self.world.client.values() if request.method in held and not request.passed]


def usage(tokens: int | None) -> Message:
    """What a prompt used, if the agent says so."""
    return {} if tokens is None else {"usage": {"totalTokens": tokens}}
