"""Goals that the proxy owns: whatever happens in whatever order, what both peers see makes sense, and everything ends."""

from __future__ import annotations

import sys

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goalproxy.proxy.core.connection import Policy, ToolServer
from goalproxy.proxy.core.driver import Limits
from goalproxy.proxy.core.events import AgentGone, CheckDone, TimerFired

from .emulated_peers import Peers, usage
from .emulated_world import ENDING, OPENING, Message, World, as_published

_STOPS = ["end_turn", "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_WORDS = ["A", "B", "pause", "resume", "clear", "status", "edit C", ""]
_CALLS = ["get", "create", "edit", "pause", "resume", "complete", "blocked", "stale", "wrong id", "wrong token", "junk"]
_SAID = ["one", "two", "GOAL-COMPLETE", "GOAL-BLOCKED: no network"]
_LIFE = (*OPENING, *ENDING)
_sessions = st.sampled_from(["s", "s", "s", "t"])
_picks = st.integers(0, 7)
_policies = st.builds(
    Policy,
    on_cancel=st.sampled_from(["pause", "pause", "turn"]),
    on_prompt=st.sampled_from(["interrupt", "queue"]),
    turns=st.sampled_from(["detached", "held"]),
    check=st.sampled_from([None, "make test"]),
    limits=st.builds(
        Limits,
        max_rounds=st.integers(2, 5),
        token_budget=st.sampled_from([None, 50]),
        time_budget=st.sampled_from([None, 60]),
        min_interval=st.sampled_from([0, 1000]),
        blocked_after=st.integers(1, 2),
    ),
    tools=st.sampled_from([None, lambda: ToolServer("http://127.0.0.1:1/mcp", ("bridge",))]),
)


class Interleavings(Peers, RuleBasedStateMachine):
    """Any messages of both peers, any calls of the model, any timers, in any order, at any pace."""

    @initialize(policy=_policies, protocol=st.sampled_from([1, 1, 2]))
    def everything_begins(self, policy: Policy, protocol: int) -> None:
        self.ids = 0
        self.world = World(policy, protocol)
        self._begin("session/new", preserve=False)

    # The client

    @rule(session=_sessions)
    def the_client_prompts(self, session: str) -> None:
        life = self.world.lives[session]
        life.may_run = life.may_run or self.world.policy.on_cancel == "turn"
        self._prompt(session, "Hello")

    @rule(session=_sessions, word=st.sampled_from(_WORDS))
    def the_client_types_a_command(self, session: str, word: str) -> None:
        stored = self.world.lives[session].stored
        edits = word.startswith("edit") and stored is not None and stored.status != "complete"
        self._wanted(session, word if word in ("pause", "resume", "clear", "status", "") or edits else "set")
        self._prompt(session, f"/goal {word}")

    @rule(
        session=_sessions,
        action=st.sampled_from(["set", "set", "pause", "resume", "clear", "jump"]),
        budget=st.none() | st.just(90),
    )
    def the_client_controls(self, session: str, action: str, budget: int | None) -> None:
        before = self.world.lives[session].may_run
        self._wanted(session, action)
        self._ask("_session/goal", {"sessionId": session, "action": action, "objective": "D", "tokenBudget": budget})
        if self.world.refused:
            self.world.lives[session].may_run = before

    @rule(session=_sessions)
    def the_client_cancels(self, session: str) -> None:
        self.world.lives[session].may_run = False
        self.world.from_client({"method": "session/cancel", "params": {"sessionId": session}})

    @precondition(lambda self: self.world.client)
    @rule(pick=_picks)
    def the_client_takes_a_request_back(self, pick: int) -> None:
        request = list(self.world.client.values())[pick % len(self.world.client)]
        if b"/goal" in request.line and request.session in self.world.lives:
            self.world.lives[
                request.session
            ].may_run = False  # Its prompt was kept open, and stood for the goal's work.
        self.world.from_client({"method": "$/cancel_request", "params": {"requestId": request.ident}})

    @rule(session=_sessions, method=st.sampled_from(["session/load", "session/resume"]), preserve=st.booleans())
    def the_client_opens_again(self, session: str, method: str, *, preserve: bool) -> None:
        if not self.world.pending(session, _LIFE):
            self._open(session, method, preserve=preserve)

    @rule(session=_sessions, method=st.sampled_from(ENDING))
    def the_client_ends(self, session: str, method: str) -> None:
        if not self.world.pending(session, _LIFE):
            self._ask(method, {"sessionId": session})

    @precondition(lambda self: self.world.asked)
    @rule()
    def the_user_allows(self) -> None:
        self.world.from_client({"id": self.world.asked.pop()["id"], "result": {"outcome": {"outcome": "cancelled"}}})

    # The agent

    @precondition(lambda self: self.world.agent)
    @rule(
        pick=_picks,
        stop=st.sampled_from(_STOPS),
        tokens=st.none() | st.integers(0, 30),
        fails=st.sampled_from([False, False, False, True]),
        words=st.sampled_from(["boom", "rate limit"]),
    )
    def the_agent_answers(self, pick: int, stop: str, tokens: int | None, words: str, *, fails: bool) -> None:
        request = list(self.world.agent.values())[pick % len(self.world.agent)]
        if fails:
            self._fail(request, -32602 if pick % 2 else -32000, words)
        else:
            self._succeed(request, stop, tokens)

    @rule(session=_sessions, text=st.sampled_from(_SAID))
    def the_agent_says(self, session: str, text: str) -> None:
        self._update(session, "agent_message_chunk", content={"type": "text", "text": text})

    @rule(session=_sessions, title=st.sampled_from(["ls", "mcp__goal__update_goal"]))
    def the_agent_works(self, session: str, title: str) -> None:
        self._update(session, "tool_call", toolCallId="c", title=title)

    @precondition(lambda self: self.world.is_v2)
    @rule(
        session=_sessions,
        state=st.sampled_from(["running", "idle", "idle", "requires_action"]),
        stop=st.sampled_from(_STOPS),
        tokens=st.none() | st.integers(0, 30),
    )
    def the_agent_tells_its_state(self, session: str, state: str, stop: str, tokens: int | None) -> None:
        life = self.world.lives[session]
        if life.is_open:
            life.running = state == "running" or (life.running and state != "idle")
            for turn in life.turns:
                turn.idle = state == "idle" or (turn.idle and state != "running")
            if state == "idle":
                life.turns = [turn for turn in life.turns if not turn.accepted]
            self._update(session, "state_update", state=state, stopReason=stop, **usage(tokens))

    @precondition(lambda self: self.world.is_v2)
    @rule(session=_sessions)
    def the_agent_clears_the_meta(self, session: str) -> None:
        self.world.lives[session].published = None
        self._update(session, "session_info_update", _meta=None)

    @rule(session=_sessions, title=st.sampled_from(["rm", "mcp__goal__update_goal"]))
    def the_agent_asks_for_leave(self, session: str, title: str) -> None:
        self.ids += 1
        params = {
            "sessionId": session,
            "toolCall": {"title": title},
            "options": [{"optionId": "o", "kind": "allow_once"}],
        }
        self.world.from_agent({"id": f"agent-{self.ids}", "method": "session/request_permission", "params": params})

    # The model

    @rule(session=_sessions, what=st.sampled_from(_CALLS), rounds=st.sampled_from([None, 0, 1, 3]))
    def the_model_calls_a_tool(self, session: str, what: str, rounds: int | None) -> None:
        world, life = self.world, self.world.lives[session]
        self.ids += 1
        known = self._call(life.token, "get_goal", {}).get("goal") or {"id": "goal-0", "revision": 1}
        named: Message = {"goal_id": known["id"], "revision": known["revision"]}
        if what == "create":
            answer = self._call(
                life.token, "create_goal", {"objective": "M", "max_goal_rounds": rounds}, life if life.turns else None
            )
        elif what == "stale":
            answer = self._call(
                life.token, "update_goal", {**named, "revision": known["revision"] + 1, "action": "complete"}
            )
            assert answer["failed"]
        elif what == "wrong id":
            answer = self._call(life.token, "update_goal", {**named, "goal_id": "goal-?", "action": "complete"})
            assert answer["failed"]
        elif what == "wrong token":
            answer = self._call("?", "update_goal", {**named, "action": "complete"})
            assert answer["failed"]
        elif what == "junk":
            assert self._call(life.token, "update_goal", {"action": what})["failed"]
        elif what != "get":
            fields = {"objective": "E", "max_goal_rounds": rounds} if what == "edit" else {}
            answer = self._call(
                life.token, "update_goal", {**named, "action": what, **fields}, life if what == "resume" else None
            )
            if not answer["failed"] and what in ("pause", "blocked"):
                life.may_run = False
        assert not world.calls, "a call is answered at once"

    # Time

    @rule(milliseconds=st.sampled_from([1, 400, 3000, 20_000, -5]))
    def time_passes(self, milliseconds: int) -> None:
        self.world.now += milliseconds

    @precondition(lambda self: self.world.timers)
    @rule(pick=_picks, late=st.sampled_from([0, 1, 5000]))
    def a_timer_fires(self, pick: int, late: int) -> None:
        key, due = self.world.timers.pop(pick % len(self.world.timers))
        self.world.now = max(self.world.now, due + late)
        self.world.old_timers.append(key)
        self.world.happens(TimerFired(key, self.world.now))

    @precondition(lambda self: self.world.old_timers)
    @rule(pick=_picks)
    def a_stale_timer_fires(self, pick: int) -> None:
        self.world.happens(TimerFired(self.world.old_timers[pick % len(self.world.old_timers)], self.world.now))

    @precondition(lambda self: self.world.checks)
    @rule(pick=_picks, passed=st.booleans())
    def a_check_ends(self, pick: int, *, passed: bool) -> None:
        session, *claimed = self.world.checks.pop(pick % len(self.world.checks))
        if passed:
            self.world.lives[session].passed.add((claimed[0], claimed[1]))
        self.world.happens(CheckDone(session, passed, "it ran", self.world.now))

    @precondition(lambda self: self.ids > 12)
    @rule(preserve=st.booleans())
    def everything_starts_again(self, *, preserve: bool) -> None:
        world = self.world
        world.happens(AgentGone(world.now))
        assert not self._unsent(), "what the proxy holds is answered when the agent has gone"
        world.now += 10
        world.begin()
        self._begin("session/load" if not world.is_v2 else "session/resume", preserve=preserve)

    @rule(times=st.integers(1, 6), tokens=st.none() | st.integers(0, 30))
    def the_work_goes_on(self, times: int, tokens: int | None) -> None:
        for _ in range(times):
            self._something_ends(tokens)

    # What always holds

    @invariant()
    def the_proxy_remembers_what_is_open_and_no_more(self) -> None:
        connection = self.world.engine._connection
        assert set(connection.awaiting) <= set(self.world.agent)
        drivers = [session.driver for session in connection.sessions.values() if session.driver is not None]
        assert connection.rounds == sum(driver.round is not None for driver in drivers)
        assert {session.id for session in connection.tokens.values() if session} <= set(connection.sessions)
        assert connection.listed <= set(connection.tokens)

    @invariant()
    def the_client_knows_the_goal(self) -> None:
        for name, life in self.world.lives.items():
            if life.stored is not None and life.stored.status == "active" and self.world.policy.on_cancel == "pause":
                assert life.may_run or not life.is_open, "a goal that may not be worked on is not active"
            if life.is_open and not self.world.pending(name, OPENING):
                expected = as_published(life.stored, 0) if life.stored is not None else None
                assert ({**life.published, "updatedAt": 0} if life.published is not None else None) == expected

    def teardown(self) -> None:
        """Everything is answered, and every timer runs out: then nobody waits for anything."""
        if sys.exc_info()[0] is not None:
            return  # It has failed already.
        for _ in range(300):
            if not self._something_ends():
                break
        assert not self.world.client, "a request of the client's is answered"
        connection = self.world.engine._connection
        assert (connection.awaiting, connection.rounds) == ({}, 0)
        for name, life in self.world.lives.items():
            if life.is_open and life.may_run and life.stored is not None:
                assert life.stored.status != "active", "an active goal is worked on"
            assert name not in connection.sessions or life.is_open, "a session that is over is forgotten"

    def _something_ends(self, tokens: int | None = None) -> bool:
        world = self.world
        if world.agent:
            self._succeed(next(iter(world.agent.values())), "end_turn", tokens)
        elif idle := [name for name, life in world.lives.items() if life.turns or life.running]:
            self.the_agent_tells_its_state(idle[0], "idle", "end_turn", tokens)
        elif world.checks:
            self.a_check_ends(0, passed=True)
        elif world.timers:
            self.a_timer_fires(0, 0)
        busy = any(life.turns or life.running for life in world.lives.values())
        return bool(world.agent or world.checks or world.timers or busy)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=250, stateful_step_count=40, derandomize=True, deadline=None)
