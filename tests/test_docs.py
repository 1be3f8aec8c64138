"""What the docs say exists, exists; what exists is in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from typer.main import get_command

from goalproxy.mappers import MAPPERS
from goalproxy.metrics import page
from goalproxy.metrics.catalogue import CATALOGUE, EXPORTER
from goalproxy.metrics.otlp import otel_name
from goalproxy.proxy.goal.owned import transitions_page
from goalproxy.proxy.options import app
from goalproxy.proxy.settings import Settings

from .sample_names import SAMPLE_NAMES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def options() -> set[str]:
    """Every long option of every command."""
    root = get_command(app)
    commands = [root, *getattr(root, "commands", {}).values()]
    return {
        name
        for command in commands
        for parameter in command.params
        for name in [*parameter.opts, *parameter.secondary_opts]
    }


def test_the_page_of_metrics_is_the_catalogue() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == page.render(), "run `make docs`"


def test_the_page_of_transitions_is_the_table() -> None:
    assert (ROOT / "docs" / "transitions.md").read_text() == transitions_page(), "run `make docs`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_metric_in_the_docs_exists(path: Path) -> None:
    named = set(re.findall(r"\bgoalproxy_[a-z_]+", path.read_text()))
    assert named <= {metric.name for metric in (*CATALOGUE, *EXPORTER)} | SAMPLE_NAMES


def test_every_metric_of_opentelemetry_in_the_docs_exists() -> None:
    named = set(re.findall(r"`(goalproxy\.[a-z_.]+)`", (ROOT / "docs" / "opentelemetry.md").read_text()))
    assert len(named) > 10
    assert named <= {otel_name(metric) for metric in (*CATALOGUE, *EXPORTER)}


def test_every_name_of_the_conventions_in_the_docs_exists() -> None:
    """Those of 1.41.0; the library has none of the names that came when they had releases of their own."""
    rows = [line.split(" | ") for line in (ROOT / "docs" / "opentelemetry.md").read_text().splitlines()]
    named = {name for row in rows if len(row) == 4 for name in re.findall(r"`([a-z]+[._][a-z_.]+)`", row[1])}
    library = [gen_ai_attributes, gen_ai_metrics, error_attributes]
    exist = {value for module in library for value in vars(module).values() if isinstance(value, str)}
    assert len(named) > 10
    assert named <= exist | {each.value for each in gen_ai_attributes.GenAiOperationNameValues}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_option_in_the_docs_exists(path: Path) -> None:
    named = set(re.findall(r"`(?:goalproxy |doctor |exporter )*(--[a-z-]+)", path.read_text()))
    assert named <= options()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_make_target_in_the_docs_exists(path: Path) -> None:
    named = set(re.findall(r"`make ([a-z-]+)", path.read_text())) | set(
        re.findall(r"\$ make ([a-z-]+)", path.read_text())
    )
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_and_file_in_the_docs_exists(path: Path) -> None:
    text = path.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("https://")]
    files = re.findall(r"`((?:proxy|mappers|metrics|tests|docs)/[\w/.]+)`", text)
    for target in [*(path.parent / link for link in links), *(ROOT / file for file in files)]:
        assert target.exists() or target.with_suffix(".py").exists(), f"{path.name} names {target.name}"


def test_every_setting_is_in_the_readme_with_its_option_and_its_variable() -> None:
    for name in Settings._fields:
        option = "--" + name.replace("_", "-")
        assert option in options()
        assert re.search(rf"^\| `{option}\b.*`GOALPROXY_{name.upper()}`.*`{name}`", README, re.MULTILINE), name


def test_every_dialect_is_in_the_page_of_agents() -> None:
    text = (ROOT / "docs" / "agents.md").read_text()
    for mapper in MAPPERS:
        for version in re.findall(r"\d+\.\d+\.\w+", mapper.versions):
            assert version in text, f"docs/agents.md does not name {version} of the dialect {mapper.dialect}"
