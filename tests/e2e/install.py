"""Installs the real agents with npm, each build into its own folder.

    python -m tests.e2e.install [default|newest|all|KEY ...]      (from the root of the repository)

`default` are the two builds that the test command needs, `all` those of the matrix. A build that is there already is
left alone, and one whose installation was interrupted is installed again. Needs Node.js 20 or newer.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from .agents import AGENTS, BY_KEY, DEFAULT, NEWEST, Agent

GROUPS: Final[dict[str, Sequence[Agent]]] = {"default": DEFAULT, "newest": (NEWEST,), "all": AGENTS}
NPM: Final = ("npm", "install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")


def chosen(words: Iterable[str]) -> list[Agent]:
    """Turn group names and keys into builds, each once, in the order given. Raises KeyError for an unknown word."""
    found = [agent for word in words for agent in (GROUPS[word] if word in GROUPS else (BY_KEY[word],))]
    return list({agent.key: agent for agent in found}.values())


def install(agent: Agent) -> bool:
    """Install one build unless it is there; return whether anything was done.

    The stamp is written last, so that half an installation is never taken for a whole one.
    """
    spec = f"{agent.package}@{agent.version}"
    stamp = agent.folder / "installed"
    if stamp.is_file() and stamp.read_text("utf-8").strip() == spec:
        return False
    shutil.rmtree(agent.folder, ignore_errors=True)
    agent.folder.mkdir(parents=True)
    subprocess.run([*NPM, "--prefix", str(agent.folder), spec], check=True)
    stamp.write_text(spec + "\n", "utf-8")
    return True


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
    for agent in wanted:
        done = install(agent)
        print(f"{agent.key}: {'installed' if done else 'already there'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
