"""``goalproxy goals``: the goals of every sidecar that runs, and what each waits for."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from goalproxy.metrics.discovery import Sidecar

from .ledger import look
from .log import complain
from .registry import Unusable
from .sources import Sources

_PATIENCE = 5.0
"""Seconds that a directory or a sidecar has to answer. A sidecar loads its server with the first question."""
_AT_ONCE = 16


class Answer(NamedTuple):
    """What a sidecar says of its goals, see ``GoalView``; ``goals`` is None if it gave no answer."""

    pid: int
    agent: str
    goals: list[dict[str, Any]] | None


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
            goals = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            goals = None
    return Answer(sidecar.pid, sidecar.agent, goals)


def print_json(answers: Sequence[Answer]) -> None:
    """Print the answers as a JSON array."""
    json.dump([answer._asdict() for answer in answers], sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_text(answers: Sequence[Answer]) -> None:
    """Print the answers for a person."""
    if not answers:
        sys.stdout.write("No sidecar runs.\n")
    for answer in answers:
        sys.stdout.write(f"sidecar {answer.pid}, {answer.agent}\n")
        sys.stdout.writelines(f"  {line}\n" for line in _lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    if answer.goals is None:
        yield "gave no answer"
    elif not answer.goals:
        yield "no goal"
    else:
        for goal in answer.goals:
            yield ", ".join([f"{_plain(goal['sessionId'])}  {goal['status']}", *_numbers(goal)])
            yield from (f"     {_plain(line)}" for line in goal.get("objective", "").splitlines())
            if goal["working"]:
                yield f"     is worked for{_since(goal)}"
            elif "waitsFor" in goal:
                yield f"     waits for {goal['waitsFor']}{_when(goal)}"
            if "lastReason" in goal:
                yield f"     last reason: {_plain(goal['lastReason'])}"


def _numbers(goal: dict[str, Any]) -> Iterator[str]:
    if "iterations" in goal:
        yield f"round {goal['iterations']}"
    if "tokensUsed" in goal:
        yield f"{goal['tokensUsed']}{' of ' + str(goal['tokenBudget']) if 'tokenBudget' in goal else ''} tokens"
    if "timeUsedSeconds" in goal:
        yield f"{goal['timeUsedSeconds']} s"


def _plain(text: str) -> str:
    """Text that a model may have written, without anything that a terminal would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _since(goal: dict[str, Any]) -> str:
    return (
        f", in a round that began {time.time() - goal['workingSince'] / 1000:.0f} s ago"
        if "workingSince" in goal
        else ""
    )


def _when(goal: dict[str, Any]) -> str:
    left = goal["nextRoundAt"] / 1000 - time.time() if "nextRoundAt" in goal else 0
    return f", in {left:.0f} s" if left >= 1 else ""
