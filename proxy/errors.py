"""Errors that end the program with one line for the person who started it.

Failure
├── UsageError          2    the command line, the environment or the configuration file is wrong
└── CannotStart   126, 127   the agent's command cannot be started
"""

from __future__ import annotations


class Failure(Exception):
    """A reason to end, as a sentence, with the exit code."""

    exit_code = 1


class UsageError(Failure):
    """What the user asked for makes no sense."""

    exit_code = 2


class CannotStart(Failure):
    """The agent's command does not exist (127) or cannot be run (126), as a shell would report it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
