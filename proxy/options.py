"""Options and subcommands, parsed by typer. What an option does not say comes from the settings' other sources."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import settings
from .errors import UsageError
from .settings import Settings, load
from .version import VERSION

_HELP = """Put goals into any ACP session: a sidecar between an ACP client and a coding agent.

Everything after -- is the agent's command. Each option can also be set in the environment (GOALPROXY_ON_CANCEL=turn)
or in ~/.config/goalproxy/config.toml (on_cancel = "turn"). Options beat the environment, the environment the file."""

app = typer.Typer(
    add_completion=True, pretty_exceptions_enable=False, no_args_is_help=False, rich_markup_mode=None, help=_HELP
)


_DEFAULT = Settings()
_ALONE = frozenset({"doctor", "exporter", "goals", "--help", "--version", "--install-completion", "--show-completion"})
"""Words that make sense without an agent's command, or say themselves that it is missing."""
_AgentKind = Annotated[
    settings.AgentKind | None,
    typer.Option(help=f"The agent's family, if its command line hides it. [default: {_DEFAULT.agent_kind}]"),
]
_Goals = Annotated[
    settings.Goals | None,
    typer.Option(help=f"Who keeps goals; auto: the agent if it can, else goalproxy. [default: {_DEFAULT.goals}]"),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_Registries = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIRECTORY", readable=False, help="Look there; can be given many times. [default: your own]"),
]
_Otlp = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Push metrics to this OpenTelemetry collector, over OTLP/HTTP. [default: off]"),
]
_Config = Annotated[str | None, typer.Option(metavar="FILE", help="Read settings from this TOML file.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"goalproxy {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True, subcommand_metavar="[doctor|exporter|goals] -- AGENT_COMMAND...")
def sidecar(
    context: typer.Context,
    admin: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|unix:PATH",
            help="Serve /metrics, /goals and more there; port 0 takes a free one. [default: off]",
        ),
    ] = None,
    drain_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"Time that a round may go on after SIGTERM. [default: {_DEFAULT.drain_timeout:g}]",
        ),
    ] = None,
    on_cancel: Annotated[
        settings.OnCancel | None,
        typer.Option(help=f"What session/cancel does to the goal, too. [default: {_DEFAULT.on_cancel}]"),
    ] = None,
    goals: _Goals = None,
    on_prompt: Annotated[
        settings.OnPrompt | None,
        typer.Option(help=f"What a prompt does to a round that goalproxy runs. [default: {_DEFAULT.on_prompt}]"),
    ] = None,
    turns: Annotated[
        settings.Turns | None,
        typer.Option(
            help=f"Answer the prompt that sets a goal at once, or when the goal stops. [default: {_DEFAULT.turns}]"
        ),
    ] = None,
    max_rounds: Annotated[
        int | None, typer.Option(metavar="N", help=f"Rounds that a goal may take. [default: {_DEFAULT.max_rounds}]")
    ] = None,
    token_budget: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens that a goal may use. [default: no limit]")
    ] = None,
    time_budget: Annotated[
        int | None, typer.Option(metavar="SECONDS", help="Time that a goal may be active. [default: no limit]")
    ] = None,
    min_interval: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"Least time from the start of a round to that of the next. [default: {_DEFAULT.min_interval:g}]",
        ),
    ] = None,
    blocked_after: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Rounds in a row before the model may report that it is blocked. [default: {_DEFAULT.blocked_after}]",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="A goal is complete only if this succeeds, such as 'make test'."),
    ] = None,
    check_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help=f"Time that the check may take. [default: {_DEFAULT.check_timeout:g}]"),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep goalproxy's own goals there. [default: $XDG_STATE_HOME/goalproxy/goals.sqlite]",
        ),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            metavar="DIRECTORY|off",
            help="Leave metrics there for goalproxy exporter. [default: $XDG_RUNTIME_DIR/goalproxy]",
        ),
    ] = None,
    otlp: _Otlp = None,
    agent_kind: _AgentKind = None,
    config: _Config = None,
    log_level: Annotated[
        settings.LogLevel | None,
        typer.Option(help=f"Log to stderr from this level on. [default: {_DEFAULT.log_level}]"),
    ] = None,
    log_format: Annotated[
        settings.LogFormat | None, typer.Option(help=f"How log lines look. [default: {_DEFAULT.log_format}]")
    ] = None,
    log_content: Annotated[
        bool | None, typer.Option("--log-content/--no-log-content", help="Let logs contain the text of messages.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Run the sidecar."""
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    from .shell.run import run  # noqa: PLC0415 - not needed for what only prints

    given = {
        "admin": admin,
        "drain_timeout": drain_timeout,
        "on_cancel": on_cancel,
        "goals": goals,
        "on_prompt": on_prompt,
        "turns": turns,
        "max_rounds": max_rounds,
        "token_budget": token_budget,
        "time_budget": time_budget,
        "min_interval": min_interval,
        "blocked_after": blocked_after,
        "check": check,
        "check_timeout": check_timeout,
        "store": store,
        "registry": registry,
        "otlp": otlp,
        "agent_kind": agent_kind,
        "log_level": log_level,
        "log_format": log_format,
        "log_content": log_content,
    }
    run(context.obj, load(_given(given), config))


@app.command()
def doctor(
    context: typer.Context,
    as_json: _AsJson = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the agent's answer.")] = 30.0,
    goals: _Goals = None,
    agent_kind: _AgentKind = None,
    config: _Config = None,
) -> None:
    """Start an agent, and say what its goals will look like.

    Exit code: 0 if goals work, 1 if they do not or not fully, 2 for wrong usage, 3 if the agent gave no answer, 126 or
    127 if it cannot be started.
    """
    if not context.obj:
        raise UsageError("an agent's command is missing; write: goalproxy doctor [OPTIONS] -- AGENT_COMMAND")
    from .shell.doctor import examine, print_json, print_table  # noqa: PLC0415 - only for this command

    diagnosis = examine(context.obj, load(_given({"goals": goals, "agent_kind": agent_kind}), config), timeout)
    (print_json if as_json else print_table)(diagnosis)
    raise typer.Exit(diagnosis.exit_code)


@app.command(name="goals")
def show_goals(
    context: typer.Context,
    as_json: _AsJson = False,
    registry: _Registries = None,
) -> None:
    """Show the goals of every sidecar of yours that runs, and what each waits for.

    Exit code: 0 if every sidecar answered, 1 if one did not.
    """
    if context.obj:
        raise UsageError("this asks sidecars that run; leave out what stands after --")
    from .shell.goals import ask, print_json, print_text  # noqa: PLC0415 - only for this command
    from .shell.sources import sources  # noqa: PLC0415 - the same

    answers = ask(sources(registry or []))
    (print_json if as_json else print_text)(answers)
    raise typer.Exit(0 if all(answer.goals is not None for answer in answers) else 1)


@app.command()
def exporter(
    context: typer.Context,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Serve /metrics and more there; port 0 takes a free one.")
    ] = "127.0.0.1:9465",
    registry: _Registries = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="Look at the sidecars of every user, too.")] = False,
    textfile: Annotated[
        Path | None, typer.Option(metavar="FILE.prom", help="Write the metrics there, for node_exporter.")
    ] = None,
    file_sd: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Write there which sidecars serve metrics, for Prometheus's file_sd."),
    ] = None,
    otlp: _Otlp = None,
    interval: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How often files are written.")] = 15.0,
    once: Annotated[bool, typer.Option("--once", help="Write the files, and end.")] = False,
) -> None:
    """Tell the metrics of all sidecars of this host, also of those that have ended, at one address."""
    if context.obj:
        raise UsageError("an exporter starts no agent; leave out what stands after --")
    if once and textfile is None and file_sd is None:
        raise UsageError("--once writes files; say which by --textfile or --file-sd")
    if once and otlp is not None:
        raise UsageError("--once writes files and pushes nothing; leave out --otlp")
    from .shell.exporter import Outputs, export  # noqa: PLC0415 - only for this command
    from .shell.sources import sources  # noqa: PLC0415 - the same

    outputs = Outputs(textfile, file_sd, otlp)
    export(sources(registry or [], all_users=all_users), outputs, None if once else listen, interval)


def _refuse_options(context: typer.Context) -> None:
    """Options of the sidecar's that stand before a subcommand would do nothing."""
    named = [name for name, value in context.params.items() if value not in (None, False)]
    if named:
        option = "--" + named[0].replace("_", "-")
        raise UsageError(f"{option} has to stand after {context.invoked_subcommand}, if it is one of its options")


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in values.items() if value is not None}


def parse(words: Sequence[str], command: Sequence[str]) -> None:
    """Parse goalproxy's own words, do what they say, and end the process. Raises Failure."""
    if not command and not _ALONE.intersection(words):
        raise UsageError("the agent's command goes after --; write: goalproxy [OPTIONS] -- AGENT_COMMAND")
    try:
        status = app(args=list(words), obj=list(command), prog_name="goalproxy", standalone_mode=False)
    except typer.TyperException as error:
        raise UsageError(error.format_message().replace("Value error, ", "")) from error
    sys.exit(status)
