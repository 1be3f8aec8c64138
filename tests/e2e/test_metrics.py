"""What a real Prometheus says of real agents behind goalproxy, after goals of each outcome and ends of each kind.

Codex keeps its goals itself, Gemini CLI has none, so goalproxy keeps them. Everything that is asked was counted on the
way: what the fake model said it used, which rounds it was asked for, and what the client did.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from ..fleet.prometheus import Prometheus, poll
from ..shell.conftest import clean_environment
from ..shell.exporter import Exporter
from .agents import GEMINI, NEWEST
from .checks import done, ended
from .client import GRACE, children, descendants
from .fake_model import HELD, USAGE_LIMIT, Turn, say, use
from .scene import Scene
from .stage import Stage, stage_of

CODEX: Final = ("codex-acp", "native")
CLI: Final = ("gemini-cli", "emulated")
CHECK: Final = "if test -e broken; then echo it is broken; exit 1; fi"

NOTHING: Final = (0, 0)
"""The tokens of turns that Codex counts for a goal, or does not, as it comes."""
WAITING: Final = Turn(text="waiting", usage=NOTHING, held=True)
STOPS: Final = {
    "complete": (use("update_goal", NOTHING, status="complete"), say("all shipped", NOTHING)),
    "blocked": (use("update_goal", NOTHING, status="blocked"), say("I am stuck", NOTHING)),
    "limited": (USAGE_LIMIT,),
}
"""How goals of Codex stop, after a first turn of 1050 tokens."""

Told = dict[tuple[str, ...], float]


class Native:
    """Codex behind one sidecar after the other; each goal has a session of its own."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def play(self) -> None:
        """Play a goal of each outcome, and one that is at work when this is done."""
        scene = self.scene
        scene.open()
        for status, turns in STOPS.items():
            scene.start_goal(*turns)
            scene.turn_ended(scene.expect(status).index)
            scene.another()
        scene.model.script(*[WAITING] * 3)
        turn = self._works("Clear it")
        done(scene.control("clear"))
        scene.release(turn)
        scene.another()
        turn = self._works("Replace it")
        done(scene.control("set", objective="Pause it"))
        scene.model.release(turn)
        turn = scene.model.asked_about("Pause it", after=turn)
        done(scene.control("pause"))
        scene.release(turn)
        scene.another()
        scene.start_goal()
        self._says(HELD)

    def end(self) -> None:
        """End the input, load the session that is at work in the next sidecar, tell this one to end, kill a third's agent."""
        scene = self.scene
        again = Turn(text="again", held=True)
        scene.model.script(again)
        scene.reopen("session/load")
        self._says(again)
        assert scene.client.terminate()
        scene.client.start_again()
        scene.initialize()
        sidecar = scene.client.process
        [agent] = children(sidecar.pid)
        os.kill(agent, signal.SIGKILL)
        sidecar.wait(GRACE)

    def _works(self, objective: str) -> int:
        """Set a goal; the number of the turn that is held for it."""
        turn = self.scene.model.turns + 1
        done(self.scene.control("set", objective=objective))
        self.scene.model.asked(turn)
        return turn

    def _says(self, turn: Turn) -> None:
        """Wait until the agent says the words of a turn that the goal runs by itself: so it is known to run."""
        self.scene.wait_update("its words", lambda update: str(turn.text) in str(update.get("content")), after=0)


class Emulated:
    """Gemini CLI behind one sidecar, which is killed."""

    def __init__(self, stage: Stage) -> None:
        self.scene, self._stage = stage.scene, stage

    def play(self) -> None:
        """Play a goal of each outcome, and one that is at work when this is done."""
        stage, scene = self._stage, self.scene
        self._complete()
        stage.set(*stage.report("blocked", "no access"), say("one"), *stage.report("blocked", "still none"), say("bye"))
        scene.expect("blocked")
        self._used(2 * 330)
        stage.set(say("one", (900, 200)), tokenBudget=1000)
        scene.expect("limited")
        stage.open(
            use(stage.own.named("create_goal"), objective="One round", max_goal_rounds=1), say("made"), say("one")
        )
        ended(scene.prompt("make this a goal").reply())
        scene.expect("limited")
        stage.set()
        stage.asked(1)
        done(scene.control("clear"))
        self._rests()
        stage.set()
        stage.asked(1)
        done(scene.control("set", objective="Pause it"))
        stage.asked(2)
        done(scene.control("pause"))
        self._rests()
        stage.set()
        stage.asked(1)

    def end(self) -> None:
        """Kill the sidecar in the round that runs, and then what it leaves behind."""
        sidecar = self.scene.client.process
        left = descendants(sidecar.pid)
        sidecar.kill()
        sidecar.wait(GRACE)
        for process in left:
            os.kill(process, signal.SIGKILL)

    def _complete(self) -> None:
        """The check fails once, and passes after a round in between."""
        stage, broken = self._stage, self.scene.cwd / "broken"
        broken.touch()
        stage.set(*stage.report("complete", "I think so"), say("one"))
        self.scene.expect_goal("the check's words", lambda goal: "it is broken" in goal.get("lastReason", ""))
        stage.asked(4)
        broken.unlink()
        self.scene.model.script(*stage.report("complete", "this time it is"), say("bye"))
        stage.release(4)
        self.scene.expect("complete")
        self._used(330 + 110 + 330)

    def _rests(self) -> None:
        """Have a prompt answered, which waits for the end of the round that is broken off."""
        self.scene.model.script(say("yes"))
        ended(self.scene.prompt("are you there?").reply())

    def _used(self, tokens: int) -> None:
        """Wait for the tokens of all rounds, unless the last snapshot has told them already."""
        if self.scene.snapshots()[-1].goal.get("tokensUsed") != tokens:
            self.scene.expect_goal("the tokens of all rounds", lambda goal: goal.get("tokensUsed") == tokens)


