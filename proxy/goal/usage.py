"""How many tokens one prompt used, from whatever an agent says at its end.

Agents mean different things by one field: the prompt's sum, its last model call, or the session's sum so far. What is
not said is not counted.
"""

from __future__ import annotations

from typing import Any

from .report import count

CUMULATIVE = frozenset({"mistral-vibe", "vibe", "@mistralai/mistral-vibe"})
"""Agents whose ``usage`` counts the session so far."""


class UsageMeter:
    """Reads the usage of the prompts of one session.

    ``cumulative`` says that the agent reports the session's sum, ``is_new`` that this begins at zero: of a session that
    was there before, the first sum says nothing of what was used since.
    """

    def __init__(self, *, cumulative: bool, is_new: bool) -> None:
        self._cumulative = cumulative
        self._before = 0 if is_new else None

    def read(self, result: Any) -> int | None:
        """The tokens of the prompt that a result ends; None if the agent does not say."""
        total = _total(result)
        if total is None or not self._cumulative:
            return total
        before, self._before = self._before, total
        if before is None:
            return None
        return total - before if total >= before else total  # A sum that has fallen was begun anew: all of it is new.


def total_of(usage: Any) -> int | None:
    """The tokens in a ``usage`` object; None if it does not say."""
    said = count(usage.get("totalTokens")) if isinstance(usage, dict) else None
    return said if said is not None else _sum(usage, "inputTokens", "outputTokens")


def _total(result: Any) -> int | None:
    usage = result.get("usage") if isinstance(result, dict) else None
    if isinstance(usage, dict):
        return total_of(usage)
    meta = result.get("_meta") if isinstance(result, dict) else None
    quota = meta.get("quota") if isinstance(meta, dict) else None
    counted = quota.get("token_count") if isinstance(quota, dict) else None
    return _sum(counted, "input_tokens", "output_tokens")


def _sum(holder: Any, *keys: str) -> int | None:
    """The sum of the counters that are there; None if none is."""
    numbers = [count(holder.get(key)) for key in keys] if isinstance(holder, dict) else []
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
