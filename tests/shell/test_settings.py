"""Settings come from options, the environment and a TOML file; the first of them that says something counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goalproxy.proxy.errors import UsageError
from goalproxy.proxy.settings import Settings, load

from .conftest import Run, Start

_LINE = b'{"jsonrpc":"2.0","method":"a"}\n'
_VALUES: dict[str, tuple[object, object, object]] = {
    "agent_kind": ("auto", "codex", "other"),
    "on_cancel": ("pause", "turn", "pause"),
    "admin": ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"),
    "goals": ("native", "emulated", "off"),
    "on_prompt": ("interrupt", "queue", "interrupt"),
    "turns": ("held", "detached", "held"),
    "max_rounds": (1, 2, 3),
    "token_budget": (1, 2, 3),
    "time_budget": (1, 2, 3),
    "min_interval": (0.0, 1.5, 3.0),
    "blocked_after": (1, 2, 3),
    "check": ("true", "false", "make test"),
    "check_timeout": (0.5, 1.5, 3.0),
    "drain_timeout": (0.0, 1.5, 3.0),
    "store": ("/a", "/b", "/c"),
    "registry": ("/a", "/b", "off"),
    "otlp": ("http://a", "http://b", "http://c"),
    "log_level": ("debug", "info", "error"),
    "log_format": ("text", "json", "text"),
    "log_content": (True, False, True),
}


@pytest.mark.parametrize("setting", Settings._fields)
def test_an_option_beats_the_environment_which_beats_the_file(tmp_path: Path, setting: str) -> None:
    in_file, in_environment, as_option = _VALUES[setting]
    file = tmp_path / "settings.toml"
    file.write_text(f"{setting} = {json.dumps(in_file)}\n")
    variables = {f"GOALPROXY_{setting.upper()}": str(in_environment)}
    got = [
        load(options, str(file), environment)
        for options, environment in (({}, {}), ({}, variables), ({setting: as_option}, variables))
    ]
    assert tuple(getattr(settings, setting) for settings in got) == _VALUES[setting]


def test_what_nobody_says_has_its_default() -> None:
    assert load({}, None, {}) == Settings(on_cancel="pause", admin=None, goals="auto", max_rounds=256, store=None)


def test_what_one_source_says_leaves_the_rest_to_the_others(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("on_cancel = 'turn'\n")
    settings = load({"log_level": "info"}, str(tmp_path / "settings.toml"), {"GOALPROXY_LOG_FORMAT": "json"})
    assert settings == Settings(on_cancel="turn", log_level="info", log_format="json")


@pytest.mark.parametrize(("word", "meant"), [("1", True), ("true", True), ("0", False), ("false", False)])
def test_a_switch_in_the_environment_is_written_in_the_usual_ways(word: str, *, meant: bool) -> None:
    assert load({}, None, {"GOALPROXY_LOG_CONTENT": word}).log_content is meant


def test_the_users_file_is_in_the_folder_for_configuration(tmp_path: Path) -> None:
    (tmp_path / ".config" / "goalproxy").mkdir(parents=True)
    (tmp_path / ".config" / "goalproxy" / "config.toml").write_text("on_cancel = 'turn'\n")
    (tmp_path / "xdg" / "goalproxy").mkdir(parents=True)
    (tmp_path / "xdg" / "goalproxy" / "config.toml").write_text("log_level = 'info'\n")
    (tmp_path / "named.toml").write_text("log_format = 'json'\n")
    home = {"HOME": str(tmp_path)}
    xdg = {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    named = {**xdg, "GOALPROXY_CONFIG": str(tmp_path / "named.toml")}
    assert load({}, None, home) == Settings(on_cancel="turn")
    assert load({}, None, xdg) == Settings(log_level="info")
    assert load({}, None, named) == Settings(log_format="json")
    assert load({}, str(tmp_path / "xdg/goalproxy/config.toml"), named) == Settings(log_level="info")


def test_without_a_home_no_file_of_the_folder_at_hand_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".config" / "goalproxy").mkdir(parents=True)
    (tmp_path / ".config" / "goalproxy" / "config.toml").write_text("on_cancel = 'turn'\n")
    monkeypatch.chdir(tmp_path)
    assert load({}, None, {}) == Settings()


_FILES = {
    "a wrong word": ("log_level = 'loud'\n", "log_level", "loud"),
    "a wrong type": ("log_content = [1]\n", "log_content", "[1]"),
    "a key that is none": ("log_levle = 'debug'\n", "log_levle", "debug"),
    "no TOML": ("log_level debug\n", "settings.toml", ""),
}


@pytest.mark.parametrize("kind", _FILES)
def test_a_wrong_file_is_refused_with_a_sentence_that_names_what_is_wrong(tmp_path: Path, kind: str) -> None:
    text, where, what = _FILES[kind]
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        load({}, str(tmp_path / "settings.toml"), {})
    assert where in str(refused.value)
    assert what in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["0", "-1"])
@pytest.mark.parametrize("name", ["max_rounds", "token_budget", "time_budget", "blocked_after", "check_timeout"])
def test_numbers_have_to_be_positive(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"the setting {name} is wrong: it must be greater than 0"):
        load({}, None, {f"GOALPROXY_{name.upper()}": value})


@pytest.mark.parametrize("value", ["-0.1", "nan"])
def test_an_interval_may_be_nothing_but_not_less(value: str) -> None:
    with pytest.raises(UsageError, match="the setting min_interval is wrong: it must not be less than 0"):
        load({}, None, {"GOALPROXY_MIN_INTERVAL": value})


# The program itself


@pytest.mark.parametrize(
    ("in_file", "in_environment", "option", "logs"),
    [
        ("debug", None, None, True),
        ("debug", "error", None, False),
        ("error", "debug", None, True),
        ("error", "error", "debug", True),
    ],
)
def test_the_program_follows_the_strongest_source(
    start: Start,
    env: dict[str, str],
    tmp_path: Path,
    in_file: str,
    in_environment: str | None,
    option: str | None,
    *,
    logs: bool,
) -> None:
    (tmp_path / ".config" / "goalproxy").mkdir(parents=True)
    (tmp_path / ".config" / "goalproxy" / "config.toml").write_text(f"log_level = '{in_file}'\n")
    if in_environment:
        env["GOALPROXY_LOG_LEVEL"] = in_environment
    sidecar = start(["cat"], *(["--log-level", option] if option else []))
    sidecar.input.write(_LINE)
    assert sidecar.output.line() == _LINE
    sidecar.input.close()
    assert bool(sidecar.errors.rest()) == logs


def _assert_refused(run: Run, tmp_path: Path, words: list[str], *mentioned: str) -> None:
    """One line on stderr, exit code 2, and no agent."""
    ended = run([*words, "--", "touch", str(tmp_path / "started")])
    assert ended.returncode == 2
    assert ended.stdout == b""
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("goalproxy: ")
    for text in mentioned:
        assert text in lines[0]
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        (["--on-cancel", "stop"], ("--on-cancel", "stop", "pause", "turn")),
        (["--log-level", "loud"], ("--log-level", "loud", "debug", "error")),
        (["--admin", "9464"], ("HOST:PORT", "9464")),
        (["--admin", "127.0.0.1:99999"], ("HOST:PORT", "99999")),
        (["--admin", "no.such.host.invalid:0"], ("no.such.host.invalid",)),
        (["--no-such-option"], ("--no-such-option",)),
        (["--log-level"], ("--log-level",)),
        (["no-such-command"], ("no-such-command",)),
        (["--config", "no-such-file.toml"], ("no-such-file.toml",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_refused_with_one_clear_line(
    run: Run, tmp_path: Path, words: list[str], mentioned: tuple[str, ...]
) -> None:
    _assert_refused(run, tmp_path, words, *mentioned)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ON_CANCEL", "stop"),
        ("LOG_CONTENT", "perhaps"),
        ("CONFIG", "no-such-file.toml"),
    ],
)
def test_wrong_variables_are_refused_with_one_clear_line(
    run: Run, env: dict[str, str], tmp_path: Path, name: str, value: str
) -> None:
    env[f"GOALPROXY_{name}"] = value
    _assert_refused(run, tmp_path, [], value)


def test_a_wrong_file_is_refused_with_one_clear_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("log_level = 'loud'\n")
    _assert_refused(run, tmp_path, ["--config", "settings.toml"], "log_level", "loud")
