"""Installs the real agents, each build into its own folder: with npm, or with uv what is written in Python.

    python -m tests.e2e.install [default|newest|all|KEY ...]      (from the root of the repository)

`default` are the builds that the test command needs, `all` those of the matrix. A build that is there already is
left alone, and one whose installation was interrupted is installed again. Needs Node.js 20 or newer; for agents that
need a newer one than this machine's, Node.js 22 is installed beside them. Agents in Python need 3.12 or newer, which uv
fetches if this machine has none.
"""

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from .agents import AGENTS, BY_KEY, DEFAULT, NEWEST, Agent, Language
from .node import NODE_22, agents_dir, node_22
from .python import MINIMUM, make_environment

GROUPS: Final[dict[str, Sequence[Agent]]] = {"default": DEFAULT, "newest": (NEWEST,), "all": AGENTS}
NPM: Final = ("npm", "install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--engine-strict=false")

PIP_DOWNLOAD: Final = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")


def chosen(words: Iterable[str]) -> list[Agent]:
    """Turn group names and keys into builds, each once, in the order given. Raises KeyError for an unknown word."""
    found = [agent for word in words for agent in (GROUPS[word] if word in GROUPS else (BY_KEY[word],))]
    return list({agent.key: agent for agent in found}.values())


def install(agent: Agent) -> bool:
    """Install one build unless it is there; return whether anything was done."""
    if agent.language is Language.PYTHON:
        return _once(agent.folder, agent.lock.read_text("utf-8").strip(), lambda _: _environment(agent))
    return _once(agent.folder, f"{agent.package}@{agent.version}", lambda spec: _packages(agent, spec))


def install_node() -> bool:
    """Install Node.js 22 unless it is there; return whether anything was done."""
    return _once(agents_dir() / NODE_22, "node@22", _node)


def _once(folder: Path, spec: str, fill: Callable[[str], None]) -> bool:
    """Fill a folder unless that was done already; return whether anything was done.

    The stamp is written last, so that half an installation is never taken for a whole one.
    """
    stamp = folder / "installed"
    if stamp.is_file() and stamp.read_text("utf-8").strip() == spec:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fill(spec)
    stamp.write_text(spec + "\n", "utf-8")
    return True


def _packages(agent: Agent, spec: str) -> None:
    """Install the package of a build, or what the package carries."""
    if agent.vendored is None:
        subprocess.run([*NPM, "--prefix", str(agent.folder), spec], check=True)
        return
    package = agent.folder / "package"
    subprocess.run([*NPM, "--ignore-scripts", "--omit=optional", "--prefix", str(package), spec], check=True)
    with tarfile.open(package / "node_modules" / agent.package / agent.vendored) as archive:
        archive.extractall(agent.folder, filter="data")
    shutil.rmtree(package)


def _environment(agent: Agent) -> None:
    """Make the environment of an agent in Python, and unpack the source that its program is in."""
    make_environment(agent.folder / "venv", agent.lock)
    if agent.vendored is not None:
        spec = f"{agent.package}=={agent.version}"
        only_source = ("--no-deps", "--no-binary", agent.package)
        subprocess.run([*PIP_DOWNLOAD, *only_source, "--dest", str(agent.folder), spec], check=True)
        with tarfile.open(agent.folder / agent.vendored) as archive:
            archive.extractall(agent.folder, filter="data")


def _node(spec: str) -> None:
    """Install the package `node`, whose script fetches the program; npm would want to be asked before it runs that."""
    folder = agents_dir() / NODE_22
    subprocess.run([*NPM, "--ignore-scripts", "--prefix", str(folder), spec], check=True)
    package = folder / "node_modules" / "node"
    subprocess.run(["node", "installArchSpecificPackage"], cwd=package, check=True)


def main(arguments: Sequence[str]) -> int:
    """Install what the arguments name and say what was done; 0 when all of it is there."""
    if shutil.which("npm") is None:
        print("npm was not found: install Node.js 20 or newer", file=sys.stderr)
        return 1
    try:
        wanted = chosen(arguments or ["default"])
    except KeyError as unknown:
        print(f"unknown agent {unknown}; known: {', '.join([*GROUPS, *BY_KEY])}", file=sys.stderr)
        return 2
    if any(agent.needs_node_22 for agent in wanted) and node_22() is None:
        install_node()
        print(f"{NODE_22}: installed")
    for agent in wanted:
        try:
            done = install(agent)
        except subprocess.CalledProcessError as failure:
            needs = f"; it needs Python {MINIMUM} or newer" if agent.language is Language.PYTHON else ""
            print(f"{agent.key}: `{' '.join(map(str, failure.cmd))}` has failed{needs}", file=sys.stderr)
            return 1
        print(f"{agent.key}: {'installed' if done else 'already there'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
