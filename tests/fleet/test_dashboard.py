"""The dashboard: complete, well laid out, and with data in each of its panels."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations

import pytest

from .files import FLEET, Json, dashboard, panels, rules
from .prometheus import Prometheus, Samples, poll

SECTIONS = [
    "Goals now",
    "Outcomes",
    "Rounds and usage",
    "Rounds of goalproxy's own goals",
    "Checks and tools",
    "Relay",
    "Agents and sidecars",
    "Exporter",
]
VARIABLES = {
    "$__interval_ms": "60000",
    "$__interval": "1m",
    "$__range": "1h",
    "$instance": ".*",
    "$agent": ".*",
}
"""What Grafana puts in the place of each variable, the longer names first."""
QUERIES = [
    pytest.param(target, id=f"{panel['title']} {target['refId']}") for panel in panels() for target in panel["targets"]
]


def test_the_dashboard_is_what_its_program_prints() -> None:
    printed = subprocess.run([sys.executable, FLEET / "dashboard.py"], capture_output=True, check=True).stdout
    assert (FLEET / "dashboard.json").read_bytes() == printed, "run `make docs`"


def test_it_has_its_sections_and_its_choices() -> None:
    assert [panel["title"] for panel in dashboard()["panels"] if panel["type"] == "row"] == SECTIONS
    choices = {choice["name"]: choice for choice in dashboard()["templating"]["list"]}
    assert list(choices) == ["datasource", "instance", "agent"]
    assert (choices["datasource"]["type"], choices["datasource"]["query"]) == ("datasource", "prometheus")
    for name in ("instance", "agent"):
        assert choices[name]["includeAll"]
        assert choices[name]["multi"]
        assert choices[name]["current"]["value"] == "$__all"
        assert choices[name]["allValue"] == ".*"


def test_it_can_be_imported_by_a_grafana_that_has_others() -> None:
    read = dashboard()
    assert read["schemaVersion"] == 38
    assert read["uid"] == "goalproxy-fleet"
    assert "id" not in read
    idents = [panel["id"] for panel in read["panels"]]
    assert len(set(idents)) == len(idents)


def test_no_panel_lies_on_another_or_beside_the_grid() -> None:
    places = {panel["title"]: panel["gridPos"] for panel in dashboard()["panels"]}
    assert len(places) == len(dashboard()["panels"]), "two panels have one title"
    for title, place in places.items():
        assert place["x"] >= 0, title
        assert place["x"] + place["w"] <= 24, title
    for (one, left), (other, right) in combinations(places.items(), 2):
        beside = left["x"] + left["w"] <= right["x"] or right["x"] + right["w"] <= left["x"]
        above = left["y"] + left["h"] <= right["y"] or right["y"] + right["h"] <= left["y"]
        assert beside or above, f"{one} lies on {other}"


def test_no_line_of_panels_is_left_half_empty() -> None:
    lines: dict[int, int] = {}
    for panel in panels():
        lines[panel["gridPos"]["y"]] = lines.get(panel["gridPos"]["y"], 0) + panel["gridPos"]["w"]
    assert set(lines.values()) == {24}


@pytest.mark.parametrize("panel", [pytest.param(panel, id=panel["title"]) for panel in panels()])
def test_a_panel_says_what_it_shows(panel: Json) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    for target in panel["targets"]:
        assert target["legendFormat"]
        assert target["datasource"] == panel["datasource"]
        assert target["instant"] != (panel["type"] == "timeseries")
        assert target["range"] == (panel["type"] == "timeseries")
    if panel["type"] == "timeseries":
        assert panel["options"]["legend"]["showLegend"]


def filled(text: str) -> str:
    """A query with values for its variables."""
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    assert "$" not in text
    return text


@pytest.mark.parametrize("target", QUERIES)
def test_a_query_has_data_and_a_legend(prometheus: Prometheus, target: Json) -> None:
    def numbers(found: Samples) -> bool:
        return any(value == value for value in found.values())  # noqa: PLR0124 - it is not NaN

    expr = filled(target["expr"])
    found = poll(lambda: prometheus.query(expr), numbers, f"data of {expr}")
    for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
        assert all(dict(labels).get(label) for labels in found), f"a series has no {label}"


def test_its_choices_are_filled(prometheus: Prometheus) -> None:
    for choice in dashboard()["templating"]["list"][1:]:
        asked = re.fullmatch(r"label_values\((.+), (\w+)\)", filled(choice["query"]))
        assert asked
        offered = prometheus.ask(f"label/{asked[2]}/values", **{"match[]": asked[1]})
        assert len(offered) >= 2


def test_every_alert_that_a_panel_names_exists() -> None:
    named = {name for panel in panels() for name in re.findall(r"\bGoalproxy\w+", panel["description"])}
    alerts = set(re.findall(r"alert: (\w+)", (FLEET / "alerts.yaml").read_text()))
    assert len(named) > 10
    assert named <= alerts


def test_a_line_that_is_drawn_is_where_the_alert_fires() -> None:
    drawn = {
        name: step["value"]
        for panel in panels()
        for step in panel["fieldConfig"]["defaults"].get("thresholds", {"steps": []})["steps"]
        for name in re.findall(r"\bGoalproxy\w+", panel["description"])
        if step["value"] is not None
    }
    compared = {rule["alert"]: re.search(r"> ([\d.]+)", rule["expr"]) for rule in rules("alerts.yaml")}
    assert len(drawn) >= 7
    assert drawn == {name: float(found[1]) for name, found in compared.items() if found and name in drawn}
