"""The store of goals: what was acknowledged is there, whatever dies, and whatever the file was before."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.goal.status import STATUSES
from goalproxy.proxy.shell import database
from goalproxy.proxy.shell.store import GoalStore, default_path

NOW = 1_790_000_000_000
GOAL = OwnedGoal("g1", 1, "ship it", "active", NOW, NOW, 256)

APPEND = """
import sys
from pathlib import Path
from goalproxy.proxy.goal.owned import OwnedGoal
from goalproxy.proxy.shell.store import GoalStore
path, session, number = sys.argv[1:]
store = GoalStore(Path(path), lambda text: sys.exit(text))
for revision in range(1, int(number) + 1):
    store.append("agent", session, OwnedGoal("g", revision, "x" * 3000, "active", 1, revision, 256), revision)
    print(revision, flush=True)
store.close()
"""
"""Appends revisions to a session, and says so after each."""


class Warnings(list[str]):
    """What a store warned of."""

    def store(self, path: Path) -> GoalStore:
        return GoalStore(path, self.append)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "goalproxy" / "goals.sqlite"


@pytest.fixture
def warnings() -> Warnings:
    return Warnings()


def appender(path: Path, session: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", APPEND, str(path), session, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def execute(path: Path, *statements: str) -> list[Any]:
    """The rows of the last of some statements on the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def files(path: Path) -> set[str]:
    """The names in the store's directory, without those that SQLite keeps beside an open file."""
    return {file.name for file in path.parent.iterdir() if not file.name.endswith(("-wal", "-shm"))}


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_newest_record_of_a_session_is_found_again(path: Path, warnings: Warnings) -> None:
    store = warnings.store(path)
    assert store.load("agent", "s1") is None
    store.append("agent", "s1", GOAL, NOW)
    store.append("agent", "s1", replace(GOAL, revision=2, status="paused"), NOW + 1)
    store.append("agent", "s2", replace(GOAL, id="g2"), NOW + 2)
    store.append("another", "s1", replace(GOAL, id="g3"), NOW + 3)
    store.close()
    again = warnings.store(path)
    assert again.load("agent", "s1") == replace(GOAL, revision=2, status="paused")
    assert again.load("agent", "s2") == replace(GOAL, id="g2")
    assert again.load("another", "s1") == replace(GOAL, id="g3")
    assert again.load("agent", "s") is None
    again.close()
    assert warnings == []


def test_a_goal_that_was_cleared_is_gone(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        store.append("agent", "s", None, NOW + 1)
        assert store.load("agent", "s") is None
        store.append("agent", "s", GOAL, NOW)  # A clock that goes back changes nothing about the order.
        assert store.load("agent", "s") == GOAL


numbers = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]))
goals = st.builds(
    OwnedGoal,
    id=texts,
    revision=numbers,
    objective=texts,
    status=st.sampled_from(STATUSES),
    created_at=numbers,
    updated_at=numbers,
    max_rounds=numbers,
    rounds=numbers,
    tokens=st.none() | numbers,
    token_budget=st.none() | numbers,
    time_budget=st.none() | numbers,
    active_ms=numbers,
    code=st.none() | texts,
    reason=st.none() | texts,
)


@settings(max_examples=30, deadline=None)
@given(records=st.lists(st.tuples(st.text(), st.text(), st.none() | goals), max_size=6))
def test_any_goal_of_any_session_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str, OwnedGoal | None]]
) -> None:
    path, warnings = tmp_path_factory.mktemp("store") / "goals.sqlite", Warnings()
    newest = {(agent, session): goal for agent, session, goal in records}
    with closing(warnings.store(path)) as store:
        for agent, session, goal in records:
            store.append(agent, session, goal, NOW)
        assert {key: store.load(*key) for key in newest} == newest
    with closing(warnings.store(path)) as store:
        assert {key: store.load(*key) for key in newest} == newest
    assert warnings == []


