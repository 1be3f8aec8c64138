"""What a client sees of a run, in a form in which a run through the proxy can be compared with one without it.

Left out are goal matters and what differs between any two runs of the same agent: ids, times, paths, the title that
comes when it comes, and how text and the news of a tool call are cut into messages.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .invariants import snapshot_of
from .scene import Scene
from .traffic import Entry, Json, Source


def plain_view(scene: Scene) -> Counter[str]:
    """Return how often the client received what; all text is one, and a tool call is the fields it ever had."""
    seen = [entry for entry in scene.traffic.entries if entry.source is Source.AGENT and not snapshot_of(entry)]
    pieces = [piece for entry in seen for piece in _pieces(entry)]
    folder = scene.cwd.parent
    whole = Counter(_masked(piece, folder) for piece in pieces if "toolCallId" not in piece)
    tools = {_masked(piece, folder) for piece in pieces if "toolCallId" in piece}
    return whole + Counter([_masked(sorted(scene.texts()), folder), *tools])


def _pieces(entry: Entry) -> Iterator[Json]:
    """Yield what there is to compare in a message."""
    update = (entry.message.get("params") or {}).get("update") or {}
    if update.get("sessionUpdate") in {"tool_call", "tool_call_update"}:
        fields = {**update, **update.get("_meta", {})}
        for name in fields.keys() - {"_meta", "sessionUpdate"}:
            yield {"toolCallId": update["toolCallId"], name: _shape(fields[name])}
    elif update.get("sessionUpdate") != "agent_message_chunk" and "title" not in update:
        yield _without_goal(entry.message)


def _shape(value: Any) -> Any:
    """Return the keys of an object and no more of a list than that it is one: output comes in pieces of any size."""
    if isinstance(value, dict):
        return sorted(value)
    return "a list" if isinstance(value, list) else value


def _without_goal(value: Any) -> Any:
    """Return a JSON value without the goal capability, and without a `_meta` that had nothing else."""
    if isinstance(value, list):
        return [_without_goal(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_goal(each) for key, each in value.items()}
    if isinstance(kept.get("_meta"), dict):
        kept["_meta"].pop("goal", None)
    return {key: each for key, each in kept.items() if key != "_meta" or each}


def _masked(value: Any, folder: Path) -> str:
    """Return a JSON value as text without what differs from run to run."""
    text = json.dumps(value, sort_keys=True).replace(str(folder), "<folder>")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", text)
    text = re.sub(r'"(durationMs|processId|duration_ms|process_id|nanos|used)": "?[\w.]+"?', "<varies>", text)
    return re.sub(r"\b1[78]\d{8,11}\b|\b\d+\.\d{2,}\b|127\.0\.0\.1:\d+", "<varies>", text)
