"""Where sidecars may have left their numbers: which directories are looked at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from goalproxy.proxy.settings import load

from .registry import OFF, default_directory, temporary


class Sources(NamedTuple):
    """Where to look: in these directories, or in this user's; and in those of every user, if that is wanted."""

    named: Sequence[Path] = ()
    all_users: bool = False

    def directories(self) -> dict[str, bool]:
        """The directories, and whether it must be possible to read them."""
        usual = list(_usual())
        ours = self.named or [default_directory(), *(path for path, owner in usual if owner == os.geteuid())]
        others = [path for path, _ in usual] if self.all_users else []
        return {**dict.fromkeys(map(_real, others), False), **dict.fromkeys(map(_real, ours), True)}


def sources(named: Sequence[Path], *, all_users: bool = False) -> Sources:
    """Where to look if these directories are named; without any, where the settings say. Raises UsageError."""
    configured = load({}, None).registry
    if not named and configured and configured != OFF:
        named = [Path(configured)]
    return Sources(named, all_users)


def _usual() -> Iterator[tuple[Path, int]]:
    """The usual directories of all users that have any: there is one with a login session, and one without.

    The name says whose it is, and has to be right.
    """
    session = [(path, path.parent.name) for path in Path("/run/user").glob("*/goalproxy")]
    other = [(path, path.name.removeprefix("goalproxy-")) for path in temporary().glob("goalproxy-*")]
    for path, user in session + other:
        with contextlib.suppress(OSError):
            if user == str(path.lstat().st_uid):
                yield path, int(user)


def _real(path: Path) -> str:
    """One name for one directory. Its last part stays as it is: it must be no link."""
    return str(path.parent.resolve() / path.name)
