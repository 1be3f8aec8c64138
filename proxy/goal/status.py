"""The five statuses of a goal, and the words of agents for them."""

from __future__ import annotations

from typing import Final, Literal

Status = Literal["active", "paused", "blocked", "limited", "complete"]
STATUSES: Final[tuple[Status, ...]] = ("active", "paused", "blocked", "limited", "complete")

LIVE: Final[frozenset[Status]] = frozenset({"active", "paused"})
"""Statuses of a goal that has not come to a stop by itself."""

_WORDS: Final[dict[str, Status]] = {
    **{status: status for status in STATUSES},
    "usagelimited": "limited",
    "budgetlimited": "limited",
    "completed": "complete",
    "done": "complete",
}
_GONE = frozenset({"cleared", "cancelled"})


def read_status(word: object) -> Status | None:
    """Translate an agent's word; None if nobody knows it (which must never drive work)."""
    return _WORDS.get(_plain(word))


def means_gone(word: object) -> bool:
    """Whether an agent's word says that there is no goal any more."""
    return _plain(word) in _GONE


def means_budget(word: object) -> bool:
    """Whether an agent's word says that the goal's own budget, not the account's, is used up."""
    return _plain(word) == "budgetlimited"


def _plain(word: object) -> str:
    return word.replace("_", "").replace(" ", "").lower() if isinstance(word, str) else ""
