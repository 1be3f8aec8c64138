"""Behaviour against build: which builds a test runs for, and the table that the README carries.

`@pytest.mark.covers(B)` runs for the chosen builds that have behaviour B; `@pytest.mark.absent(B)` for those that lack
it, to test that the client is told the truth. Chosen are the newest and one legacy build; with GOALPROXY_MATRIX=1 all.
With GOALPROXY_MATRIX_FILE the outcomes replace what stands between the two markers in that file.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from .agents import AGENTS, DEFAULT, Agent, Behaviour

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
    agents = [agent for agent in chosen() if not any(behaviour in agent.lacks for behaviour in needed)]
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
        return [f"{agent.key}: {row}" for agent in agents for row in Behaviour if (row, agent.key) not in self._passed]

    def table(self, agents: Sequence[Agent]) -> str:
        """Return the Markdown table with its notes."""
        notes: list[str] = []
        head = ["behaviour", *(f"{_title(agent)}" for agent in agents)]
        rows = [[row.value, *(self._cell(row, agent, notes) for agent in agents)] for row in Behaviour]
        lines = [_line(head), _line(["---"] * len(head)), *map(_line, rows)]
        return "\n".join([*lines, "", *(f"{number}. {note}" for number, note in enumerate(notes, 1))])

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
        write(Path(name), self.table(chosen()))


def _title(agent: Agent) -> str:
    """Return the name of a build for people."""
    return f"{'zed ' if agent.package.startswith('@zed') else ''}codex-acp {agent.version}"


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
