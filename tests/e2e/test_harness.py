"""The harness itself: rules that can be broken, a table that cannot hide a failure. No agent is needed here."""

import re
from pathlib import Path
from typing import Any

import pytest

from .agents import AGENTS, CLAUDE, NEWEST, QWEN, VIBE, ZED, Agent, Language, NotInstalledError
from .behaviours import Behaviour, Family, rows
from .install import chosen
from .invariants import complaints
from .matrix import BEGIN, END, Matrix, write
from .python import python
from .traffic import Json, Source, StuckError, Traffic

GOAL: Json = {
    "objective": "x",
    "status": "active",
    "createdAt": 1_700_000_000_000,
    "updatedAt": 1_700_000_000_000,
    "controlMethod": "_session/goal",
}


def snapshot(goal: Any, **beside: Any) -> Json:
    """Return a goal snapshot of session s."""
    update = {"sessionUpdate": "session_info_update", "_meta": {"goal": goal}, **beside}
    return {"method": "session/update", "params": {"sessionId": "s", "update": update}}


def opened() -> Traffic:
    """Return the traffic of a session that was just made."""
    traffic = Traffic()
    traffic.note("start: it")
    traffic.add(Source.CLIENT, {"id": 1, "method": "session/new", "params": {}})
    traffic.add(Source.AGENT, {"id": 1, "result": {"sessionId": "s"}})
    return traffic


def test_a_good_run_has_no_complaints() -> None:
    """With two snapshots in order."""
    traffic = opened()
    traffic.add(Source.AGENT, snapshot(None))
    traffic.add(Source.AGENT, snapshot(GOAL))
    traffic.add(Source.AGENT, snapshot({**GOAL, "updatedAt": GOAL["updatedAt"] + 1, "tokenBudget": None}))
    assert complaints(traffic.entries, NEWEST) == []


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"not a message": "hello"}, "no JSON-RPC message"),
        ({"id": "proxy-1", "result": {}}, "did not send"),
        ({"id": "1", "result": {}}, "did not send"),
        ({"id": 1, "result": {}}, "second answer"),
        (snapshot(GOAL, title="x"), "title"),
        (snapshot({**GOAL, "status": "done"}), "not one of the five"),
        (snapshot({**GOAL, "controlMethod": "_codex/session/goal_control"}), "controlMethod"),
        (snapshot({**GOAL, "createdAt": 1_700_000_000}), "milliseconds"),
        (snapshot({**GOAL, "tokensUsed": -1}), "not a count"),
        (snapshot({**GOAL, "lastReason": "a\nb"}), "one line"),
        ({"method": "x", "params": {"a": [{"_meta": {"jetbrains": {}}}]}}, "jetbrains"),
    ],
)
def test_each_rule_can_be_broken(message: Json, complaint: str) -> None:
    """A rule that never complains proves nothing."""
    traffic = opened()
    traffic.add(Source.AGENT, message)
    (found,) = complaints(traffic.entries, NEWEST)
    assert complaint in found


def test_a_snapshot_before_its_session_is_a_complaint() -> None:
    """Also when the session was known to an earlier run of the agent."""
    traffic = opened()
    traffic.note("start: again")
    traffic.add(Source.AGENT, snapshot(GOAL))
    (found,) = complaints(traffic.entries, NEWEST)
    assert "before its response" in found


def test_a_time_that_does_not_rise_is_a_complaint() -> None:
    """The same millisecond is not later."""
    traffic = opened()
    traffic.add(Source.AGENT, snapshot(GOAL))
    traffic.add(Source.AGENT, snapshot(GOAL))
    (found,) = complaints(traffic.entries, NEWEST)
    assert "does not rise" in found


def test_waiting_for_an_agent_that_is_gone_fails_at_once_and_shows_the_traffic() -> None:
    """Otherwise each such failure would last until the deadline."""
    traffic = opened()
    traffic.end("the agent has closed its output")
    with pytest.raises(StuckError, match=r"(?s)a word, but the agent has closed its output.*session/new"):
        traffic.wait("a word", lambda entry: entry.source is Source.STDERR)


