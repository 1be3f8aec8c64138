"""The rules and the alerts: well formed, tested one by one, explained, and about metrics that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..sample_names import SAMPLE_NAMES
from ..shell.rig import DEADLINE
from .files import FLEET, Json, panels, program, read_yaml, rules

ALERTS = {rule["alert"]: rule for rule in rules("alerts.yaml")}
RECORDS = {rule["record"] for rule in rules("rules.yaml")}
CASES: list[Json] = read_yaml("alerts_test.yaml")["tests"]
EXPRESSIONS = {
    **{f"record {rule['record']}": rule["expr"] for rule in rules("rules.yaml")},
    **{f"alert {name}": rule["expr"] for name, rule in ALERTS.items()},
    **{f"panel {panel['title']}": " ".join(target["expr"] for target in panel["targets"]) for panel in panels()},
    **{f"test {case['name']}": " ".join(series["series"] for series in case["input_series"]) for case in CASES},
}


def promtool(*words: str) -> str:
    """What promtool says, if it finds nothing wrong."""
    done = subprocess.run(
        [program("promtool"), *words], cwd=FLEET, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def cases(alert: str) -> list[Any]:
    """What each case of the tests expects of an alert."""
    return [
        check["exp_alerts"]
        for case in CASES
        for check in case.get("alert_rule_test", [])
        if check["alertname"] == alert
    ]


@pytest.mark.parametrize("name", ["rules.yaml", "alerts.yaml"])
def test_promtool_finds_nothing_wrong(name: str) -> None:
    assert "SUCCESS" in promtool("check", "rules", "--lint=all", "--lint-fatal", name)


def test_rules_and_alerts_do_what_their_tests_say() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yaml")


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_case_where_it_fires_and_one_where_it_is_quiet(alert: str) -> None:
    fires = [expected for expected in cases(alert) if expected]
    assert fires, "no case where it fires"
    assert [] in cases(alert), "no case where it is quiet"
    for expected in fires:
        assert all({"exp_labels", "exp_annotations"} <= set(one) for one in expected)


def test_every_case_is_of_an_alert_that_exists() -> None:
    tested = {check["alertname"] for case in CASES for check in case.get("alert_rule_test", [])}
    assert tested == set(ALERTS)


@pytest.mark.parametrize("record", sorted(RECORDS))
def test_a_recorded_series_has_a_case(record: str) -> None:
    tested = " ".join(check["expr"] for case in CASES for check in case.get("promql_expr_test", []))
    assert record in tested or record == "goalproxy:value", "growth alone is worked out from values, and is tested"


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_what_is_wrong_and_what_to_do(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description"}
    assert "\n" not in rule["annotations"]["summary"]
    assert rule["annotations"]["description"].count(".") >= 2, "it says only what is wrong"


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_explained_with_its_threshold(alert: str) -> None:
    page = (FLEET.parent / "fleet.md").read_text()
    row = re.search(rf"^\| `{alert}` \| (\w+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert row, "docs/fleet.md has no row for it"
    assert row[1] == ALERTS[alert]["labels"]["severity"]
    for number in re.findall(r"[<>]=? (\d+(?:\.\d+)?)$", ALERTS[alert]["expr"].strip()):
        said = {number, f"{float(number):.0%}", f"{float(number) / 60:g} minutes"}
        assert number == "0" or any(one in row[2] for one in said), f"the row does not say {number}"
    if "for" in ALERTS[alert]:
        assert f"for {ALERTS[alert]['for'].removesuffix('m')} min" in row[2]


@pytest.mark.parametrize("text", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_every_metric_and_every_record_that_is_used_exists(text: str) -> None:
    assert set(re.findall(r"\bgoalproxy_[a-z_]+\w", text)) <= SAMPLE_NAMES
    assert set(re.findall(r"\bgoalproxy:[a-z0-9_:]+", text)) <= RECORDS


def test_every_metric_of_the_catalogue_that_can_be_drawn_is_in_the_dashboard() -> None:
    drawn = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    missing = {name for name in SAMPLE_NAMES if name.endswith(("_total", "_bucket")) and name not in drawn}
    assert missing == set()


def test_the_files_name_each_other_as_they_are() -> None:
    assert [Path(name).name for name in read_yaml("alerts_test.yaml")["rule_files"]] == ["rules.yaml", "alerts.yaml"]
    groups = [group["name"] for name in ("rules.yaml", "alerts.yaml") for group in read_yaml(name)["groups"]]
    assert read_yaml("alerts_test.yaml")["group_eval_order"] == groups
