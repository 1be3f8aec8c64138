"""Logs that another program writes: every goal line once and in order, whatever happens to the file.

A look is asked for and awaited, so nothing depends on when the follower looks by itself; the tests of that wait for
what it reports.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalproxy.proxy.shell import log_follower
from goalproxy.proxy.shell.log_follower import LogFollower

MARK = b'"goal_status"'
DEADLINE = 10.0


class Told(NamedTuple):
    """One report of the follower."""

    session_id: str
    lines: list[bytes]
    found: bool
    history: bool


class Desk:
    """A directory of logs, a follower, and what it reported."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reports: Queue[Told] = Queue()
        self.follower = LogFollower(self._take, root)

    def _take(self, session_id: str, lines: list[bytes], *, found: bool, history: bool) -> None:
        self.reports.put(Told(session_id, lines, found, history))

    def follow(self, session_id: str = "s", *, history: bool = True) -> Told | None:
        """Begin, and leave the log at once: from then on it is looked at only when it is asked for."""
        self.follower.follow(session_id, MARK, history=history)
        told = self.reports.get(timeout=DEADLINE) if history else None
        self.follower.leave(session_id)
        return told

    def look(self, session_id: str = "s") -> Told:
        """Have a log looked at now."""
        self.follower.read(session_id)
        return self.reports.get(timeout=DEADLINE)

    def log(self, session_id: str = "s", project: str = "-w") -> Path:
        """Where Claude writes a session's log."""
        directory = self.root / project
        directory.mkdir(exist_ok=True)
        return directory / f"{session_id}.jsonl"


@contextmanager
def desk() -> Iterator[Desk]:
    """A desk with a directory of its own."""
    with TemporaryDirectory() as name:
        yield Desk(Path(name))


def goal(number: int) -> bytes:
    """A line about a goal."""
    return b'{"n":%d,"type":"goal_status"}' % number


def append(path: Path, data: bytes) -> None:
    """Write as another program does: at the end."""
    with path.open("ab") as log:
        log.write(data)


# What a file can live through


class File:
    """The log as its writer knows it, with what must have been reported after each look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.written: list[bytes] = []

    def goal(self) -> None:
        """A goal line."""
        self.count += 1
        self.written.append(goal(self.count))
        append(self.path, self.written[-1] + b"\n")

    def other(self) -> None:
        """A line about something else."""
        append(self.path, b'{"type":"user","text":"goal status"}\n')

    def huge(self) -> None:
        """A line of more than two megabytes."""
        append(self.path, b"x" * (5 << 19) + b"\n")

    def rename_and_begin_anew(self) -> None:
        """Rotation: the old file gets another name."""
        if self.path.exists():
            self.path.rename(self.path.with_suffix(f".{self.count}.{id(object())}.old"))
        self.path.touch()

    def copy_and_truncate(self) -> None:
        """Rotation: the old file is emptied."""
        self.path.write_bytes(b"")

    def write_again(self) -> None:
        """The program that writes it rewrites the whole log."""
        self.path.write_bytes(b"".join(line + b"\n" for line in self.written))

    def replace_by_a_copy(self) -> None:
        """The same log, in another file."""
        copy = self.path.with_suffix(".new")
        copy.write_bytes(self.path.read_bytes() if self.path.exists() else b"")
        copy.replace(self.path)

    def move(self) -> None:
        """The project's directory gets another name."""
        directory = self.path.parent.parent / f"-w{self.count}-{len(list(self.path.parent.parent.iterdir()))}"
        directory.mkdir()
        if self.path.exists():
            self.path.rename(directory / self.path.name)
        self.path = directory / self.path.name


WRITES: list[Callable[[File], None]] = [File.goal, File.other]
HAPPENINGS: list[Callable[[File], None]] = [
    File.rename_and_begin_anew,
    File.copy_and_truncate,
    File.write_again,
    File.replace_by_a_copy,
    File.move,
]
stretches = st.lists(
    st.tuples(st.lists(st.sampled_from(WRITES), max_size=4), st.sampled_from(HAPPENINGS), st.booleans()), max_size=6
)


@given(stretches=stretches, last=st.lists(st.sampled_from(WRITES), max_size=3))
@settings(max_examples=60, deadline=None)
def test_each_goal_line_is_reported_once_and_in_order(
    stretches: list[tuple[list[Callable[[File], None]], Callable[[File], None], bool]],
    last: list[Callable[[File], None]],
) -> None:
    with desk() as here:
        here.follow()
        file, told = File(here.log()), list[bytes]()
        for writes, happening, looks_between in stretches:
            for write in writes:
                write(file)
                told += here.look().lines if looks_between else []
            told += here.look().lines
            happening(file)
            told += here.look().lines if looks_between else []
        for write in last:
            write(file)
        told += here.look().lines
        assert told == file.written
        assert here.look().lines == []