def test_old_records_of_a_session_are_dropped_and_those_of_others_are_not(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "quiet", GOAL, NOW)
        for revision in range(150):
            store.append("agent", "busy", replace(GOAL, revision=revision), NOW)
        assert store.load("agent", "quiet") == GOAL
        found = execute(
            path, "SELECT json_extract(goal, '$.revision') FROM records WHERE session = CAST('busy' AS BLOB)"
        )
        assert [revision for (revision,) in found] == list(range(50, 150))


def test_the_file_is_private_from_its_first_moment(path: Path, warnings: Warnings) -> None:
    before = os.umask(0)
    try:
        with closing(warnings.store(path)) as store:
            store.append("agent", "s", GOAL, NOW)
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["goals.sqlite", "goals.sqlite-wal", "goals.sqlite-shm", "goals.sqlite.lock"], 0o600)
    assert [part.stat().st_mode & 0o777 for part in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_nothing_is_made_before_there_is_something_to_keep(path: Path, warnings: Warnings) -> None:
    warnings.store(path).close()
    assert not path.parent.exists()


def test_several_processes_append_at_once(path: Path, warnings: Warnings) -> None:
    with ExitStack() as stack:
        children = [stack.enter_context(appender(path, f"s{number}", 60)) for number in range(6)]
        assert [child.communicate()[0].count("\n") for child in children] == [60] * 6
        assert [child.returncode for child in children] == [0] * 6
    with closing(warnings.store(path)) as store:
        loaded = [store.load("agent", f"s{number}") for number in range(6)]
    assert [goal and goal.revision for goal in loaded] == [60] * 6
    assert execute(path, "SELECT count(*) FROM records") == [(360,)]
    assert warnings == []


def test_what_was_acknowledged_survives_kill_9(path: Path, warnings: Warnings) -> None:
    for number, lines in enumerate((1, 3, 20, 45)):
        with appender(path, f"s{number}", 1_000_000) as child:
            assert child.stdout is not None
            for _ in range(lines):
                child.stdout.readline()
            child.kill()
            rest = child.stdout.read()
        acknowledged = lines + rest.count("\n")
        with closing(warnings.store(path)) as store:
            goal = store.load("agent", f"s{number}")
        assert goal is not None
        assert goal.revision in {acknowledged, acknowledged + 1}
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]
    assert warnings == []


