"""``goalproxy goals``: the goals of every sidecar that runs, and what each waits for."""

from __future__ import annotations

import http.client
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from goalproxy.metrics.discovery import Sidecar
from goalproxy.proxy.core.views import GoalView

from .ledger import look
from .log import complain, plain
from .registry import Unusable
from .sources import Sources

_PATIENCE = 5.0
"""Seconds that a directory or a sidecar has to answer. A sidecar loads its server with the first question."""
_AT_ONCE = 16
_LARGEST = 16 << 20
"""Bytes of an answer."""
_GOALS: Final = msgspec.json.Decoder(list[GoalView])


class Answer(Struct, frozen=True):
    """What a sidecar says of its goals; ``goals`` is None if it gave no answer that makes sense."""

    pid: int
    agent: str
    goals: list[GoalView] | None


def ask(sources: Sources) -> list[Answer]:
    """Ask every sidecar that lives."""
    sidecars = [sidecar for path in sources.directories() for sidecar in _living(Path(path))]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_ask, sidecars))


def _living(path: Path) -> Sequence[Sidecar]:
    try:
        return look(path, time.monotonic() + _PATIENCE).sidecars
    except FileNotFoundError:
        return ()
    except (OSError, Unusable) as error:
        complain(f"cannot read {path}: {getattr(error, 'strerror', None) or error}")
        return ()


def _ask(sidecar: Sidecar) -> Answer:
    connection = http.client.HTTPConnection("sidecar", timeout=_PATIENCE)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
        try:
            end.settimeout(_PATIENCE)
            end.connect(sidecar.socket or "")
            connection.sock = end
            connection.request("GET", "/goals")
            goals = _GOALS.decode(connection.getresponse().read(_LARGEST))
        except (OSError, ValueError, http.client.HTTPException):
            goals = None
    return Answer(sidecar.pid, sidecar.agent, goals)


def print_json(answers: Sequence[Answer]) -> None:
    """Print the answers as a JSON array."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(answers)).decode() + "\n")


def print_text(answers: Sequence[Answer]) -> None:
    """Print the answers for a person."""
    if not answers:
        sys.stdout.write("No sidecar runs.\n")
    for answer in answers:
        sys.stdout.write(f"sidecar {answer.pid}, {plain(answer.agent)}\n")
        sys.stdout.writelines(f"  {plain(line)}\n" for line in _lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    if answer.goals is None:
        yield "gave no answer"
    elif not answer.goals:
        yield "no goal"
    else:
        for goal in answer.goals:
            yield ", ".join([f"{goal.session_id}  {goal.status}", *_numbers(goal)])
            yield from (f"     {line}" for line in (goal.objective or "").splitlines())
            if goal.working:
                yield f"     is worked for{_since(goal)}"
            elif goal.waits_for is not None:
                yield f"     waits for {goal.waits_for}{_when(goal)}"
            if goal.last_reason is not None:
                yield f"     last reason: {goal.last_reason}"


def _numbers(goal: GoalView) -> Iterator[str]:
    if goal.iterations is not None:
        yield f"round {goal.iterations}"
    if goal.tokens_used is not None:
        yield f"{goal.tokens_used}{'' if goal.token_budget is None else f' of {goal.token_budget}'} tokens"
    if goal.time_used_seconds is not None:
        yield f"{goal.time_used_seconds} s"


def _since(goal: GoalView) -> str:
    if goal.working_since is None:
        return ""
    return f", in a round that began {time.time() - goal.working_since / 1000:.0f} s ago"


def _when(goal: GoalView) -> str:
    left = 0 if goal.next_round_at is None else goal.next_round_at / 1000 - time.time()
    return f", in {left:.0f} s" if left >= 1 else ""
