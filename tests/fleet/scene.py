"""What happens on the host that the tests look at: every outcome of a goal, and most of what can go wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from ..shell.client import Client, Json
from ..shell.rig import Sidecar, scripted, shell

WORKER: Final = [sys.executable, "-I", "-S", str(Path(__file__).parent / "worker.py")]
FAST: Final = ("--min-interval", "0.1", "--blocked-after", "1", "--check", "test -e done")
CRASHES: Final = 3
BORN: Final = 1_700_000_000_000
"""When the goals of the agent that keeps them were created, in Unix milliseconds."""


class Scene:
    """The sidecars of a host; one of them serves its metrics itself, too."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._env, self._folder = env, folder
        self._started: list[Sidecar] = []
        self._served = self._start(scripted("goals"), "--admin", "127.0.0.1:0")
        self._served.errors.until(b"metrics on")

    def play(self) -> None:
        """Play it all; what still runs at its end goes on until ``close``."""
        self._restored(Client(self._served))
        self._outcomes(Client(self._start(scripted("goals"))))
        self._work(Client(self._start(WORKER, *FAST)))
        self._babble(Client(self._start(["cat"])))
        for _ in range(CRASHES):
            sidecar = self._start(shell("exit 3"))
            sidecar.wait()

    def close(self) -> None:
        """End all sidecars."""
        for sidecar in self._started:
            sidecar.close()

    def _start(self, agent: list[str], *options: str) -> Sidecar:
        self._started.append(Sidecar(agent, options, env=self._env, folder=self._folder))
        return self._started[-1]

    def _restored(self, client: Client) -> None:
        """A session that was there before, and whose goal is paused by a command."""
        client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        client.call("session/load", {"sessionId": "old", "cwd": "/", "mcpServers": []})
        client.agent_reports("old", {"objective": "Old", "status": "active"})
        client.prompt("old", "/goal")
        client.prompt("old", "/goal pause")

    def _outcomes(self, client: Client) -> None:
        """An agent that keeps goals: one of each outcome, one that is paused, and one that has gone on for long."""
        session = client.open()
        _goal(client, session, "Complete", status="complete", iterations=4, tokensUsed=5000, timeUsedSeconds=60)
        _goal(client, session, "Blocked", status="blocked", iterations=9, tokensUsed=20_000, timeUsedSeconds=600)
        _goal(client, session, "Limited", status="usageLimited", iterations=2, tokensUsed=900, timeUsedSeconds=5)
        _goal(client, session, "Cleared", status="active")
        client.control(session, "clear")
        _goal(client, session, "Replaced", status="pondering", updatedAt=BORN + 2000)
        client.control(session, "set", objective="Paused")
        client.agent_reports(session, {"objective": "Paused", "status": "active", "updatedAt": BORN + 3000})
        client.control(session, "pause")
        client.agent_reports(session, {"objective": "Replaced", "status": "complete", "updatedAt": BORN + 2000})
        long = client.new()
        _goal(client, long, "Long", status="active", iterations=250, tokensUsed=960, tokenBudget=1000)

    def _work(self, client: Client) -> None:
        """An agent without goals: each way in which its rounds lead to a stop."""
        client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        client.call("session/new", {"cwd": str(self._folder), "mcpServers": []})
        _work(client, "deliver", "complete")
        _work(client, "ask", "blocked")
        _work(client, "repeat", "blocked")
        _work(client, "exhaust", "limited")

    def _babble(self, client: Client) -> None:
        """No agent at all: it says nothing of itself, and what it is told comes back."""
        client.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":5}}\n')
        for _ in range(12):
            client.write(b"no JSON\n")
        client.call("_puppet/ping", {})


def _goal(client: Client, session: str, objective: str, **report: object) -> None:
    """Set a goal, and let the agent report it."""
    client.control(session, "set", objective=objective)
    said: Json = {"objective": objective, "createdAt": BORN, **report}
    client.agent_reports(session, said)


def _work(client: Client, word: str, status: str) -> None:
    """Set a goal for the worker, and wait until it comes to a status."""
    wanted = (f"{word} it", status)
    client.control("work", "set", objective=wanted[0])
    client.until(lambda goal: goal is not None and (goal["objective"], goal["status"]) == wanted)