def test_a_missing_agent_names_the_make_target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The two of the test command are one target, all of them another."""
    monkeypatch.setenv("GOALPROXY_AGENTS_DIR", str(tmp_path))
    with pytest.raises(NotInstalledError, match="`make agents`"):
        NEWEST.command()
    with pytest.raises(NotInstalledError, match=r"`make agents-all`.*Node"):
        ZED.command()
    with pytest.raises(NotInstalledError, match=r"`make agents`.*Python 3\.12"):
        VIBE.command()


@pytest.mark.parametrize(
    "build", [build for build in AGENTS if build.language is Language.PYTHON], ids=lambda build: build.key
)
def test_an_agent_in_python_is_pinned_with_all_that_it_consists_of(build: Agent) -> None:
    """So that it is the same one next year."""
    lines = build.lock.read_text("utf-8").splitlines()
    assert f"{build.package}=={build.version}" in lines
    assert all(re.fullmatch(r"[\w.\[\]-]+==[\w.]+( ; .+)?", line) for line in lines)


def test_a_python_that_is_only_a_name_on_the_path_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a version that is not in use, pyenv has the name there and the program elsewhere."""
    shims, versions = tmp_path / "shims", tmp_path / "versions" / "3.12.9" / "bin"
    for folder, name, code in ((shims, "python3.13", 127), (shims, "python3.12", 127), (versions, "python", 0)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\nexit {code}\n", "utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(shims))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert python() == versions / "python"
    (versions / "python").unlink()
    assert python() is None


def test_builds_are_chosen_by_group_and_by_key_each_once() -> None:
    """An unknown word is an error."""
    assert chosen(["newest", ZED.key, "newest"]) == [NEWEST, ZED]
    assert chosen(["all"]) == list(AGENTS)
    with pytest.raises(KeyError):
        chosen(["codex"])


class FakeItem:
    """As much of a test case as the matrix reads."""

    def __init__(self, agent: Agent, **marks: tuple[Behaviour, ...]) -> None:
        """Make a case for one build with these marks."""
        self.callspec = type("Spec", (), {"params": {"agent": agent}})
        self._marks = marks

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        """Return the marks of this name."""
        return [pytest.Mark(name, self._marks[name], {}, _ispytest=True)] if name in self._marks else []


def filled(*failing: Behaviour) -> Matrix:
    """Return a matrix of three builds in which everything passes but these behaviours of the newest Codex."""
    table = Matrix()
    for agent in (ZED, NEWEST, CLAUDE):
        for row in rows(agent.family):
            mark = "absent" if row in agent.lacks else "covers"
            outcome = "failed" if agent is NEWEST and row in failing else "passed"
            report = type("Report", (), {"when": "call", "passed": outcome == "passed"})
            table.enter(FakeItem(agent, **{mark: (row,)}), report)  # type: ignore[arg-type]
    return table


def test_the_table_says_works_or_gives_a_numbered_reason_or_says_that_it_fails() -> None:
    """A failure is never a dash."""
    lines = filled(Behaviour.CLEAR).tables([ZED, NEWEST]).splitlines()
    cells = dict(line.strip("| ").split(" | ", 1) for line in lines if line.startswith("|"))
    assert cells["Codex"] == "zed codex-acp 0.16.0 | codex-acp 2.6.0"
    assert cells[Behaviour.CAPABILITY] == "works | works"
    assert cells[Behaviour.SET] == "- (1) | works"
    assert cells[Behaviour.CLEAR] == "- (1) | **fails**"
    assert any(line.startswith("1. This build has no goal command") for line in lines)


def test_each_family_has_a_table_of_its_own_rows() -> None:
    """None for a family without builds; the number of notes begins anew."""
    codex, claude = filled().tables([ZED, CLAUDE]).split("\n\n| ")
    assert Behaviour.CAP not in codex
    assert claude.startswith(f"{Family.CLAUDE} | claude-agent-acp 0.101.0 |")
    assert Behaviour.CAP in claude
    assert Behaviour.V2_SET not in claude


@pytest.mark.parametrize("build", AGENTS, ids=lambda build: build.key)
def test_a_build_gives_reasons_for_rows_of_its_family_only(build: Agent) -> None:
    """Any other reason would be read by nobody."""
    assert build.lacks.keys() <= set(rows(build.family))


def test_a_cell_without_a_test_is_missing() -> None:
    """So is every cell of a build that was not run."""
    assert filled().missing([ZED, NEWEST, CLAUDE]) == []
    assert len(filled().missing([QWEN])) == len(rows(Family.QWEN))


def test_the_table_replaces_what_stands_between_the_markers(tmp_path: Path) -> None:
    """Twice the same, and nothing else changes."""
    page = tmp_path / "README.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", "utf-8")
    for _ in range(2):
        write(page, "| new |")
        assert page.read_text("utf-8") == f"before\n{BEGIN}\n| new |\n{END}\nafter\n"


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    """An error, since a table that is written nowhere helps nobody."""
    page = tmp_path / "README.md"
    page.write_text("nothing\n", "utf-8")
    with pytest.raises(ValueError, match="matrix:begin"):
        write(page, "| new |")
    assert page.read_text("utf-8") == "nothing\n"
