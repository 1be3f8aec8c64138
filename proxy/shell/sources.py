"""Where sidecars may have left their numbers: which directories are looked at."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from goalproxy.proxy.settings import load

from .registry import OFF, default_directory


class Sources(NamedTuple):
    """Where to look: in these directories, and in those of every user if that is wanted."""

    named: Sequence[Path]
    all_users: bool = False

    def directories(self) -> dict[str, bool]:
        """The directories, and whether each was named. The last part of a name stays as it is: it must be no link."""
        named = dict.fromkeys(map(_real, self.named), True)
        return {**dict.fromkeys(map(_real, (path for path, _ in _usual()) if self.all_users else ()), False), **named}


def sources(named: Sequence[Path], *, all_users: bool = False) -> Sources:
    """Where to look if these directories are named; without any, the user's own. Raises UsageError."""
    return Sources(named or _own_directories(), all_users)


def _own_directories() -> list[Path]:
    """Where sidecars of this user leave their numbers. They may have been started with and without a login session."""
    user, configured = os.geteuid(), load({}, None).registry
    if configured not in (None, OFF):
        return [Path(configured)]
    return [default_directory(), *(path for path, owner in _usual() if owner == user)]


def _usual() -> Iterator[tuple[Path, int]]:
    """The usual directories of all users that have one. Its name says whose it is, and has to be right."""
    session = [(path, path.parent.name) for path in Path("/run/user").glob("*/goalproxy")]
    other = [(path, path.name.rpartition("-")[2]) for path in Path(tempfile.gettempdir()).glob("goalproxy-*")]
    for path, user in session + other:
        with contextlib.suppress(OSError):
            if user == str(path.lstat().st_uid):
                yield path, int(user)


def _real(path: Path) -> str:
    return str(path.parent.resolve() / path.name)