@given(cuts=st.lists(st.integers(min_value=1, max_value=30), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_half_written_lines_are_reported_when_they_are_whole(cuts: list[int]) -> None:
    data = b"".join(goal(number) + b'\n{"other":1}\n' for number in range(5))
    with desk() as here:
        here.follow()
        told, at = list[bytes](), 0
        for size in [*cuts, len(data)]:
            append(here.log(), data[at : at + size])
            at += size
            told += here.look().lines
        assert told == [goal(number) for number in range(5)]


def test_writers_at_once_lose_no_line_and_repeat_none(tmp_path: Path) -> None:
    here, count = Desk(tmp_path), 200
    path = here.log()
    here.follow()

    def write(kind: bytes) -> None:
        with path.open("ab", buffering=0) as log:
            for number in range(count):
                log.write(b'{"by":"%s","n":%d,"type":"goal_status"}\n' % (kind, number))

    writers = [threading.Thread(target=write, args=(kind,)) for kind in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    told: list[bytes] = []
    while len(told) < 3 * count:
        told += here.look().lines
    for writer in writers:
        writer.join(DEADLINE)
    assert b"".join(line + b"\n" for line in told) == path.read_bytes()
    assert here.look().lines == []


def test_huge_lines_are_passed_over_and_what_follows_is_not(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    file = File(here.log())
    here.follow()
    told: list[bytes] = []
    for write in (File.goal, File.huge, File.goal, File.huge, File.huge, File.goal):
        write(file)
        told += here.look().lines
    assert told == file.written


def test_log_that_is_cut_and_written_longer_between_two_looks_is_read_from_its_beginning(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.follow()
    here.log().write_bytes(goal(1) + b"\n")
    assert here.look().lines == [goal(1)]
    here.log().write_bytes(goal(2) + b"\n" + goal(3) + b"\n")
    assert here.look().lines == [goal(2), goal(3)]


# Where it is


def test_log_that_appears_late_is_read_from_its_beginning(tmp_path: Path) -> None:
    here = Desk(tmp_path / "not yet")
    here.follow(history=False)
    assert here.look() == Told("s", [], found=False, history=False)
    here.root.mkdir()
    append(here.log(), goal(1) + b"\n")
    assert here.look() == Told("s", [goal(1)], found=True, history=False)


def test_what_was_there_before_is_history_and_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    here.follow(history=False)
    append(here.log(), goal(2) + b"\n")
    assert here.look().lines == [goal(2)]
    assert here.follow() == Told("s", [goal(1), goal(2)], found=True, history=True)


def test_what_was_passed_over_stays_so_when_the_log_is_written_again(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    here.follow(history=False)
    copy = here.log().with_suffix(".new")
    copy.write_bytes(goal(1) + b"\n" + goal(2) + b"\n")
    copy.replace(here.log())
    assert here.look().lines == [goal(2)]


def test_following_goes_on_where_it_was_left(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.follow()
    append(here.log(), goal(1) + b"\n")
    here.follow(history=False)
    assert here.look().lines == [goal(1)]


@pytest.mark.parametrize("where", ["file", "directory"])
def test_symbolic_links_are_followed(tmp_path: Path, where: str) -> None:
    real, root = tmp_path / "real", tmp_path / "root"
    real.mkdir()
    root.mkdir()
    log = real / "s.jsonl"
    log.touch()
    if where == "directory":
        (root / "-w").symlink_to(real, target_is_directory=True)
    else:
        (root / "-w").mkdir()
        (root / "-w" / "s.jsonl").symlink_to(log)
    here = Desk(root)
    here.follow()
    append(log, goal(1) + b"\n")
    assert here.look().lines == [goal(1)]


def test_link_that_leads_nowhere_is_no_log(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.log().symlink_to(tmp_path / "gone")
    here.follow()
    assert here.look() == Told("s", [], found=False, history=False)


def test_link_that_leads_nowhere_hides_no_log(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    for number in range(9):
        here.log(project=f"-{number}").symlink_to(tmp_path / "gone")
    here.follow()
    append(here.log(), goal(2) + b"\n")
    assert here.look().lines == [goal(2)]


def test_directory_with_the_name_of_a_log_is_survived(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.log().mkdir()
    here.follow()
    assert here.look().lines == []


def test_log_that_goes_away_is_not_found_and_found_again(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    here.follow()
    here.log().unlink()
    assert not here.look().found
    append(here.log(), goal(1) + b"\n" + goal(2) + b"\n")
    assert here.look() == Told("s", [goal(2)], found=True, history=False)


# Ids


@pytest.mark.parametrize("name", ["*", "?", "[s]", "s*", "[!x]", "{s}", "a b", "ü", "-s", ".s", "s\\"])
def test_id_with_characters_of_patterns_is_that_name_and_no_other(tmp_path: Path, name: str) -> None:
    here = Desk(tmp_path)
    append(here.log("s"), goal(1) + b"\n")
    append(here.log("sx"), goal(2) + b"\n")
    here.follow(name)
    assert here.look(name).lines == []
    append(here.log(name), goal(3) + b"\n")
    assert here.look(name) == Told(name, [goal(3)], found=True, history=False)


@pytest.mark.parametrize("name", ["../-w/s", "/etc/passwd", "a/s", "..", ".", "", "s\0", "x" * 300, "\udcff"])
def test_id_that_is_no_name_of_a_file_leads_nowhere_and_harms_nobody(tmp_path: Path, name: str) -> None:
    here = Desk(tmp_path)
    append(here.log("s"), goal(1) + b"\n")
    (tmp_path / "-w" / "a").mkdir()
    append(tmp_path / "-w" / "a" / "s.jsonl", goal(2) + b"\n")
    assert here.follow(name) == Told(name, [], found=False, history=True)
    assert here.follow("s") == Told("s", [goal(1)], found=True, history=True)


# By itself


def test_followed_logs_are_looked_at_without_being_asked_for(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.follower.follow("s", MARK, history=False)
    here.follower.follow("t", MARK, history=False)
    for name in "st":
        append(here.log(name), goal(1) + b"\n")
    told = {here.reports.get(timeout=DEADLINE).session_id for _ in "st"}
    assert told == {"s", "t"}
    for name in "st":
        here.follower.leave(name)


def test_a_log_that_is_forgotten_is_no_longer_looked_at_even_when_somebody_asks(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    for name in "st":
        append(here.log(name), goal(1) + b"\n")
        here.follow(name)
    here.follower.leave("s", forget=True)
    here.follower.read("s")
    assert here.look("t").session_id == "t"
    told = here.follow("s")
    assert told is not None
    assert told.lines == [goal(1)]


def test_no_thread_runs_before_a_log_is_followed(tmp_path: Path) -> None:
    before = threading.active_count()
    LogFollower(lambda *_, **__: None, tmp_path)
    assert threading.active_count() == before


@pytest.fixture
def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue[str]:
    """Every look at the test's files that the follower's thread takes, and it looks as often as it can."""
    seen: Queue[str] = Queue()
    monkeypatch.setattr(log_follower, "_INTERVAL", 0.001)

    def watch(name: str) -> None:
        real = getattr(Path, name)

        def watched(self: Path, *args: object, **options: object) -> object:
            if threading.current_thread().name == "logs" and self.is_relative_to(tmp_path):
                seen.put(name)
            return real(self, *args, **options)

        monkeypatch.setattr(Path, name, watched)

    for name in ("glob", "exists", "stat", "open"):
        watch(name)
    return seen


def test_nothing_is_looked_at_while_nothing_is_followed(tmp_path: Path, looks: Queue[str]) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    here.follow()
    here.look()  # whatever was under way when the log was left is over
    while not looks.empty():
        looks.get()
    with pytest.raises(Empty):
        looks.get(timeout=0.3)
    here.follow(history=False)


def test_only_what_is_followed_is_looked_at(tmp_path: Path, looks: Queue[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follower, "_INTERVAL", 1000.0)
    here = Desk(tmp_path)
    for name in ("s", "t"):
        append(here.log(name), goal(1) + b"\n")
        here.follow(name)
    while not looks.empty():
        looks.get()
    here.look("s")
    here.look("s")
    assert looks.qsize() < 12
    opened = [name for name in iter_all(looks) if name == "open"]
    assert len(opened) == 2


def iter_all(queue: Queue[str]) -> list[str]:
    """What is in a queue."""
    return [queue.get() for _ in range(queue.qsize())]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    with here.log().open("wb") as log:
        log.truncate(1 << 31)  # two gigabytes that take no room on the disk
    here.follow(history=False)
    append(here.log(), b"\n" + goal(1) + b"\n")
    assert here.look().lines == [goal(1)]


def test_history_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follower, "_LONGEST_HISTORY", 100)
    here = Desk(tmp_path)
    for number in range(50):
        append(here.log(), goal(number) + b"\n")
    told = here.follow()
    assert told is not None
    assert told.lines[-3:] == [goal(47), goal(48), goal(49)]
    assert len(b"\n".join(told.lines)) <= 100


def test_lines_that_are_remembered_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follower, "_REMEMBERED", 3)
    here = Desk(tmp_path)
    here.follow()
    for number in range(10):
        append(here.log(), goal(number) + b"\n")
    assert len(here.look().lines) == 10
    here.log().write_bytes(goal(9) + b"\n")
    assert here.look().lines == []


def test_log_is_only_read(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    append(here.log(), goal(1) + b"\n")
    here.log().chmod(0o444)
    before = here.log().stat()
    here.follow()
    here.look()
    after = here.log().stat()
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (after.st_mtime_ns, after.st_size, after.st_mode)


def test_directory_is_claudes_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert log_follower.projects() == tmp_path / "projects"
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert log_follower.projects() == tmp_path / ".claude" / "projects"
