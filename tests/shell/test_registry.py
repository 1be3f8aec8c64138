"""Where a sidecar leaves its numbers: for its user alone, for as long as anybody may want them, and never in the way."""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from goalproxy.metrics.catalogue import GOALS_STARTED, SIDECARS_STARTED
from goalproxy.metrics.series import FIRST_SIZE, read
from goalproxy.proxy.shell.registry import Registration, Unusable

from .conftest import Start
from .rig import Sidecar


def numbers(directory: Path) -> list[Path]:
    """The files of sidecars."""
    return sorted(directory.glob("*.series"))


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def relays(sidecar: Sidecar) -> bool:
    """Whether a line comes back from ``cat``."""
    sidecar.input.write(b'{"jsonrpc":"2.0","method":"a"}\n')
    return sidecar.output.line() == b'{"jsonrpc":"2.0","method":"a"}\n'


def mode(path: Path) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_the_directory_and_the_file_are_for_the_user_alone(tmp_path: Path) -> None:
    registration = Registration(tmp_path / "some" / "where")
    assert registration.path is not None
    assert mode(registration.path.parent) == 0o700
    assert mode(registration.path) == 0o600


def test_what_is_counted_is_in_the_file_at_once_and_its_lock_is_held(tmp_path: Path) -> None:
    registration = Registration(tmp_path)
    registration.table.add(GOALS_STARTED, 3, "a", "native")
    (path,) = numbers(tmp_path)
    assert path == registration.path
    assert path.name.startswith(f"{os.getpid()}-")
    assert read(path.read_bytes()) == {(GOALS_STARTED.name, "a", "native"): (3.0,)}
    assert is_locked(path)


def test_a_file_that_has_become_too_small_grows(tmp_path: Path) -> None:
    registration = Registration(tmp_path)
    for number in range(1000):
        registration.table.add(GOALS_STARTED, number, f"agent-{number}", "native")
    (path,) = numbers(tmp_path)
    assert path.stat().st_size > FIRST_SIZE
    assert [value for (value,) in read(path.read_bytes()).values()] == list(range(1000))


def test_a_file_that_cannot_grow_keeps_what_it_has_and_counting_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registration = Registration(tmp_path)
    registration.table.add(GOALS_STARTED, 1, "first", "native")

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    for number in range(1000):
        registration.table.add(GOALS_STARTED, number, f"agent-{number}", "native")
    assert len(registration.table.read()) == 1001
    (path,) = numbers(tmp_path)
    kept = read(path.read_bytes())
    assert kept[GOALS_STARTED.name, "first", "native"] == (1.0,)
    assert is_locked(path)


def test_without_a_directory_the_numbers_are_counted_all_the_same() -> None:
    registration = Registration(None)
    for number in range(1000):
        registration.table.add(GOALS_STARTED, number, f"agent-{number}", "native")
    assert len(registration.table.read()) == 1000
    assert registration.path is None


@pytest.mark.parametrize("fails", ["posix_fallocate", "flock", "mmap", "rename"])
def test_a_registration_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    owner = {"posix_fallocate": os, "flock": fcntl, "mmap": mmap, "rename": Path}[fails]
    monkeypatch.setattr(owner, fails, fail)
    with pytest.raises(Unusable, match="No space left on device"):
        Registration(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def _file(path: Path) -> None:
    path.write_bytes(b"")


def _link(path: Path) -> None:
    path.with_name("other").mkdir()
    path.symlink_to(path.with_name("other"))


def _open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _of_another_user(path: Path) -> None:
    path.mkdir()
    try:
        os.chown(path, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can make a directory of another user's")


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        pytest.param(_file, "File exists", id="a file"),
        pytest.param(_link, "it is no directory", id="a link"),
        pytest.param(_open_to_all, "everybody may write there, and its sticky bit is not set", id="open to all"),
        pytest.param(_of_another_user, "it belongs to another user", id="of another user"),
    ],
)
def test_a_directory_that_others_could_play_with_is_refused_and_the_sidecar_relays(
    start: Start, tmp_path: Path, prepare: Callable[[Path], None], reason: str
) -> None:
    directory = tmp_path / "registry"
    prepare(directory)
    sidecar = start(["cat"], "--registry", str(directory))
    assert relays(sidecar)
    assert sidecar.finish() == 0
    assert sidecar.errors.rest().decode() == f"goalproxy: cannot leave metrics in {directory}: {reason}\n"
    assert not numbers(tmp_path / "other")


