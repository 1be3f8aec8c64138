"""The command line: ``goalproxy [OPTIONS] -- AGENT_COMMAND`` and ``goalproxy doctor [OPTIONS] -- AGENT_COMMAND``.

The first ``--`` ends what is goalproxy's; everything after it is the agent's, untouched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .errors import Failure, UsageError
from .settings import load

_LAST_STANDARD_DESCRIPTOR = 2


def main() -> None:
    """Run the program, and end it with the exit code."""
    words = sys.argv[1:]
    _open_closed_descriptors()
    try:
        own, command = _split(words)
        if not own:
            # The form that editors start: the parser is not loaded.
            from .shell.run import run  # noqa: PLC0415 - not needed for what only prints

            run(command, load({}, None))
        else:
            from .options import parse  # noqa: PLC0415 - slow to load

            parse(own, command)
    except Failure as failure:
        if sys.stderr is not None:
            sys.stderr.write(f"goalproxy: {failure}\n")
        sys.exit(failure.exit_code)


def _open_closed_descriptors() -> None:
    """Give a standard descriptor that was closed a place to point to, or the agent's pipes would take its number."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_DESCRIPTOR:
        pass
    os.close(descriptor)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Goalproxy's own words, and the agent's command. Raises UsageError where a command is missing."""
    if "--" in words:
        place = words.index("--")
        own, command = list(words[:place]), list(words[place + 1 :])
        if not own and not command:
            raise UsageError("an agent's command is missing after --")
        return own, command
    return list(words) or ["--help"], []
