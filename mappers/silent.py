"""Agents that keep no goals, or say nothing of them: nothing is added and nothing is taken away."""

from __future__ import annotations

from .base import Agent, Mapper


class Silent(Mapper):
    """The last mapper: it is for every agent that no other is for."""

    dialect = "none"
    versions = "any other agent"

    @classmethod
    def why(cls, agent: Agent) -> str | None:
        return "the agent tells nothing of goals"

    @property
    def keeps_goals(self) -> bool:
        return False
