"""The goals of all sessions as a person who asks why one is stuck wants to see them."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from goalproxy.proxy.goal.status import Status

from .connection import Connection
from .driver import Driver
from .facts import Owner
from .session import Session


class GoalView(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A session's goal: its published state, and what it waits for if it is active and not worked for.

    Times are Unix milliseconds. What is not known is None, and left out.
    """

    session_id: str
    owner: Owner
    status: Status
    working: bool
    working_since: int | None = None
    waits_for: str | None = None
    next_round_at: int | None = None
    created_at: int | None = None
    iterations: int | None = None
    tokens_used: int | None = None
    token_budget: int | None = None
    time_used_seconds: int | None = None
    objective: str | None = None
    last_reason: str | None = None

    def without_text(self) -> GoalView:
        """The same without what people or models wrote."""
        return replace(self, objective=None, last_reason=None)


def views(connection: Connection) -> list[GoalView]:
    """Every goal that there is."""
    return [view for session in connection.sessions.values() if (view := _view(connection, session)) is not None]


def _view(connection: Connection, session: Session) -> GoalView | None:
    goal, driver = session.book.shown, session.driver
    if goal is None:
        return None
    working = goal.status == "active" and session.busy
    waits_for = None if goal.status != "active" or working else _reason(connection, session)
    return GoalView(
        session.id,
        "native" if driver is None else "emulated",
        goal.status,
        working,
        driver.round.started if driver is not None and driver.round is not None else None,
        waits_for,
        driver.not_before if driver is not None and waits_for == _NEXT_ROUND else None,
        goal.created_at if goal.dated else None,
        goal.iterations,
        goal.tokens_used,
        goal.token_budget if isinstance(goal.token_budget, int) else None,
        goal.time_used_seconds,
        goal.objective,
        goal.last_reason,
    )


_NEXT_ROUND = "the time of its next round"


def _reason(connection: Connection, session: Session) -> str:
    """What an active goal waits for, as the end of a sentence."""
    if session.driver is None:
        return "the agent, which does not say that it works"
    if session.id in connection.checks:
        return "the operator's check"
    if not session.visible:
        return "the agent, which loads the session"
    return _own_reason(session.driver)


def _own_reason(driver: Driver) -> str:
    if driver.waits_for_user:
        return "the user, who stopped its turn"
    return _NEXT_ROUND if driver.armed else "somebody to resume it"
