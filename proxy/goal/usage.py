"""How many tokens one prompt used, from whatever an agent says at its end.

Agents mean different things by one field: the prompt's sum, its last model call, or the session's sum so far. What is
not said is not counted.
"""

from __future__ import annotations

from typing import Any, Final

from .report import count

CUMULATIVE = frozenset({"mistral-vibe", "vibe", "@mistralai/mistral-vibe"})
"""Agents whose ``usage`` counts the session so far."""
KINDS: Final = {
    "input": "inputTokens",
    "output": "outputTokens",
    "thought": "thoughtTokens",
    "cached_read": "cachedReadTokens",
    "cached_write": "cachedWriteTokens",
}
"""The kinds of tokens that ``usage`` can tell, and its fields."""
QUOTA_KINDS: Final = {"input": "input_tokens", "output": "output_tokens"}
"""The same of the quota that Gemini CLI tells instead."""


class UsageMeter:
    """Reads the usage of the prompts of one session.

    ``cumulative`` says that the agent reports the session's sum, ``is_new`` that this begins at zero: of a session that
    was there before, the first sum says nothing of what was used since.
    """

    def __init__(self, *, cumulative: bool, is_new: bool) -> None:
        self._cumulative = cumulative
        self._start = 0 if is_new else None
        self._before: dict[str, int] = {}

    def read(self, result: Any) -> int | None:
        """The tokens of the prompt that a result ends; None if the agent does not say."""
        return self._used("total", _total(result))

    def split(self, result: Any) -> dict[str, int]:
        """The same tokens by kind, of those kinds that the agent tells. Kinds can overlap: their sum means nothing."""
        usage, quota = _usage(result), _quota(result)
        holder, fields = (usage, KINDS) if usage is not None else (quota, QUOTA_KINDS)
        figures = {kind: self._used(kind, count((holder or {}).get(field))) for kind, field in fields.items()}
        return {kind: figure for kind, figure in figures.items() if figure is not None}

    def pass_over(self, result: Any) -> None:
        """A prompt has ended that nobody counts."""
        self.read(result)
        self.split(result)

    def _used(self, kind: str, figure: int | None) -> int | None:
        """What a figure says of the prompt that has just ended."""
        if figure is None or not self._cumulative:
            return figure
        before, self._before[kind] = self._before.get(kind, self._start), figure
        # A sum that has fallen counts something else now: it is where counting begins, and says nothing of this prompt.
        return None if before is None or figure < before else figure - before


def total_of(usage: Any) -> int | None:
    """The tokens in a ``usage`` object; None if it does not say."""
    said = count(usage.get("totalTokens")) if isinstance(usage, dict) else None
    return said if said is not None else _sum(usage, "inputTokens", "outputTokens")


def _total(result: Any) -> int | None:
    usage = _usage(result)
    return total_of(usage) if usage is not None else _sum(_quota(result), *QUOTA_KINDS.values())


def _usage(result: Any) -> dict[str, Any] | None:
    return _within(result, "usage")


def _quota(result: Any) -> dict[str, Any] | None:
    return _within(result, "_meta", "quota", "token_count")


def _within(value: Any, *path: str) -> dict[str, Any] | None:
    """The object at a path; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _sum(holder: Any, *keys: str) -> int | None:
    """The sum of the counters that are there; None if none is."""
    numbers = [count(holder.get(key)) for key in keys] if isinstance(holder, dict) else []
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
