"""Versions of agents as numbers, for comparison."""

from __future__ import annotations

import re

from .base import Agent


def version(agent: Agent) -> tuple[int, ...]:
    """The version of an agent; empty if it has none."""
    return numbers(agent.version)


def numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with; what follows them is ignored."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
