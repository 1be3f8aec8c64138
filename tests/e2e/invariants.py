"""What must hold in every run through the proxy, whatever the test is about.

Each rule is a function from the traffic to complaints; a run is fine when there are none. See sections 1.2 and 4 of the
wire contract: order, shape and time of snapshots, no answers nobody asked for, nothing of AIR for a plain client.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from .agents import Agent
from .traffic import Entry, Json, Source

STATUSES: Final = frozenset({"active", "paused", "blocked", "limited", "complete"})
EARLIEST: Final = 1_000_000_000_000
"""Times below are seconds, not milliseconds."""
OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})

Rule: TypeAlias = Callable[[Sequence[Entry], Agent], Iterator[str]]


def snapshot_of(entry: Entry) -> tuple[str, Json | None] | None:
    """Return session and goal (None: no goal) if the entry is a goal snapshot for a plain client, else None."""
    if entry.source is not Source.AGENT or entry.message.get("method") != "session/update":
        return None
    params = entry.message.get("params") or {}
    meta = (params.get("update") or {}).get("_meta")
    if not isinstance(meta, dict) or "goal" not in meta:
        return None
    return str(params.get("sessionId")), meta["goal"]


def runs(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split the traffic at each start of the agent."""
    starts = [entry.index for entry in entries if str(entry.message.get("note")).startswith("start: ")]
    for first, last in pairwise([*starts, len(entries)]):
        yield entries[first:last]


def _questions(run: Sequence[Entry]) -> dict[Any, Json]:
    """Return the client's requests by id."""
    sent = (entry.message for entry in run if entry.source is Source.CLIENT)
    return {message["id"]: message for message in sent if "method" in message and "id" in message}


def _answers(run: Sequence[Entry]) -> Iterator[Json]:
    """Yield all responses that reached the client."""
    for entry in run:
        if entry.source is Source.AGENT and "method" not in entry.message and "id" in entry.message:
            yield entry.message


def _only_messages(run: Sequence[Entry], _: Agent) -> Iterator[str]:
    for entry in run:
        if "not a message" in entry.message:
            yield f"output is no JSON-RPC message: {entry.message}"


def _answers_fit(run: Sequence[Entry], _: Agent) -> Iterator[str]:
    questions, seen = _questions(run), set[Any]()
    for answer in _answers(run):
        if answer["id"] not in questions:
            yield f"an answer to a request that the client did not send: {answer}"
        elif answer["id"] in seen:
            yield f"a second answer: {answer}"
        seen.add(answer["id"])


def _opened_by(question: Json, answer: Json) -> str | None:
    """Return the session that a successful answer makes known to the client."""
    if question["method"] not in OPENING or "error" in answer:
        return None
    result = answer.get("result") or {}
    known: str | None = result.get("sessionId") or question["params"].get("sessionId")
    return known


def _known_before_snapshot(run: Sequence[Entry], _: Agent) -> Iterator[str]:
    questions, known = _questions(run), set[str]()
    for entry in run:
        question = questions.get(entry.message.get("id")) if entry.source is Source.AGENT else None
        if question is not None and "method" not in entry.message:
            opened = _opened_by(question, entry.message)
            known |= {opened} if opened else set()
        snapshot = snapshot_of(entry)
        if snapshot and snapshot[0] not in known:
            yield f"a snapshot of a session before its response: {entry}"


def _shape(run: Sequence[Entry], _: Agent) -> Iterator[str]:
    for entry in run:
        snapshot = snapshot_of(entry)
        if snapshot is None:
            continue
        update = entry.message["params"]["update"]
        if update.get("sessionUpdate") != "session_info_update" or {"title", "updatedAt"} & update.keys():
            yield f"a snapshot in the wrong update, or with a title or a time beside it: {entry}"
        if snapshot[1] is not None:
            yield from (f"{fault}: {entry}" for fault in _faults(snapshot[1]))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_time(value: Any) -> bool:
    return type(value) is int and value >= EARLIEST


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value


REQUIRED: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "controlMethod": (lambda value: value == "_session/goal", "is not _session/goal"),
    "objective": (_is_text, "is not a text"),
    "status": (STATUSES.__contains__, "is not one of the five"),
    "createdAt": (_is_time, "is not an integer of milliseconds"),
    "updatedAt": (_is_time, "is not an integer of milliseconds"),
}
OPTIONAL: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "iterations": (_is_count, "is not a count"),
    "tokensUsed": (_is_count, "is not a count"),
    "timeUsedSeconds": (_is_count, "is not a count"),
    "tokenBudget": (lambda value: value is None or _is_count(value), "is neither null nor a count"),
    "lastReason": (_is_line, "is not one line"),
}


def _faults(goal: Json) -> Iterator[str]:
    """Yield what is wrong with the fields of one goal."""
    for name, (fits, complaint) in REQUIRED.items():
        if not fits(goal.get(name)):
            yield f"{name} {complaint}"
    for name, (fits, complaint) in OPTIONAL.items():
        if name in goal and not fits(goal[name]):
            yield f"{name} {complaint}"


def _time_rises(run: Sequence[Entry], _: Agent) -> Iterator[str]:
    last: dict[str, int] = {}
    for entry in run:
        snapshot = snapshot_of(entry)
        if snapshot is None or snapshot[1] is None:
            continue
        session, updated = snapshot[0], snapshot[1].get("updatedAt")
        if isinstance(updated, int):
            if updated <= last.get(session, 0):
                yield f"updatedAt does not rise: {entry}"
            last[session] = updated


def _mentions_jetbrains(value: Any) -> bool:
    """Return whether a `_meta` somewhere in the value has a `jetbrains` key."""
    if isinstance(value, list):
        return any(map(_mentions_jetbrains, value))
    if not isinstance(value, dict):
        return False
    meta = value.get("_meta")
    return (isinstance(meta, dict) and "jetbrains" in meta) or any(map(_mentions_jetbrains, value.values()))


def _plain(run: Sequence[Entry], agent: Agent) -> Iterator[str]:
    for entry in run:
        if entry.source is Source.AGENT and not agent.keeps_jetbrains and _mentions_jetbrains(entry.message):
            yield f"_meta.jetbrains reaches a client that did not ask for it: {entry}"


RULES: Final[tuple[Rule, ...]] = (
    _only_messages, _answers_fit, _known_before_snapshot, _shape, _time_rises, _plain,
)  # fmt: skip


def complaints(entries: Sequence[Entry], agent: Agent) -> list[str]:
    """Return everything that is wrong with the traffic of one test."""
    return [fault for run in runs(entries) for rule in RULES for fault in rule(run, agent)]