class Host:
    """Both agents, the exporter of their registry, and Prometheus."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack, self._env = folder, stack, clean_environment(folder)
        self._registry = str(folder / "registry")
        self._exporter = stack.enter_context(closing(self._export("127.0.0.1:0")))
        self.prometheus = stack.enter_context(closing(Prometheus(folder, self._address)))
        self.prometheus.until_known()
        native = Scene(NEWEST, folder / "codex")
        native.more = {"GOALPROXY_REGISTRY": self._registry}
        emulated = stage_of(GEMINI, folder / "gemini", REGISTRY=self._registry, CHECK=CHECK, BLOCKED_AFTER="2")
        self._native, self._emulated = Native(native), Emulated(emulated)
        for scene in (native, emulated.scene):
            stack.callback(scene.close)

    def play(self) -> None:
        """See ``play`` of the agents."""
        _both(self._native.play, self._emulated.play)

    def end(self) -> None:
        """End all sidecars, and start the exporter anew."""
        _both(self._native.end, self._emulated.end)
        address = self._address
        assert self._exporter.end() == 0
        self._stack.enter_context(closing(self._export(address)))

    def told(self, expr: str, *labels: str) -> Told:
        """What Prometheus says now, summed by labels: the values of these, and the sum where it is not 0."""
        found = self.prometheus.query(f"sum by ({', '.join(labels)}) ({expr}) != 0")
        return {tuple(dict(sample)[label] for label in labels): value for sample, value in found.items()}

    @property
    def _address(self) -> str:
        return urlsplit(self._exporter.url).netloc

    def _export(self, address: str) -> Exporter:
        return Exporter("--listen", address, "--registry", self._registry, env=self._env, folder=self._folder)


def _both(*plays: Callable[[], None]) -> None:
    """Play at the same time."""
    with ThreadPoolExecutor() as pool:
        for running in [pool.submit(play) for play in plays]:
            running.result()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The host, with both agents at work."""
    with ExitStack() as stack:
        made = Host(tmp_path_factory.mktemp("host"), stack)
        made.play()
        yield made


@pytest.fixture(scope="module")
def host_at_rest(host: Host) -> Host:
    """The same host, when everything has ended."""
    host.end()
    return host


def by_agent(native: dict[str, float], emulated: dict[str, float]) -> Told:
    """Values by agent, owner and one more label."""
    agents = ((CODEX, native), (CLI, emulated))
    return {(*agent, word): value for agent, values in agents for word, value in values.items()}


STATUSES: Final = dict.fromkeys(("active", "paused", "complete", "blocked", "limited"), 1.0)


@pytest.mark.parametrize(
    ("metric", "labels", "expected"),
    [
        ("goalproxy_goals", ("agent", "owner", "status"), by_agent(STATUSES, {**STATUSES, "limited": 2})),
        ("goalproxy_goal_most_rounds", ("agent",), {("codex-acp",): 2, ("gemini-cli",): 1}),
        (
            "goalproxy_agent_info",
            ("agent", "version", "dialect"),
            {("codex-acp", NEWEST.version, "AIR"): 1, ("gemini-cli", GEMINI.version, "none"): 1},
        ),
        ("goalproxy_agent_up", ("agent",), {("codex-acp",): 1, ("gemini-cli",): 1}),
        ("goalproxy_exporter_sidecars", ("job",), {("goalproxy",): 2}),
    ],
)
def test_what_is_now_is_told_while_goals_are_worked_for(
    host: Host, metric: str, labels: tuple[str, ...], expected: Told
) -> None:
    poll(lambda: host.told(metric, *labels), lambda found: found == expected, metric)


