"""What can be set, and from where: an option beats the environment, which beats the configuration file.

The plain form, ``goalproxy -- <agent cmd>`` with nothing set anywhere, imports nothing to find that out: that is what
an editor waits for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from .errors import UsageError

PREFIX = "GOALPROXY_"

AgentKind = Literal["auto", "codex", "other"]
OnCancel = Literal["pause", "turn"]
Goals = Literal["auto", "native", "emulated", "off"]
OnPrompt = Literal["interrupt", "queue"]
Turns = Literal["detached", "held"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


class Settings(NamedTuple):
    """Every setting with its default. The names are those of the options, the variables and the keys of the file."""

    agent_kind: AgentKind = "auto"
    """The family of the agent, where its command line hides it and it has to be known before it has said so."""
    on_cancel: OnCancel = "pause"
    """Whether ``session/cancel`` pauses the goal, too, or stops the turn only."""
    admin: str | None = None
    """Where the admin server is, as HOST:PORT or unix:PATH, beside its socket in the registry; None for nowhere."""
    drain_timeout: float = 5.0
    """Seconds that a round may go on when the sidecar is asked to end."""
    goals: Goals = "auto"
    """Who may keep goals: the agent if it can and else the proxy, the agent alone, the proxy alone, or nobody."""
    on_prompt: OnPrompt = "interrupt"
    """What a prompt of the client's does to a round of the proxy's that runs."""
    turns: Turns = "detached"
    """Whether the prompt that sets a goal is answered at once, or stays open until the goal stops."""
    max_rounds: int = 256
    token_budget: int | None = None
    time_budget: int | None = None
    """Seconds that a goal may be active."""
    min_interval: float = 1.0
    """Seconds from the start of one round to the start of the next, at least."""
    blocked_after: int = 3
    check: str | None = None
    """A command that has to succeed before a goal counts as complete."""
    check_timeout: float = 600.0
    store: str | None = None
    """Where the proxy's own goals are kept; None for the usual place."""
    registry: str | None = None
    """The directory where sidecars leave their numbers for the exporter, or ``off``; None for the usual place."""
    otlp: str | None = None
    """The URL of an OpenTelemetry collector to which the sidecar pushes its metrics; None for none."""
    log_level: LogLevel = "warning"
    log_format: LogFormat = "text"
    log_content: bool = False
    """Whether logs may contain the text of messages: prompts, objectives, answers."""


_POSITIVE: Final = ("max_rounds", "token_budget", "time_budget", "blocked_after", "check_timeout")
_NOT_NEGATIVE: Final = ("min_interval", "drain_timeout")


def load(options: Mapping[str, Any], config: str | None, environment: Mapping[str, str] = os.environ) -> Settings:
    """Merge the sources. ``options`` holds those that were given; ``config`` is the file that ``--config`` names.

    Raises UsageError.
    """
    variables = {
        name: environment[PREFIX + name.upper()] for name in Settings._fields if PREFIX + name.upper() in environment
    }
    file = _file(config or environment.get(PREFIX + "CONFIG"), environment)
    if not options and not variables and file is None:
        return Settings()
    return _validate({**({} if file is None else _read(file)), **variables, **options})


def _file(named: str | None, environment: Mapping[str, str]) -> Path | None:
    """The configuration file: the named one, which must exist, or the user's, if there is one."""
    if named:
        return Path(named)
    base, home = environment.get("XDG_CONFIG_HOME"), environment.get("HOME")
    if not base and not home:
        return None
    file = (Path(base) if base else Path(home or "") / ".config") / "goalproxy" / "config.toml"
    return file if file.exists() else None


def _read(file: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only where there is a file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the configuration file {file}: {error}") from error


def _validate(values: dict[str, Any]) -> Settings:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only where something is set

    try:
        settings = TypeAdapter(Settings).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _wrong(where, first["msg"].removeprefix("Value error, "), first["input"]) from error
    for name in _POSITIVE:
        number = getattr(settings, name)
        if number is not None and not number > 0:
            raise _wrong(name, "it must be greater than 0", number)
    for name in _NOT_NEGATIVE:
        if not getattr(settings, name) >= 0:
            raise _wrong(name, "it must not be less than 0", getattr(settings, name))
    return settings


def _wrong(name: str, message: str, value: object) -> UsageError:
    return UsageError(f"the setting {name} is wrong: {message} (got {value!r})")
