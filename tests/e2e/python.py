"""The Python that runs agents which are written in it, and the environments that they are in."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LOCKS: Final = Path(__file__).with_name("locks")
"""What each environment consists of: a file for each build, all versions pinned."""
MINIMUM: Final = "3.12"
VERSIONS: Final = ("3.13", MINIMUM, "3.14")
"""Those that the agents run with, the one to prefer first."""
UV: Final = (sys.executable, "-m", "uv")


def python() -> Path | None:
    """Return a Python of this machine that is new enough, on the path or installed by pyenv."""
    return next((each for each in _candidates() if _runs(each)), None)


def make_environment(folder: Path, lock: Path) -> None:
    """Make an environment in a folder with what a file pins; where no Python is new enough, uv is to bring one."""
    wanted = str(python() or VERSIONS[0])
    subprocess.run([*UV, "venv", "--quiet", "--no-project", "--python", wanted, str(folder)], check=True)
    into = ("--python", str(folder / "bin" / "python"))
    subprocess.run([*UV, "pip", "install", "--quiet", *into, "--requirement", str(lock)], check=True)


def _candidates() -> Iterator[Path]:
    """Yield what could be such a Python. A name on the path may be pyenv's for a version that is not in use."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        yield from [Path(found)] if found else []
        yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)


def _runs(program: Path) -> bool:
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0
