"""Which sidecars live, for people, and for Prometheus to scrape one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from .catalogue import AGENT_UP
from .series import Values, notes

ADMIN: Final = "admin"
"""The note with the URL of an admin server that was asked for."""
_HTTP: Final = "http://"


class Sidecar(NamedTuple):
    """A sidecar that lives: its agent's label, the URL of its admin server if one was asked for, its own socket."""

    pid: int
    agent: str
    admin: str | None
    socket: str | None


def sidecar(pid: int, series: Values, socket: str | None) -> Sidecar:
    """A sidecar, by what its file tells."""
    agents = [key[1] for key in series if key[0] == AGENT_UP.name and len(key) > 1]
    admins = notes(series, ADMIN)
    return Sidecar(pid, agents[0] if agents else "unknown", admins[-1] if admins else None, socket)


def targets(sidecars: Iterable[Sidecar]) -> list[dict[str, Any]]:
    """What Prometheus takes from file_sd and http_sd. A label ``agent`` would hide that of the metrics."""
    return [
        {
            "targets": [each.admin.removeprefix(_HTTP)],
            "labels": {"__meta_goalproxy_agent": each.agent, "__meta_goalproxy_pid": str(each.pid)},
        }
        for each in sidecars
        if each.admin is not None and each.admin.startswith(_HTTP)
    ]
