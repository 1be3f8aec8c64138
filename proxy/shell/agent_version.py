"""The version of an agent before it has said anything, as far as its command line and its package tell."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_SPEC = re.compile(r"@(\d+\.\d+\.\d+[\w.-]*)$")
_LEVELS = 3
"""How far above a script its package's description may be."""


def version_of(command: Sequence[str], name: str) -> str | None:
    """The version of the package whose name contains ``name``: from ``package@version``, or from its package.json.

    None if neither tells, as with a package that a runner is only going to fetch.
    """
    for word in command:
        spec = _SPEC.search(word)
        if name in word and spec is not None:
            return spec[1]
    found = (_from_package(word, name) for word in command)
    return next((version for version in found if version is not None), None)


def _from_package(word: str, name: str) -> str | None:
    path = shutil.which(word)
    script = Path(path or word)
    if path is None and not script.is_file():
        return None
    for folder in script.resolve().parents[:_LEVELS]:
        try:
            description = json.loads((folder / "package.json").read_bytes())
            if name in description["name"]:
                return str(description["version"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
