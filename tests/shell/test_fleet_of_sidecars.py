"""Real sidecars that come, work, go and are killed, beside an exporter that is killed, too: every count is right."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from goalproxy.metrics.catalogue import MESSAGES
from goalproxy.metrics.series import read

from .client import Client, Samples, key
from .conftest import Start
from .exporter import Exporter, fallen
from .rig import Sidecar, eventually, scripted

LINE = b'{"jsonrpc":"2.0","method":"a"}\n'
WAVES, IN_A_WAVE = 20, 10
ENDS = ("ended", "stopped", "killed", "killed early")
NATIVE = {"agent": "robo", "owner": "native"}
SIDECARS = key("goalproxy_exporter_sidecars")


@pytest.fixture
def export(tmp_path: Path, env: dict[str, str]) -> Iterator[Callable[[], Exporter]]:
    """Start an exporter of the usual directory, one at a time: the one before it is killed."""
    started: list[Exporter] = []

    def begin() -> Exporter:
        for before in started:
            before.close()
        started.append(Exporter("--registry", str(tmp_path / "goalproxy"), env=env, folder=tmp_path))
        return started[-1]

    yield begin
    started[-1].close()


class Wave:
    """Sidecars at the same time. Each has its own end, and its own number of messages."""

    def __init__(self, start: Start, number: int) -> None:
        places = range(number * IN_A_WAVE, (number + 1) * IN_A_WAVE)
        self.sidecars = [(start(["cat"]), ENDS[place % len(ENDS)], 1 + place % 3) for place in places]
        self.done = Counter[str]()
        for sidecar, end, lines in self.sidecars:
            self.done[end] += 1
            if end != "killed early":
                sidecar.input.write(LINE * lines)
                self.done["lines"] += lines

    def kill_early(self, *, registered: bool) -> None:
        """Kill those that have this fate: at once, or as soon as their file is there."""
        for sidecar, end, _ in self.sidecars:
            if end == "killed early":
                if registered:
                    eventually(partial(numbers, sidecar))
                sidecar.signal(signal.SIGKILL)

    def end(self) -> None:
        """Wait until the others have counted what they did, and let them end."""
        for sidecar, end, lines in self.sidecars:
            if end != "killed early":
                eventually(partial(has_counted, sidecar, lines))
                if end == "ended":
                    sidecar.input.close()
                else:
                    sidecar.signal(signal.SIGTERM if end == "stopped" else signal.SIGKILL)
        for sidecar, _, _ in self.sidecars:
            sidecar.wait()
            sidecar.close()


def numbers(sidecar: Sidecar) -> Path | None:
    """The file of a sidecar, once it is there."""
    return next(sidecar.registry.glob(f"{sidecar.pid}-*.series"), None)


def has_counted(sidecar: Sidecar, lines: int) -> bool:
    """Whether the messages that came back from the agent are in the sidecar's file."""
    path = numbers(sidecar)
    counted = {} if path is None else read(path.read_bytes())
    return counted.get((MESSAGES.name, "agent_to_client", "relayed")) == (lines,)


def test_the_totals_of_200_sidecars_that_come_and_go_are_what_they_did(
    start: Start, export: Callable[[], Exporter], tmp_path: Path
) -> None:
    done, before = Counter[str](), Samples()
    exporter = export()
    for number in range(WAVES):
        wave = Wave(start, number)
        wave.kill_early(registered=number % 2 == 0)
        if number % 4 == 3:
            exporter = export()
        samples = exporter.samples()
        assert not fallen(before, samples)
        wave.end()
        before, done = exporter.samples(), done + wave.done
        assert not fallen(samples, before)
    exporter = export()
    samples = exporter.samples()
    assert not fallen(before, samples)
    for direction in ("client_to_agent", "agent_to_client"):
        labels = {"direction": direction, "treatment": "relayed"}
        assert samples[key("goalproxy_relay_messages_total", **labels)] == done["lines"]
        assert samples[key("goalproxy_relay_bytes_total", **labels)] == done["lines"] * len(LINE)
        assert samples[key("goalproxy_relay_latency_seconds_bucket", direction=direction, le="+Inf")] == sum(
            value for (name, has), value in samples.items()
            if name == "goalproxy_relay_latency_seconds_count" and ("direction", direction) in has
        )  # fmt: skip
    exits = "goalproxy_agent_exits_total"
    assert {end: samples[key(exits, agent="unknown", outcome=end)] for end in ("ended", "stopped")} == {
        "ended": done["ended"], "stopped": done["stopped"],
    }  # fmt: skip
    everyone = WAVES * IN_A_WAVE
    assert everyone - done["killed early"] <= samples[key("goalproxy_sidecars_started_total")] <= everyone
    assert (samples[SIDECARS], samples[key("goalproxy_exporter_unreadable_files")]) == (0, 0)
    assert {path.name for path in (tmp_path / "goalproxy").glob("[!.]*")} == {"totals"}


def test_goals_of_the_living_are_gauges_and_those_of_all_are_counts(
    start: Start, export: Callable[[], Exporter]
) -> None:
    exporter = export()
    sidecars = [start(scripted("goals"), "--admin", "127.0.0.1:0") for _ in range(3)]
    for sidecar in sidecars:
        client = Client(sidecar)
        client.control(client.open(), "set", objective="Secret")
    active = key("goalproxy_goals", **NATIVE, status="active")
    samples = exporter.samples()
    assert (samples[active], samples[key("goalproxy_agent_up", agent="robo")]) == (3, 3)
    ports = {sidecar.errors.until(b"metrics on").split()[-1].decode() for sidecar in sidecars}
    targets = exporter.get("/targets")[2].decode()
    assert all(port.removeprefix("http://").removesuffix("/metrics") in targets for port in ports)
    sidecars[0].signal(signal.SIGKILL)
    sidecars[0].wait()
    assert sidecars[1].finish() == 0
    samples = exporter.samples()
    assert (samples[active], samples[SIDECARS]) == (1, 1)
    assert samples[key("goalproxy_goals_started_total", **NATIVE)] == 3
    assert samples[key("goalproxy_sidecars_started_total")] == 3
    assert b"Secret" not in exporter.get()[2]


def test_a_sidecar_that_hangs_hinders_nobody_and_is_still_counted(start: Start, export: Callable[[], Exporter]) -> None:
    exporter = export()
    hanging, other = start(["cat"]), start(["cat"])
    for sidecar in (hanging, other):
        sidecar.input.write(LINE)
        eventually(partial(has_counted, sidecar, 1))
    hanging.signal(signal.SIGSTOP)
    relayed = key("goalproxy_relay_messages_total", direction="agent_to_client", treatment="relayed")
    other.input.write(LINE)
    eventually(partial(has_counted, other, 2))
    samples = exporter.samples()
    assert (samples[relayed], samples[SIDECARS]) == (3, 2)
    hanging.signal(signal.SIGCONT)
    assert hanging.finish() == 0


def test_sidecars_tidy_up_where_no_exporter_ever_runs(start: Start, tmp_path: Path) -> None:
    directory = tmp_path / "goalproxy"
    directory.mkdir(mode=0o700)
    for number in range(70):
        (directory / f"{number}-0123abcd.series").write_bytes(b"")
    sidecar = start(["cat"])
    sidecar.input.write(LINE)
    eventually(partial(has_counted, sidecar, 1))
    assert sidecar.finish() == 0
    assert len(list(directory.glob("*.series"))) == 1, "its own, which it held until its end"