OUTCOMES: Final = dict.fromkeys(("complete", "blocked", "limited", "cleared", "replaced"), 1.0)
FINISHED: Final = by_agent({**OUTCOMES, "ended_unknown": 2}, {**OUTCOMES, "limited": 2})
"""The goal that was at work in two sidecars of Codex is told twice, that in the one that was killed not at all."""
BY_OUTCOME: Final = ("agent", "owner", "outcome")
TOTALS: Final[list[tuple[str, tuple[str, ...], Told]]] = [
    ("goalproxy_goals_started_total", ("agent", "owner"), {CODEX: 7, CLI: 8}),
    ("goalproxy_goals_restored_total", ("agent", "owner"), {CODEX: 1}),
    ("goalproxy_goals_finished_total", BY_OUTCOME, FINISHED),
    ("goalproxy_goal_duration_seconds_count", BY_OUTCOME, FINISHED),
    ("goalproxy_goal_iterations_total", ("agent", "owner"), {CODEX: 11, CLI: 11}),
    (
        "goalproxy_goal_rounds_sum",
        BY_OUTCOME,
        by_agent(
            {"complete": 2, "blocked": 2, "limited": 2, "cleared": 1, "replaced": 1, "ended_unknown": 2},
            {"complete": 3, "blocked": 2, "limited": 2, "cleared": 1, "replaced": 1},
        ),
    ),
    (
        "goalproxy_goal_used_tokens_sum",
        BY_OUTCOME,
        by_agent(
            {"complete": 1050, "blocked": 1050, "limited": 1050, "ended_unknown": 1050},
            {"complete": 770, "blocked": 660, "limited": 1100 + 110},
        ),
    ),
    ("goalproxy_goal_tokens_total", ("agent", "owner"), {CODEX: 3 * 1050, CLI: 770 + 660 + 1100 + 110}),
    (
        "goalproxy_goal_round_tokens_total",
        ("agent", "kind"),
        {("gemini-cli", "input"): 700 + 600 + 900 + 100, ("gemini-cli", "output"): 70 + 60 + 200 + 10},
    ),
    ("goalproxy_goal_round_duration_seconds_count", ("outcome",), {("end_turn",): 7, ("cancelled",): 3}),
    (
        "goalproxy_goal_stops_total",
        ("reason",),
        {(reason,): 1 for reason in ("complete", "model-reported", "token-budget", "round-limit", "clear", "paused")},
    ),
    (
        "goalproxy_goal_tool_calls_total",
        ("tool", "result"),
        {
            ("create_goal", "ok"): 1,
            ("get_goal", "ok"): 4,
            ("update_goal", "ok"): 3,
            ("update_goal", "too-early"): 1,
        },
    ),
    ("goalproxy_goal_check_duration_seconds_count", ("result",), {("failed",): 1, ("passed",): 1}),
    (
        "goalproxy_goal_control_requests_total",
        ("agent", "action", "result"),
        {
            ("codex-acp", "set", "ok"): 3,
            ("codex-acp", "clear", "ok"): 1,
            ("codex-acp", "pause", "ok"): 1,
            ("gemini-cli", "set", "ok"): 7,
            ("gemini-cli", "clear", "ok"): 1,
            ("gemini-cli", "pause", "ok"): 1,
        },
    ),
    ("goalproxy_goal_commands_total", ("agent", "word", "answered_by"), {("codex-acp", "set", "agent"): 4}),
    ("goalproxy_sidecars_started_total", ("job",), {("goalproxy",): 4}),
    (
        "goalproxy_agent_exits_total",
        ("agent", "outcome"),
        {("codex-acp", outcome): 1 for outcome in ("ended", "stopped", "killed")},
    ),
]


@pytest.mark.parametrize(
    "how", ["{metric}", 'sum_over_time(goalproxy:growth{{metric="{metric}"}}[1h])'], ids=["value", "growth"]
)
@pytest.mark.parametrize(("metric", "labels", "expected"), TOTALS, ids=[metric for metric, *_ in TOTALS])
def test_totals_are_what_was_done_though_all_have_ended_and_the_exporter_is_a_new_one(
    host_at_rest: Host, how: str, metric: str, labels: tuple[str, ...], expected: Told
) -> None:
    expr = how.format(metric=metric)
    poll(lambda: host_at_rest.told(expr, *labels), lambda found: found == expected, expr)


def test_nothing_is_told_of_goals_and_agents_that_are_gone(host_at_rest: Host) -> None:
    gone = (
        '{__name__=~"goalproxy_goals|goalproxy_goal_most_rounds|goalproxy_agent_(up|info)|goalproxy_exporter_sidecars"}'
    )
    poll(lambda: host_at_rest.told(gone, "__name__"), lambda found: not found, "their end")


def test_no_total_ever_fell(host_at_rest: Host) -> None:
    assert not host_at_rest.told("resets(goalproxy:value[1h])", "metric")
    assert host_at_rest.told("count_over_time(goalproxy:value[1h])", "job")
