"""The dialects of agents, in the order in which they are tried.

Adding an agent's dialect is adding one file and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .air import Air, declared_to
from .base import Agent, Mapper
from .claude import Claude
from .codex import KIND as CODEX
from .codex_meta import CodexMeta
from .codex_prose import CodexProse
from .dsh import Dsh
from .neutral import CodexNeutral, Neutral
from .qwen import Qwen
from .silent import Silent

MAPPERS: tuple[type[Mapper], ...] = (CodexProse, CodexMeta, Air, CodexNeutral, Claude, Qwen, Dsh, Neutral, Silent)

KINDS: dict[str, str] = {CODEX: "codex-acp"}
"""The families that have to be known before ``initialize``, with the text by which a command line names them."""


def choose(agent: Agent) -> Mapper:
    """The first mapper that is for an agent; there always is one."""
    return next(mapper(agent) for mapper in MAPPERS if mapper.why(agent) is not None)


def wants_air(kind: str, version: Callable[[], str | None]) -> bool:
    """Whether AIR has to be declared to an agent of a family; ``version`` finds its version out, as far as it can."""
    return kind == CODEX and declared_to(version())


def kind_of(command: Sequence[str]) -> str:
    """The family that a command line names, or nothing."""
    return next((kind for kind, text in KINDS.items() if any(text in word for word in command)), "")
