"""A sidecar that is asked to end lets the round that runs finish, or cancels it, and then ends as ever."""

from __future__ import annotations

import signal
import time

import pytest

from .client import Client, Operator
from .conftest import Start
from .rig import DEADLINE, Sidecar, scripted


def at_work(start: Start, *options: str, words: tuple[str, ...] = ()) -> tuple[Sidecar, Client]:
    """A sidecar in the first round of a goal of its own."""
    sidecar = start(scripted("worker", *words), *options)
    client = Client(sidecar)
    client.open()
    client.control("s", "set", objective="Ship it")
    client.until(lambda goal: goal is not None and goal.get("iterations") == 1)
    return sidecar, client


def test_a_round_that_runs_may_finish_before_the_agent_gets_sigterm(start: Start) -> None:
    sidecar, client = at_work(start, "--drain-timeout", "60")
    sidecar.signal(signal.SIGTERM)
    Operator(sidecar).until_draining()
    client.notify("_puppet/finish", {"text": "Half of it is done."})
    paused = client.until(lambda goal: goal is not None and goal["status"] == "paused")
    assert paused is not None
    assert "about to end" in paused["lastReason"]
    assert sidecar.wait() == -signal.SIGTERM


def test_a_round_that_takes_too_long_is_cancelled(start: Start) -> None:
    sidecar, client = at_work(start, "--drain-timeout", "0.1")
    sidecar.signal(signal.SIGTERM)
    client.until(lambda goal: goal is not None and goal["status"] == "paused")
    assert sidecar.wait() == -signal.SIGTERM


def test_an_agent_that_heeds_nothing_ends_within_a_bound_all_the_same(start: Start) -> None:
    sidecar, _ = at_work(start, "--drain-timeout", "0", words=("deaf",))
    before = time.monotonic()
    sidecar.signal(signal.SIGTERM)
    assert sidecar.wait() == -signal.SIGTERM
    assert time.monotonic() - before < DEADLINE / 2


def test_a_second_sigterm_is_sent_on_at_once(start: Start) -> None:
    sidecar, _ = at_work(start, "--drain-timeout", "3600")
    sidecar.signal(signal.SIGTERM)
    Operator(sidecar).until_draining()
    sidecar.signal(signal.SIGTERM)
    assert sidecar.wait() == -signal.SIGTERM


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_other_signals_wait_for_nothing(start: Start, name: str) -> None:
    sidecar, _ = at_work(start, "--drain-timeout", "3600")
    sidecar.signal(getattr(signal, name))
    sidecar.wait()


def test_the_client_may_leave_during_a_drain(start: Start) -> None:
    sidecar, _ = at_work(start, "--drain-timeout", "3600")
    sidecar.signal(signal.SIGTERM)
    Operator(sidecar).until_draining()
    assert sidecar.finish() == 0


def test_a_drain_that_an_operator_asks_for_is_answered_when_nothing_runs(start: Start) -> None:
    sidecar, client = at_work(start)
    operator = Operator(sidecar)
    status, _, body = operator.post("/drain?seconds=0")
    assert (status, body) == (200, b'{"drained":true}\n')
    client.until(lambda goal: goal is not None and goal["status"] == "paused")
    status, _, body = operator.get("/readyz")
    assert (status, b'"draining":true' in body) == (503, True)
    client.control("s", "resume")
    again = client.until(lambda goal: goal is not None and goal["status"] == "paused")
    assert again is not None
    assert again["iterations"] == 1, "no round begins any more"
    assert client.call("_puppet/ping", {})["result"] == {}, "everything else goes on"


def test_a_drain_in_vain_says_so(start: Start) -> None:
    sidecar, _ = at_work(start, words=("deaf",))
    assert Operator(sidecar).post("/drain?seconds=0")[::2] == (503, b'{"drained":false}\n')


@pytest.mark.parametrize("time", ["1e300", "inf"])
def test_a_drain_may_have_all_the_time_there_is(start: Start, time: str) -> None:
    sidecar, client = at_work(start, "--drain-timeout", time)
    sidecar.signal(signal.SIGTERM)
    Operator(sidecar).until_draining()
    client.notify("_puppet/finish", {"text": "Half of it is done."})
    assert sidecar.wait() == -signal.SIGTERM


def test_an_operator_who_says_no_time_gives_that_of_the_settings(start: Start) -> None:
    sidecar = start(["cat"], "--drain-timeout", "86400")
    assert Operator(sidecar).post("/drain")[::2] == (200, b'{"drained":true}\n')


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon", "3601"])
def test_a_time_that_is_none_is_refused(start: Start, seconds: str) -> None:
    sidecar = start(["cat"])
    status, _, body = Operator(sidecar).post(f"/drain?seconds={seconds}")
    assert status == 400
    assert b"seconds must be a number" in body
