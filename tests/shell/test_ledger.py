"""A directory of sidecars: read as one, folded by its owner, right whenever it is interrupted and whatever lies there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalproxy.metrics.catalogue import GOALS, GOALS_STARTED, ROUNDS_PER_GOAL
from goalproxy.metrics.host import Look
from goalproxy.metrics.series import MAGIC, dump
from goalproxy.proxy.shell.ledger import fold, look
from goalproxy.proxy.shell.registry import Unusable

from .members import STARTED, Member, ended, locked
from .rig import DEADLINE

SOON = 0.05


def now(directory: Path) -> Look:
    """What is in the directory."""
    return look(directory, time.monotonic() + DEADLINE)


def started(directory: Path) -> float:
    """The goals that were started, by what is in the directory."""
    return now(directory).fleet.series.get(STARTED, [0.0])[0]


def files(directory: Path) -> set[str]:
    """Everything in the directory but the lock and the totals."""
    return {path.name for path in directory.iterdir()} - {".lock", "totals"}


# Reading and folding


def test_those_that_live_and_those_that_have_ended_add_up(tmp_path: Path) -> None:
    ended(tmp_path, 3)
    living = Member(tmp_path)
    living.work(4)
    found = now(tmp_path)
    assert found.fleet.series[STARTED] == [7]
    assert found.fleet.series[GOALS.name, "a", "native", "active"] == [1], "gauges are about those that live"
    assert [sidecar.pid for sidecar in found.sidecars] == [os.getpid()]
    assert (found.unreadable, found.fleet.skipped) == (0, 0)


def test_a_sidecar_that_makes_series_while_it_is_read_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, pread = Member(tmp_path), os.pread
    living.work(4)

    def meanwhile(descriptor: int, size: int, offset: int) -> bytes:
        found = pread(descriptor, size, offset)
        living.table.add(GOALS_STARTED, 1, os.urandom(4).hex(), "native")
        return found

    monkeypatch.setattr(os, "pread", meanwhile)
    assert (started(tmp_path), now(tmp_path).unreadable) == (4, 0)


def test_what_has_ended_is_moved_into_the_totals_and_what_lives_stays(tmp_path: Path) -> None:
    ended(tmp_path, 3)
    living = Member(tmp_path)
    living.work(4)
    fold(tmp_path)
    assert files(tmp_path) == {living.name()}
    assert started(tmp_path) == 7
    living.work(1)
    assert started(tmp_path) == 8
    living.end()
    fold(tmp_path)
    assert (files(tmp_path), started(tmp_path)) == (set(), 8)


def test_the_socket_of_a_sidecar_that_was_killed_goes_with_its_file(tmp_path: Path) -> None:
    killed, living = Member(tmp_path), Member(tmp_path)
    sockets = [killed.listen(), living.listen()]
    killed.end()
    (found,) = now(tmp_path).sidecars
    assert found.socket == str(tmp_path / living.name().replace(".series", ".sock"))
    assert files(tmp_path) == {living.name(), Path(str(found.socket)).name}
    for each in sockets:
        assert each is not None
        each.close()


def test_totals_of_a_newer_version_are_carried_along(tmp_path: Path) -> None:
    for _ in range(2):
        member = ended(tmp_path, 1)
        assert member.path is not None
        member.path.write_bytes(dump({("goalproxy_of_tomorrow_total",): (2.0,)}))
        fold(tmp_path)
    assert (tmp_path / "totals").read_bytes().count(b"goalproxy_of_tomorrow_total") == 1
    assert dump({("goalproxy_of_tomorrow_total",): (4.0,)})[16:] in (tmp_path / "totals").read_bytes()
    assert now(tmp_path).fleet.skipped == 1


def test_totals_with_as_many_series_as_there_may_be_can_be_read_again(tmp_path: Path) -> None:
    values = [1.0] * (len(ROUNDS_PER_GOAL.buckets) + 2)
    for half in range(2):
        member = ended(tmp_path, 1)
        assert member.path is not None
        labels = [f"{half}-{number}".ljust(120, "x") for number in range(6000)]
        member.path.write_bytes(dump({(ROUNDS_PER_GOAL.name, label, label, label): values for label in labels}))
    for _ in range(2):
        series = now(tmp_path).fleet.series
        assert sum(counts[0] for key, counts in series.items() if key[0] == ROUNDS_PER_GOAL.name) == 12_000
    assert files(tmp_path) == set()
    assert (tmp_path / "totals").stat().st_size > 4 << 20


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    ended(tmp_path, 1)
    for name in ("notes.txt", "x.series", "1-abc.series", "totals.broken-1"):
        (tmp_path / name).write_text("something")
    fold(tmp_path)
    assert files(tmp_path) == {"notes.txt", "x.series", "1-abc.series", "totals.broken-1"}


def test_what_a_sidecar_left_that_was_killed_at_its_start_is_swept_later(tmp_path: Path) -> None:
    old, new = tmp_path / ".1-0123abcd", tmp_path / ".2-0123abcd"
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 100, time.time() - 100))
    now(tmp_path)
    assert files(tmp_path) == {new.name}


def test_a_sidecar_tidies_up_a_directory_with_many_files(tmp_path: Path) -> None:
    for _ in range(63):
        ended(tmp_path, 1)
    last = Member(tmp_path)
    last.settle()
    assert len(files(tmp_path)) == 64
    ended(tmp_path, 1)
    last.settle()
    assert files(tmp_path) == {last.name()}
    assert started(tmp_path) == 64


def test_a_directory_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        now(tmp_path / "missing")


# Interruptions


class Crash(BaseException):
    """The end of the process at some step."""


@contextlib.contextmanager
def crash_at(step: int) -> Iterator[None]:
    """End at the given change of the directory: before it is done."""
    left = step

    def counted(change: Callable[..., None]) -> Callable[..., None]:
        def do(*args: object, **kwargs: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Crash
            change(*args, **kwargs)

        return do

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "unlink", counted(os.unlink))
        patch.setattr(os, "rename", counted(os.rename))
        yield


STEP = st.tuples(st.integers(1, 9), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 12)))
"""A sidecar begins and starts so many goals, so many others end, and a fold is interrupted at a step."""


@given(steps=st.lists(STEP, max_size=12))
def test_nothing_is_lost_or_counted_twice_however_often_folding_is_interrupted(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int | None]]
) -> None:
    directory, living, done = tmp_path_factory.mktemp("r"), list[Member](), 0
    for goals, ends, crash in steps:
        living.append(Member(directory))
        living[-1].work(goals)
        done += goals
        for _ in range(min(ends, len(living))):
            living.pop(0).end()
        if crash is not None:
            with contextlib.suppress(Crash), crash_at(crash):
                fold(directory)
        with locked(directory, fcntl.LOCK_SH):
            assert started(directory) == done
    assert steps == [] or started(directory) == done
    assert files(directory) == {member.name() for member in living}


def test_a_disk_that_is_full_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = ended(tmp_path, 3)
    with monkeypatch.context() as patch:

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, "rename", full)
        found = now(tmp_path)
        assert found.fleet.series[STARTED] == [3]
        assert found.trouble == f"cannot write totals in {tmp_path}: No space left on device"
        assert member.name() in files(tmp_path)
    assert started(tmp_path) == 3
    assert files(tmp_path) == set()


@pytest.mark.parametrize("which", [".series", "totals"])
def test_a_process_that_has_too_many_files_open_takes_nothing_for_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    ended(tmp_path, 1)
    fold(tmp_path)
    ended(tmp_path, 2)
    before, there = os.open, {path.name for path in tmp_path.iterdir()}

    def scarce(path: str, *args: int, **kwargs: int) -> int:
        if str(path).endswith(which):
            raise OSError(24, "Too many open files")
        return before(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", scarce)
        with pytest.raises(OSError, match="Too many open files"):
            now(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == there
    assert started(tmp_path) == 3


def test_totals_never_fall_while_another_process_folds(tmp_path: Path) -> None:
    script = """
        import fcntl, sys
        from pathlib import Path
        from goalproxy.metrics.catalogue import GOALS_STARTED
        from goalproxy.proxy.shell.ledger import fold
        from goalproxy.proxy.shell.registry import Registration

        directory = Path(sys.argv[1])
        for _ in range(300):
            member = Registration(directory)
            member.table.add(GOALS_STARTED, 1, "a", "native")
            fcntl.flock(member._file, fcntl.LOCK_UN)
            fold(directory)
    """
    tmp_path.joinpath("r").mkdir(mode=0o700)
    other = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "r")])
    before, looks = 0.0, 0
    while other.poll() is None:
        found = started(tmp_path / "r")
        assert found >= before
        before, looks = found, looks + 1
    assert other.returncode == 0
    assert looks > 10
    assert started(tmp_path / "r") == 300


# What must not be believed


def test_totals_that_are_damaged_are_set_aside_and_counting_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended(tmp_path, 3)
    fold(tmp_path)
    damaged = (tmp_path / "totals").read_bytes()[:-1]
    (tmp_path / "totals").write_bytes(damaged)
    ended(tmp_path, 4)
    assert started(tmp_path) == 4
    (aside,) = tmp_path.glob("totals.broken-*")
    assert aside.read_bytes() == damaged
    line = capsys.readouterr().err
    assert line.startswith(f"goalproxy: the totals in {tmp_path} cannot be read: ")
    assert str(aside) in line
    assert started(tmp_path) == 4
    assert capsys.readouterr().err == ""


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


ODD = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(os.urandom(5000)),
    "cut off": lambda path: path.write_bytes(dump({STARTED: (9.0,)})[:-3]),
    "too large": lambda path: path.write_bytes(MAGIC + (1 << 40).to_bytes(8, sys.byteorder)),
    "a FIFO": _fifo,
    "a link": _link,
    "a socket": _socket,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_cannot_be_read_is_removed_with_a_line_and_harms_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    ended(tmp_path, 3)
    odd = tmp_path / "77-0123abcd.series"
    ODD[kind](odd)
    assert started(tmp_path) == 3
    assert not os.path.lexists(odd)
    assert capsys.readouterr().err.startswith(f"goalproxy: {odd} is removed, since it cannot be read: ")
    assert Path("/etc/passwd").exists()


def test_what_cannot_be_read_and_cannot_be_removed_is_counted(tmp_path: Path) -> None:
    ended(tmp_path, 3)
    (tmp_path / "77-0123abcd.series").mkdir()
    assert (started(tmp_path), now(tmp_path).unreadable) == (3, 1)


def test_what_cannot_be_read_of_a_sidecar_that_lives_is_counted_and_stays(tmp_path: Path) -> None:
    living = Member(tmp_path)
    living.work(3)
    assert living.path is not None
    with living.path.open("r+b") as file:
        file.write(b"rubbish!")
    found = now(tmp_path)
    assert (found.unreadable, found.fleet.series) == (1, {})
    assert files(tmp_path) == {living.name()}


def test_a_lock_that_is_never_let_go_is_waited_for_only_so_long(tmp_path: Path) -> None:
    ended(tmp_path, 3)
    with locked(tmp_path, fcntl.LOCK_EX):
        fold(tmp_path)
        with pytest.raises(Unusable, match="another process holds its lock"):
            look(tmp_path, time.monotonic() + SOON)
    assert started(tmp_path) == 3


def test_readers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    member = ended(tmp_path, 3)
    with locked(tmp_path, fcntl.LOCK_SH):
        assert look(tmp_path, 0.0).fleet.series[STARTED] == [3]
        assert files(tmp_path) == {member.name()}


def test_a_link_to_a_directory_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError):
        now(tmp_path / "link")


# A directory of another user's


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A directory of another user's, with a sidecar that has ended."""
    ended(tmp_path, 3)
    try:
        os.chown(tmp_path, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can make a directory of another user's")
    return tmp_path


def test_a_directory_of_another_users_is_read_and_never_changed(foreign: Path) -> None:
    (foreign / "78-0123abcd.series").write_bytes(b"garbage")
    before = files(foreign)
    assert (started(foreign), now(foreign).unreadable) == (3, 1)
    fold(foreign)
    assert files(foreign) == before
    assert not (foreign / "totals").exists()


@pytest.mark.parametrize("name", ["totals", ".lock"])
def test_a_directory_of_another_users_that_makes_no_sense_cannot_be_used(foreign: Path, name: str) -> None:
    (foreign / name).unlink(missing_ok=True)
    if name == "totals":
        (foreign / name).write_bytes(b"garbage")
    with pytest.raises(Unusable):
        now(foreign)


def test_a_directory_of_another_users_that_is_too_large_is_not_read(foreign: Path) -> None:
    large = dump({(GOALS_STARTED.name, "x" * (3 << 20), "native"): (1.0,)})
    for number in range(6):
        (foreign / f"{number}-0123abcd.series").write_bytes(large)
    with pytest.raises(Unusable, match="too large"):
        now(foreign)


def test_a_directory_of_many_users_is_folded_by_its_owner(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    member = ended(tmp_path, 3)
    for name in (member.name(), ".lock"):
        try:
            os.chown(tmp_path / name, 12345, 12345)
        except PermissionError:
            pytest.skip("only root can make a file of another user's")
    assert (started(tmp_path), files(tmp_path)) == (3, set())
