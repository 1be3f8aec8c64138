"""Behaviour against build: which builds a test runs for, and the tables that the README carries, one a family.

`@pytest.mark.family(F)` says whose builds a test is about; of these, `@pytest.mark.covers(B)` runs for the chosen ones
that have behaviour B, and `@pytest.mark.absent(B)` for those that lack it, to test that the client is told the truth.
Chosen are the newest build of each family and one legacy build; with GOALPROXY_MATRIX=1 all.
With GOALPROXY_MATRIX_FILE the outcomes replace what stands between the two markers in that file.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from .agents import AGENTS, DEFAULT, Agent
from .behaviours import Behaviour, Family, rows

BEGIN: Final = "<!-- matrix:begin -->"
END: Final = "<!-- matrix:end -->"


def chosen() -> Sequence[Agent]:
    """Return the builds of this run."""
    return AGENTS if os.environ.get("GOALPROXY_MATRIX") == "1" else DEFAULT


def _behaviours(item: pytest.Item | pytest.Function, mark: str) -> list[Behaviour]:
    """Return the behaviours named by a mark of a test."""
    return [behaviour for found in item.iter_markers(mark) for behaviour in found.args]


def agents_for(item: pytest.Item | pytest.Function) -> list[Agent]:
    """Return the chosen builds that a test is about."""
    needed, missing = _behaviours(item, "covers"), _behaviours(item, "absent")
    families = [family for mark in item.iter_markers("family") for family in mark.args]
    agents = [agent for agent in chosen() if agent.family in families]
    agents = [agent for agent in agents if not any(behaviour in agent.lacks for behaviour in needed)]
    if missing:
        agents = [agent for agent in agents if any(behaviour in agent.lacks for behaviour in missing)]
    return agents


def _agent_of(item: pytest.Item) -> Agent | None:
    """Return the build of one test case, None if it has none."""
    spec = getattr(item, "callspec", None)
    agent = spec.params.get("agent") if spec else None
    return agent if isinstance(agent, Agent) else None


def is_empty(item: pytest.Item) -> bool:
    """Return whether a test wants a build and none of the chosen ones fits."""
    return "agent" in getattr(item, "fixturenames", ()) and _agent_of(item) is None


class Matrix:
    """The outcomes of a run."""

    def __init__(self) -> None:
        """Start without any."""
        self._passed: dict[tuple[Behaviour, str], bool] = {}

    def enter(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Enter one phase of one test; a cell is good if every phase of all its tests is."""
        agent = _agent_of(item)
        if agent is None or (report.when != "call" and report.passed):
            return
        absent = [behaviour for behaviour in _behaviours(item, "absent") if behaviour in agent.lacks]
        for behaviour in (*_behaviours(item, "covers"), *absent):
            cell = behaviour, agent.key
            self._passed[cell] = self._passed.get(cell, True) and report.passed

    def missing(self, agents: Iterable[Agent]) -> list[str]:
        """Return the cells that no test has filled."""
        cells = [(row, agent.key) for agent in agents for row in rows(agent.family)]
        return [f"{key}: {row}" for row, key in cells if (row, key) not in self._passed]

    def tables(self, agents: Sequence[Agent]) -> str:
        """Return a Markdown table with its notes for each family that there are builds of."""
        families = {family: [agent for agent in agents if agent.family is family] for family in Family}
        return "\n\n".join(self._table(family, builds) for family, builds in families.items() if builds)

    def _table(self, family: Family, agents: Sequence[Agent]) -> str:
        notes: list[str] = []
        head = [family, *(agent.title for agent in agents)]
        lines = [[row, *(self._cell(row, agent, notes) for agent in agents)] for row in rows(family)]
        table = [_line(head), _line(["---"] * len(head)), *map(_line, lines)]
        return "\n".join(
            [*table, *([""] if notes else []), *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
        )

    def _cell(self, row: Behaviour, agent: Agent, notes: list[str]) -> str:
        if not self._passed[row, agent.key]:
            return "**fails**"
        if row not in agent.lacks:
            return "works"
        note = f"This build {agent.lacks[row]}."
        if note not in notes:
            notes.append(note)
        return f"- ({notes.index(note) + 1})"

    def finish(self, session: pytest.Session) -> None:
        """Write the table if a file is named; a run that leaves a cell empty is a failure and writes nothing."""
        name = os.environ.get("GOALPROXY_MATRIX_FILE")
        if not name or session.config.option.collectonly:
            return
        empty = self.missing(chosen())
        if empty:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            _say(session, [f"{name} is left as it is, these cells were not tested:", *empty])
            return
        write(Path(name), self.tables(chosen()))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _say(session: pytest.Session, lines: Sequence[str]) -> None:
    """Write lines to pytest's own output, if it has one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter):
        for line in lines:
            reporter.write_line(line)


def write(path: Path, table: str) -> None:
    """Replace what stands between the markers of a file; raises ValueError if they are not there."""
    text = path.read_text("utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{path} has no {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")
