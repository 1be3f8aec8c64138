"""The grammar of ``/goal`` in a prompt.

A prompt is a goal command when its first non-blank text block is ``/goal``, after optional white space, followed by
white space or the end. What follows is the objective as it stands: no flags, no quoting, no templates.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Word = Literal["set", "pause", "resume", "clear", "status"]

_COMMAND = re.compile(r"\s*/goal(?:\s+|$)", re.ASCII)
_WORDS: dict[str, Word] = {"pause": "pause", "resume": "resume", "clear": "clear", "status": "status", "": "status"}

CLEAR_WORDS: Final = frozenset({"clear", "stop", "off", "reset", "none", "cancel"})
"""The words after ``/goal`` by which agents that know many end a goal."""


class Command(NamedTuple):
    """A ``/goal`` command.

    ``objective`` is empty unless the word is ``set``. ``block`` is the index of the text block that holds the command,
    ``others`` the indexes of the non-blank blocks beside it (images, resources, more text).
    """

    word: Word
    objective: str
    block: int
    others: tuple[int, ...]


def parse(prompt: object) -> Command | None:
    """Read the content blocks of a prompt; None if they are no goal command."""
    if not isinstance(prompt, list):
        return None
    index = next((place for place, block in enumerate(prompt) if _text(block).strip()), None)
    if index is None:
        return None
    match = _COMMAND.match(_text(prompt[index]))
    if match is None:
        return None
    argument = _text(prompt[index])[match.end() :].strip()
    others = tuple(place for place, block in enumerate(prompt) if place != index and not _is_blank(block))
    word = _WORDS.get(argument.lower())
    return Command("set", argument, index, others) if word is None else Command(word, "", index, others)


def with_clear_words(command: Command) -> Command:
    """A command as it is understood by an agent with many words for clear."""
    is_clear = command.word == "set" and command.objective.lower() in CLEAR_WORDS
    return command._replace(word="clear", objective="") if is_clear else command


def can_hold_command(line: bytes) -> bool:
    """Whether a message can have a goal command in it at all: a quick look that spares the decoding of most prompts."""
    return b"goal" in line or b"\\u" in line  # in escapes, any letter can look like anything


def is_control_word(objective: str) -> bool:
    """Whether an objective, typed after ``/goal``, would be read as a word and not as an objective."""
    return objective.strip().lower() in _WORDS


def _text(block: object) -> str:
    if not isinstance(block, dict) or block.get("type") != "text":
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _is_blank(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and not _text(block).strip()
