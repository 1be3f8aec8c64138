"""One agent, one fake model and one client, in folders of their own, ready to be played by a test.

A scene follows the snapshots of one session: `expect` waits for the next one with a certain status, `history` says
which states the client has seen. `complaints` checks the invariants of the whole run.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .agents import Agent
from .client import Call, Client, Reply
from .fake_model import Turn, say, use
from .homes import environment, kit_of
from .invariants import complaints, snapshot_of
from .traffic import Entry, Json, Source, StuckError, Traffic

OBJECTIVE: Final = "Ship it"
BUDGET: Final = 3000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the client was told about the goal; `goal` is empty when it was told that there is none."""

    index: int
    goal: Json

    @property
    def status(self) -> str | None:
        """The status, None without a goal."""
        return self.goal.get("status")

    @property
    def created(self) -> int | None:
        """The identity of the goal within its session."""
        return self.goal.get("createdAt")


def proxied(command: list[str]) -> list[str]:
    """Return the command line that runs an agent behind goalproxy."""
    return [sys.executable, "-m", "goalproxy.proxy", "--", *command]


def _with(variables: Mapping[str, str]) -> list[str]:
    """Return what has to stand before a command that runs with these variables."""
    return ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []


class Scene:
    """See the head of this module.

    `more` are variables for the whole command, `only_agent` those that the proxy does not see;
    `before_agent` is a command that runs the agent.
    """

    def __init__(self, agent: Agent, folder: Path, *, proxy: bool = True, protocol: int = 1) -> None:
        """Make the folders and start the model; the agent starts with `initialize`."""
        self.agent = agent
        self.protocol = protocol
        self.traffic = Traffic()
        self.model = kit_of(agent).model(self.traffic)
        self.session = ""
        self.cwd = folder / "project"
        self.more: dict[str, str] = {}
        self.only_agent: dict[str, str] = {}
        self.before_agent: list[str] = []
        self._folder = folder
        self._proxy = proxy
        self._client: Client | None = None
        self._seen = -1
        self._faults: list[str] = []
        self.cwd.mkdir(parents=True)
        self._environment = environment(agent, folder, self.model.url)

    @property
    def client(self) -> Client:
        """The client; asking for it starts the agent."""
        if self._client is None:
            command = [*_with(self.only_agent), *self.before_agent, *self.agent.command()]
            command = proxied(command) if self._proxy else command
            self._client = Client(command, self._environment | self.more, self.cwd, self.traffic)
        return self._client

    # Opening

    def initialize(self, protocol: int | None = None) -> Json:
        """Start the agent and introduce the client; return the result."""
        version = protocol or self.protocol
        about = {"name": "goalproxy-tests", "version": "0"}
        if version == 1:
            files = {"fs": {"readTextFile": False, "writeTextFile": False}}
            params: Json = {"protocolVersion": 1, "clientCapabilities": files, "clientInfo": about}
        else:
            params = {"protocolVersion": version, "capabilities": {}, "info": about}
        return self._result(self.client.call("initialize", params))

    def open(self, *turns: Turn) -> None:
        """Give the model its script, start, make a session, and wait until it is said to have no goal."""
        self.model.script(*turns)
        self.initialize()
        self.another()

    def another(self, **meta: Any) -> str:
        """Make a session, the one that is played from here on; wait until it is said to have no goal; return its id."""
        params: Json = {"cwd": str(self.cwd), "mcpServers": []}
        reply = self.client.call("session/new", {**params, "_meta": meta} if meta else params)
        self.session = self._result(reply)["sessionId"]
        if self._proxy:
            self._seen = reply.index
            self.expect(None)
        return self.session

    def reopen(self, method: str) -> Reply:
        """Quit, start the agent again, and load or resume the session in it."""
        by_itself = self.client.end_input()
        if self.agent.ends_with_input and not by_itself:
            self._faults.append("it did not exit when its input ended")
        self._seen = len(self.traffic.entries) - 1
        self.client.start_again()
        self.initialize()
        return self.enter(method, self.session)

    def enter(self, method: str, session: str) -> Reply:
        """Load or resume a session, the one that is played from here on."""
        self.session = session
        self._seen = len(self.traffic.entries) - 1
        reply = self.client.call(method, {"sessionId": session, "cwd": str(self.cwd), "mcpServers": []})
        self._result(reply)
        return reply

    # Playing

    def prompt(self, text: str) -> Call:
        """Send a prompt and do not wait for its end."""
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        return self.client.post("session/prompt", params)

    def control(self, action: str, method: str = "_session/goal", **more: Any) -> Reply:
        """Send a goal control request and wait for its reply."""
        return self.client.call(method, {"sessionId": self.session, "action": action, **more})

    def cancel(self) -> None:
        """Cancel the running turn."""
        self.client.notify("session/cancel", {"sessionId": self.session})

    def start_goal(self, *turns: Turn, budget: int | None = None) -> int:
        """Give the session a goal in a prompt that ends; return the number of the first turn the goal runs by itself.

        Where there is a goal command the user gives it; otherwise, and always for a budget, the model makes the goal.
        `turns` follow that first turn. Tokens of the first turn: 1050, or 1070 with a budget.
        """
        typed = self.agent.controllable and budget is None
        if typed:
            self.model.script(say("started", (1000, 50)), *turns)
            call = self.prompt(f"/goal {OBJECTIVE}")
        else:
            limit: Json = {} if budget is None else {"token_budget": budget}
            making = use("create_goal", (500, 20), objective=OBJECTIVE, **limit)
            self.model.script(making, say("started", (500, 50)), *turns)
            call = self.prompt("make this a goal")
        self._result(call.reply())
        return 2 if typed else 3

    # Seeing

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots of the session so far."""
        return [snapshot for entry in list(self.traffic.entries) if (snapshot := self._snapshot(entry))]

    def history(self) -> list[str | None]:
        """Return the states the client was shown, without repetitions."""
        states = [snapshot.status for snapshot in self.snapshots()]
        return [state for place, state in enumerate(states) if place == 0 or state != states[place - 1]]

    def expect(self, status: str | None, *, new: Json | None = None) -> Snapshot:
        """Wait for the next snapshot with this status (None: no goal); `new` is an earlier goal it must not be about."""
        what = f"a snapshot {status or 'without a goal'}{' of a new goal' if new else ''}"
        created = new["createdAt"] if new else 0
        return self.expect_goal(
            what, lambda goal: goal.get("status") == status and (not new or goal.get("createdAt") != created)
        )

    def expect_goal(self, what: str, wanted: Callable[[Json], bool]) -> Snapshot:
        """Wait for the next snapshot whose goal (empty: no goal) is wanted."""

        def shows(entry: Entry) -> bool:
            seen = self._snapshot(entry)
            return seen is not None and wanted(seen.goal)

        entry = self.traffic.wait(what, shows, self._seen)
        self._seen = entry.index
        found = self._snapshot(entry)
        assert found is not None
        return found

    def wait_update(self, what: str, wanted: Callable[[Json], bool], after: int) -> Entry:
        """Wait for a session/update of this session, later than index `after`, whose update is wanted."""
        return self.traffic.wait(what, lambda entry: wanted(self._update(entry)), after)

    def turn_ended(self, after: int) -> None:
        """Wait until the agent says, later than index `after`, that it rests."""

        def rests(update: Json) -> bool:
            meta = update.get("_meta") or {}
            return (meta.get("codex") or {}).get("threadStatus", {}).get("type") in {"idle", "systemError"}

        self.wait_update("the end of the turn", rests, after)

    def session_meta(self) -> Json:
        """Return the `_meta` of the session as a client of protocol 2 has it: a patch by key, which null resets."""
        meta: Json = {}
        for update in map(self._update, list(self.traffic.entries)):
            if update.get("sessionUpdate") == "session_info_update" and "_meta" in update:
                meta = {**meta, **update["_meta"]} if update["_meta"] is not None else {}
        return meta

    def release(self, turn: int) -> None:
        """Let a held turn of the model end and wait until the agent has noticed."""
        before = len(self.traffic.entries) - 1
        self.model.release(turn)
        self.turn_ended(before)

    def texts(self) -> list[str]:
        """Return what the agent said in the session, message by message where they have names."""
        said: dict[str | None, str] = {}
        for chunk in self._chunks():
            name = chunk.get("messageId")
            said[name] = said.get(name, "") + chunk["content"].get("text", "")
        return list(said.values())

    def text(self) -> str:
        """Return everything the agent said in the session, in order."""
        return "".join(chunk["content"].get("text", "") for chunk in self._chunks())

    def _chunks(self) -> list[Json]:
        updates = [self._update(entry) for entry in list(self.traffic.entries)]
        return [update for update in updates if update.get("sessionUpdate") == "agent_message_chunk"]

    def _update(self, entry: Entry) -> Json:
        """Return the update of this session in an entry, else an empty one."""
        params = entry.message.get("params")
        if entry.source is not Source.AGENT or not isinstance(params, dict) or params.get("sessionId") != self.session:
            return {}
        update: Json = params.get("update") or {}
        return update

    def _snapshot(self, entry: Entry) -> Snapshot | None:
        seen = snapshot_of(entry)
        if seen is None or seen[0] != self.session:
            return None
        return Snapshot(entry.index, seen[1] or {})

    # Closing

    def _result(self, reply: Reply) -> Json:
        """Return the result of a request that must not fail."""
        assert reply.error is None, f"{reply.error}\n{self.traffic.tail()}"
        return reply.result or {}

    def complaints(self) -> list[str]:
        """Return what was wrong with the run as a whole so far."""
        return self._faults + (complaints(self.traffic.entries, self.agent) if self._proxy else [])

    def close(self) -> None:
        """Stop everything; this takes a moment. Raises StuckError if the command does not end."""
        try:
            if self._client is not None:
                told = self.agent.ends_when_told
                ended = self._client.terminate() if told else self._client.end_input()
                self._client.clean_up()
                if not ended:
                    raise StuckError(f"{self.agent.key} did not exit when it was to\n{self.traffic.tail()}")
        finally:
            self.model.close()