def test_a_directory_of_many_users_with_its_sticky_bit_set_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert Registration(tmp_path).path is not None


def test_a_sidecar_whose_disk_is_full_relays(start: Start, tmp_path: Path) -> None:
    sidecar = start(["cat"], "--registry", str(tmp_path / "r"), through='ulimit -f 0; exec "$@"')
    assert relays(sidecar)
    assert sidecar.finish() == 0
    assert sidecar.errors.rest().decode() == f"goalproxy: cannot leave metrics in {tmp_path / 'r'}: File too large\n"


def test_a_path_makes_a_terminal_do_nothing(start: Start) -> None:
    sidecar = start(["cat"], "--registry", "/dev/null/\x1b[31m")
    assert sidecar.finish() == 0
    wanted = "goalproxy: cannot leave metrics in /dev/null/\\x1b[31m: Not a directory\n"
    assert sidecar.errors.rest().decode() == wanted


def test_a_sidecar_without_a_registry_leaves_nothing(start: Start, tmp_path: Path) -> None:
    sidecar = start(["cat"], "--registry", "off")
    assert relays(sidecar)
    assert sidecar.finish() == 0
    assert sidecar.errors.rest() == b""
    assert not (tmp_path / "goalproxy").exists()


def test_the_usual_place_is_the_runtime_directory_of_the_user(start: Start, tmp_path: Path) -> None:
    sidecar = start(["cat"])
    assert relays(sidecar)
    (path,) = numbers(tmp_path / "goalproxy")
    assert is_locked(path)
    assert sidecar.finish() == 0
    assert not is_locked(path)
    assert read(path.read_bytes())[(SIDECARS_STARTED.name,)] == (1.0,)


def test_without_a_login_session_the_usual_place_is_for_temporary_files(
    start: Start, tmp_path: Path, env: dict[str, str]
) -> None:
    env["XDG_RUNTIME_DIR"] = ""
    env["TMPDIR"] = str(tmp_path)
    assert relays(start(["cat"]))
    assert numbers(tmp_path / f"goalproxy-{os.getuid()}")


@pytest.mark.parametrize("owner", [None, 12345])
def test_a_runtime_directory_that_is_not_the_users_is_left_alone(
    start: Start, tmp_path: Path, env: dict[str, str], owner: int | None
) -> None:
    runtime = tmp_path / "runtime"
    if owner is not None:
        _of_another_user(runtime)
    env["XDG_RUNTIME_DIR"] = str(runtime)
    env["TMPDIR"] = str(tmp_path)
    sidecar = start(["cat"])
    assert relays(sidecar)
    assert numbers(tmp_path / f"goalproxy-{os.getuid()}")
    assert not (runtime / "goalproxy").exists()
    assert sidecar.finish() == 0
    assert sidecar.errors.rest() == b""


def test_the_agent_does_not_hold_the_lock_of_the_sidecar(start: Start, tmp_path: Path) -> None:
    sidecar = start(["cat"])
    assert relays(sidecar)
    (path,) = numbers(tmp_path / "goalproxy")
    name = f"/proc/{sidecar.pid}/task/{sidecar.pid}/children"
    (agent,) = Path(name).read_text(encoding="ascii").split()
    assert path not in [each.readlink() for each in Path(f"/proc/{agent}/fd").iterdir()]
