"""What the engine needs where the proxy owns goals: the store, the model's tools, the operator's check.

Each part is loaded when it is first needed: an agent that keeps its own goals never pays for it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalproxy.proxy.core.actions import AnswerTool, LoadGoal, RunCheck, StoreGoal
from goalproxy.proxy.core.connection import ToolServer
from goalproxy.proxy.core.events import CheckDone, Event, GoalLoaded, ToolCalled, ToolsListed
from goalproxy.proxy.core.facts import AgentIdentified, Fact
from goalproxy.proxy.goal.report import one_line
from goalproxy.proxy.settings import Settings

from .clock import now
from .log import complain

if TYPE_CHECKING:
    from .mcp_server import GoalServer, Reply
    from .store import GoalStore

_BRIDGE = (sys.executable, "-m", "goalproxy.proxy.shell.mcp_bridge")
_TAIL = 400


class GoalServices:
    """The outside of goals that the proxy owns. ``emit`` takes what comes of it to the engine, from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.emit: Callable[[Event], None] = lambda _: None
        self._settings = settings
        self._agent = ""
        self._store: GoalStore | None = None
        self._server: GoalServer | None = None
        self._replies: dict[int, Reply] = {}
        self._calls = 0

    def observe(self, fact: Fact) -> None:
        """Learn the agent's name: its sessions are its own in the store."""
        if isinstance(fact, AgentIdentified):
            self._agent = fact.name

    def tools(self) -> ToolServer:
        """How the model's tools are reached; their server runs from here on."""
        if self._server is None:
            from .mcp_server import GoalServer  # noqa: PLC0415 - only where goals are owned

            self._server = GoalServer(self._on_call, on_listed=self._on_listed)
            self._server.start()
        return ToolServer(self._server.url, _BRIDGE)

    def serve(self, action: StoreGoal | LoadGoal | RunCheck | AnswerTool) -> Event | None:
        """Do what the engine wants; the event that follows at once, if one does."""
        if isinstance(action, StoreGoal):
            self._goals().append(self._agent, action.session_id, action.goal, now())
        elif isinstance(action, LoadGoal):
            goal = self._goals().load(self._agent, action.session_id)
            return GoalLoaded(action.session_id, goal, action.armed, now())
        elif isinstance(action, RunCheck):
            threading.Thread(target=self._check, args=(action,), name="check", daemon=True).start()
        else:
            self._answer(action)
        return None

    def store_works(self) -> bool:
        """Whether goals can be stored now."""
        return self._goals().works()

    def end(self) -> None:
        """The proxy ends: nothing of a check that runs may stay."""
        module = sys.modules.get("goalproxy.proxy.shell.check")
        if module is not None:
            module.end_checks()

    def _goals(self) -> GoalStore:
        if self._store is None:
            from .store import GoalStore, default_path  # noqa: PLC0415 - only where goals are owned

            path = Path(self._settings.store) if self._settings.store else default_path()
            self._store = GoalStore(path, complain)
        return self._store

    def _on_call(self, token: str, name: str, arguments: object, reply: Reply) -> None:
        self._calls += 1
        self._replies[self._calls] = reply
        self.emit(ToolCalled(token, name, arguments, self._calls, now()))

    def _on_listed(self, token: str) -> None:
        self.emit(ToolsListed(token, now()))

    def _answer(self, action: AnswerTool) -> None:
        from .mcp_server import ToolResult  # noqa: PLC0415 - loaded already where a tool was called

        reply: Any = self._replies.pop(action.call, None)
        if reply is not None:
            reply(ToolResult(action.body, action.failed))

    def _check(self, action: RunCheck) -> None:
        from .check import run_check  # noqa: PLC0415 - only where a check is wanted

        check = run_check(self._settings.check or "false", action.directory or ".", self._settings.check_timeout)
        said = one_line(check.tail[-_TAIL:]) or check.how
        reason = f"The check passed: {said}" if check.passed else f"The check did not pass ({check.how}): {said}"
        self.emit(CheckDone(action.session_id, check.passed, reason, now(), int(1000 * check.seconds)))
