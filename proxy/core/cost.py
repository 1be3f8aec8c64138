"""What work for a goal costs, from the session's sum that an agent tells in ``usage_update.cost``."""

from __future__ import annotations

from typing import Any

from goalproxy.mappers.base import at
from goalproxy.proxy.goal.changes import CostUsed
from goalproxy.proxy.wire.envelope import load

from .connection import Connection
from .events import FromAgent

_CODE_LENGTH = 3
_LARGEST = 1e12
"""More than any session costs: what is larger, or infinite, is a mistake."""


def on_usage(connection: Connection, event: FromAgent) -> None:
    """Count what the session's sum has grown by while its goal is worked for.

    A sum of a session that began elsewhere says nothing of before; one that has fallen was begun anew.
    """
    session = connection.sessions.get(event.envelope.session_id)
    read = _read(at(load(event.line), "params", "update", "cost"))
    if session is None or read is None:
        return
    amount, currency = read
    before = session.costs.get(currency, 0.0 if session.began_here else amount)
    session.costs[currency] = amount
    goal = session.book.shown
    works = session.driver is not None and session.driver.round is not None
    if amount > before and (works or (goal is not None and goal.status == "active")):
        used = CostUsed(amount - before, currency)
        connection.record_changes([used], "emulated" if connection.emulates else "native")


def _read(cost: Any) -> tuple[float, str] | None:
    amount, currency = at(cost, "amount"), at(cost, "currency")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount <= _LARGEST:
        return None
    if (
        not isinstance(currency, str)
        or len(currency) != _CODE_LENGTH
        or not (currency.isascii() and currency.isupper())
    ):
        return None
    return float(amount), currency