def test_several_threads_use_one_store(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:

        def use(session: str) -> None:
            for revision in range(20):
                store.append("agent", session, replace(GOAL, revision=revision), NOW)
                assert store.load("agent", session) == replace(GOAL, revision=revision)

        threads = [threading.Thread(target=use, args=(f"s{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert execute(path, "SELECT count(*) FROM records") == [(80,)]
    assert warnings == []


@pytest.mark.parametrize("content", [b"not a database at all\n" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_file_is_set_aside(path: Path, warnings: Warnings, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    path.with_name("goals.sqlite.corrupt-1").write_bytes(b"an older one")
    with closing(warnings.store(path)) as store:
        assert store.load("agent", "s") is None
        store.append("agent", "s", GOAL, NOW)
        assert store.load("agent", "s") == GOAL
    assert path.with_name("goals.sqlite.corrupt-1").read_bytes() == b"an older one"
    assert path.with_name("goals.sqlite.corrupt-2").read_bytes() == content
    assert len(warnings) == 1
    assert str(path.with_name("goals.sqlite.corrupt-2")) in warnings[0]


def test_a_file_that_was_cut_short_is_set_aside(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        for revision in range(50):
            store.append("agent", "s", replace(GOAL, revision=revision, objective="x" * 4000), NOW)
    os.truncate(path, path.stat().st_size // 2)
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        assert store.load("agent", "s") == GOAL
    assert files(path) == {"goals.sqlite", "goals.sqlite.lock", "goals.sqlite.corrupt-1"}
    assert len(warnings) == 1


def test_a_file_that_is_damaged_while_it_is_used_is_set_aside_once(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as first, closing(warnings.store(path)) as second:
        for revision in range(50):
            first.append("agent", "s", replace(GOAL, revision=revision, objective="x" * 4000), NOW)
        assert second.load("agent", "s") is not None
        execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xaa" * (size - 4096))
        first.append("agent", "s", replace(GOAL, revision=60), NOW)
        second.append("agent", "t", replace(GOAL, revision=61), NOW)
        assert first.load("agent", "t") == replace(GOAL, revision=61)
        assert second.load("agent", "s") == replace(GOAL, revision=60)
    assert files(path) == {"goals.sqlite", "goals.sqlite.lock", "goals.sqlite.corrupt-1"}
    assert len(warnings) == 1


def test_a_file_without_its_tables_is_set_aside(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
    execute(path, "ALTER TABLE records RENAME TO recordings")
    with closing(warnings.store(path)) as store:
        assert store.load("agent", "s") is None
    assert "goals.sqlite.corrupt-1" in files(path)
    assert len(warnings) == 1


def test_a_file_of_a_newer_version_is_set_aside_with_all_that_is_in_it(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
    execute(path, "PRAGMA user_version = 7")
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", replace(GOAL, revision=2), NOW)
        assert store.load("agent", "s") == replace(GOAL, revision=2)
    assert execute(path.with_name("goals.sqlite.newer-1"), "SELECT count(*) FROM records") == [(1,)]
    assert len(warnings) == 1
    assert "version 7" in warnings[0]


def test_a_file_that_a_newer_version_takes_over_meanwhile_is_left_to_it(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        execute(path, "PRAGMA user_version = 7")
        store.append("agent", "s", replace(GOAL, revision=2), NOW)
        store.append("agent", "s", replace(GOAL, revision=3), NOW)
        assert store.load("agent", "s") == replace(GOAL, revision=3)
    assert execute(path, "SELECT count(*) FROM records") == [(1,)]
    assert len(warnings) == 1


@pytest.mark.parametrize("mark", ["PRAGMA user_version = 1", "PRAGMA application_id = 77"])
def test_the_database_of_another_program_is_left_alone(path: Path, warnings: Warnings, mark: str) -> None:
    path.parent.mkdir(parents=True)
    execute(path, "CREATE TABLE records (number INTEGER)", mark)
    before = path.read_bytes()
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        assert store.load("agent", "s") == GOAL
    assert path.read_bytes() == before
    assert files(path) == {"goals.sqlite", "goals.sqlite.lock"}
    assert len(warnings) == 1


def test_sidecars_that_find_a_corrupt_file_at_once_set_it_aside_once(path: Path, warnings: Warnings) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"garbage" * 1000)
    stores = [warnings.store(path) for _ in range(8)]
    threads = [
        threading.Thread(target=store.append, args=("agent", f"s{number}", GOAL, NOW))
        for number, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert files(path) == {"goals.sqlite", "goals.sqlite.lock", "goals.sqlite.corrupt-1"}
    assert execute(path, "SELECT count(*) FROM records") == [(8,)]
    assert len(warnings) == 1


@pytest.mark.parametrize("remove", [("",), ("", "-wal", "-shm")], ids=["file", "all"])
def test_a_file_that_is_removed_while_it_is_used_is_begun_anew(
    path: Path, warnings: Warnings, remove: tuple[str, ...]
) -> None:
    with closing(warnings.store(path)) as store, closing(warnings.store(path)) as other:
        store.append("agent", "s", GOAL, NOW)
        other.append("agent", "t", GOAL, NOW)
        for end in remove:
            path.with_name(path.name + end).unlink()
        store.append("agent", "s", replace(GOAL, revision=2), NOW)
        other.append("agent", "t", replace(GOAL, revision=3), NOW)
    with closing(warnings.store(path)) as store:
        assert store.load("agent", "s") == replace(GOAL, revision=2)
        assert store.load("agent", "t") == replace(GOAL, revision=3)
    assert warnings == []


def unwritable(directory: Path) -> Path:
    directory.chmod(0o500)
    return directory / "goals.sqlite"


def below_a_file(directory: Path) -> Path:
    (directory / "file").touch()
    return directory / "file" / "goals.sqlite"


def a_directory(directory: Path) -> Path:
    (directory / "goals.sqlite").mkdir()
    return directory / "goals.sqlite"


def a_pipe(directory: Path) -> Path:
    os.mkfifo(directory / "goals.sqlite")
    return directory / "goals.sqlite"


def a_loop(directory: Path) -> Path:
    (directory / "goals.sqlite").symlink_to("goals.sqlite")
    return directory / "goals.sqlite"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(unwritable, marks=pytest.mark.skipif(os.geteuid() == 0, reason="nothing stops root")),
        below_a_file,
        a_directory,
        a_pipe,
        a_loop,
        lambda _: Path("/dev/null"),
        lambda _: Path("/proc/goalproxy/goals.sqlite"),
    ],
)
def test_where_nothing_can_be_stored_goals_are_kept_in_memory(tmp_path: Path, warnings: Warnings, place: Any) -> None:
    path = place(tmp_path)
    with closing(warnings.store(path)) as store:
        assert store.load("agent", "s") is None
        for revision in range(5):
            store.append("agent", "s", replace(GOAL, revision=revision), NOW)
        assert store.load("agent", "s") == replace(GOAL, revision=4)
        store.append("agent", "s", None, NOW)
        assert store.load("agent", "s") is None
    assert len(warnings) == 1
    assert str(path) in warnings[0]


def test_what_a_full_disk_refused_is_stored_when_there_is_room(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        with largest_file(path.with_name("goals.sqlite-wal").stat().st_size):
            store.append("agent", "s", replace(GOAL, revision=2), NOW)
            store.append("agent", "s", replace(GOAL, revision=3), NOW)
            assert store.load("agent", "s") == replace(GOAL, revision=3)
            assert len(warnings) == 1
        store.append("agent", "t", GOAL, NOW)
    with closing(warnings.store(path)) as store:
        assert store.load("agent", "s") == replace(GOAL, revision=3)
    assert len(warnings) == 1


def test_a_file_that_somebody_keeps_locked_is_waited_for_once(
    path: Path, warnings: Warnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.1)
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for revision in range(2, 50):
                store.append("agent", "s", replace(GOAL, revision=revision), NOW)
            assert store.load("agent", "s") == replace(GOAL, revision=49)
        assert len(warnings) == 1
        assert store.load("agent", "s") == replace(GOAL, revision=49)
    assert execute(path, "SELECT count(*) FROM records") == [(2,)]


def test_a_record_that_cannot_be_read_gives_way_to_the_one_before_it(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        for revision in range(1, 5):
            store.append("agent", "s", replace(GOAL, revision=revision, objective="secret"), NOW)
        execute(
            path,
            "UPDATE records SET goal = substr(goal, 1, 40) WHERE number = 3",
            "UPDATE records SET goal = replace(goal, '\"active\"', '\"dreaming\"') WHERE number = 4",
        )
        assert store.load("agent", "s") == replace(GOAL, revision=2, objective="secret")
        assert len(warnings) == 2
        assert "secret" not in "".join(warnings)
        execute(path, "UPDATE records SET goal = x'ff00'")
        assert store.load("agent", "s") is None


def test_fields_of_a_later_version_are_ignored(path: Path, warnings: Warnings) -> None:
    with closing(warnings.store(path)) as store:
        store.append("agent", "s", GOAL, NOW)
        execute(path, "UPDATE records SET goal = json_set(goal, '$.mood', json('[1]'))")
        assert store.load("agent", "s") == GOAL
    assert warnings == []


def test_a_link_to_the_file_leads_to_it(tmp_path: Path, warnings: Warnings) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real" / "goals.sqlite")
    with closing(warnings.store(tmp_path / "link")) as store:
        store.append("agent", "s", GOAL, NOW)
    assert (tmp_path / "real" / "goals.sqlite").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/me"}, "/state/goalproxy/goals.sqlite"),
        ({"XDG_STATE_HOME": "state", "HOME": "/home/me"}, "/home/me/.local/state/goalproxy/goals.sqlite"),
        ({"XDG_STATE_HOME": "", "HOME": "/home/me"}, "/home/me/.local/state/goalproxy/goals.sqlite"),
        ({"HOME": "/home/me"}, "/home/me/.local/state/goalproxy/goals.sqlite"),
    ],
)
def test_the_default_is_in_the_users_state(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_path() == Path(expected)
