"""The files for operators, and what is needed to read them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

FLEET: Final = Path(__file__).parent.parent.parent / "docs" / "fleet"
Json = dict[str, Any]


def read_yaml(name: str) -> Any:
    """A file of YAML."""
    return yaml.safe_load((FLEET / name).read_text())


def rules(name: str) -> list[Json]:
    """Every rule of a file."""
    return [rule for group in read_yaml(name)["groups"] for rule in group["rules"]]


def dashboard() -> Json:
    """The dashboard."""
    read: Json = json.loads((FLEET / "dashboard.json").read_text())
    return read


def panels() -> list[Json]:
    """Every panel of the dashboard that is no heading."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def program(name: str) -> str:
    """The path of a program of Debian's package prometheus."""
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is missing; it is in Debian's package prometheus: apt-get install prometheus")
    return path
