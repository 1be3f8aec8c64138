"""The package holds every module, under the names that are promised, and installs from a wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from goalproxy.proxy.version import VERSION

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRA = CONFIG["project"]["optional-dependencies"]["otlp"]
ROOMS = ("proxy", "mappers", "metrics")


def folders() -> set[str]:
    """Every folder with modules, by its import name."""
    found = {file.parent for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    return {".".join(["goalproxy", *folder.relative_to(ROOT).parts]) for folder in found}


def test_every_folder_with_modules_is_packaged() -> None:
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == folders()


def test_the_type_checkers_see_every_room() -> None:
    links = {link.name: link.resolve() for link in (ROOT / ".src" / "goalproxy").iterdir()}
    assert links == {room: ROOT / room for room in ROOMS}


def test_every_dependency_has_its_reason_in_the_docs() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    for requirement in [*CONFIG["project"]["dependencies"], *EXTRA, *CONFIG["dependency-groups"]["dev"]]:
        name = requirement.split(">")[0].strip()
        assert f"| {name} |" in page, f"docs/architecture.md gives no reason for {name}"


def test_what_is_tested_is_what_the_extra_installs() -> None:
    assert set(EXTRA) <= set(CONFIG["dependency-groups"]["dev"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a copy of the tree, so that nothing left over from another build gets in."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for room in ROOMS:
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(source)]
    subprocess.run([sys.executable, "-m", *build], check=True)
    return next(target.glob("*.whl"))


def test_the_wheel_has_every_module_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {f"goalproxy/{file.relative_to(ROOT)}" for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    assert names == expected | {f"goalproxy/{room}/py.typed" for room in ROOMS}


def test_the_wheel_says_the_version_that_the_program_says(wheel: Path) -> None:
    assert wheel.name.startswith(f"goalproxy-{VERSION}-")


def test_the_wheel_runs_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "v", with_pip=False, system_site_packages=False)
    python = tmp_path / "v" / "bin" / "python"
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    zipfile.ZipFile(wheel).extractall(packages.stdout.strip())
    libraries = subprocess.run(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    script = "import sys; sys.path.append(sys.argv.pop()); from goalproxy.proxy.cli import main; sys.argv[1:] = ['--version']; main()"
    result = subprocess.run(
        [python, "-c", script, libraries.stdout.strip()], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert result.stdout.strip() == f"goalproxy {VERSION}"
