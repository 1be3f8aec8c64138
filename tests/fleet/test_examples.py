"""The examples for Prometheus, Kubernetes, systemd and containers, as far as they can be checked without these."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from typer.main import get_command

from goalproxy.proxy.options import app

from ..shell.client import Admin, Client
from ..shell.conftest import Start
from ..shell.rig import DEADLINE, scripted
from .files import FLEET, Json, program, read_yaml

ROOT = FLEET.parent.parent
UNITS = ["goalproxy-exporter.service", "goalproxy-exporter-host.service"]
KUBERNETES = list(yaml.safe_load_all((FLEET / "podmonitor.yaml").read_text()))


def run(*words: str, **env: str) -> str:
    """What a program prints, if it succeeds."""
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=DEADLINE, check=False, env={"PATH": "/usr/bin:/bin", **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Prometheus


def test_promtool_takes_the_configuration_with_its_rules() -> None:
    said = run(program("promtool"), "check", "config", str(FLEET / "prometheus.yaml"))
    assert "2 rule files found" in said


def test_the_configuration_has_each_way_to_find_targets() -> None:
    jobs = {job["job_name"]: set(job) - {"job_name"} for job in read_yaml("prometheus.yaml")["scrape_configs"]}
    assert jobs["goalproxy"] == {"static_configs"}, "the alert GoalproxyExporterDown is about this job"
    assert set().union(*jobs.values()) == {"static_configs", "file_sd_configs", "http_sd_configs"}


# Kubernetes


def kind(name: str) -> Json:
    """The object of a kind."""
    [found] = [each for each in KUBERNETES if each["kind"] == name]
    return dict(found)


def test_the_pod_is_found_by_its_monitor_and_its_policy() -> None:
    labels = kind("Pod")["metadata"]["labels"].items()
    assert kind("PodMonitor")["spec"]["selector"]["matchLabels"].items() <= labels
    assert kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels


def test_one_port_is_served_scraped_and_guarded() -> None:
    [container] = kind("Pod")["spec"]["containers"]
    [port] = container["ports"]
    [endpoint] = kind("PodMonitor")["spec"]["podMetricsEndpoints"]
    [ingress] = kind("NetworkPolicy")["spec"]["ingress"]
    admin = {each["name"]: each["value"] for each in container["env"]}["GOALPROXY_ADMIN"]
    assert endpoint["port"] == ingress["ports"][0]["port"] == port["name"]
    assert endpoint["path"] == "/metrics"
    assert admin == f"0.0.0.0:{port['containerPort']}"
    assert f"127.0.0.1:{port['containerPort']}/" in drain()
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        each["name"] for each in kind("Pod")["spec"]["volumes"]
    }


def drain() -> str:
    """The program of the hook."""
    python, option, script = kind("Pod")["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert (python, option) == ("python3", "-c")
    ast.parse(script)
    return str(script)


def test_the_pod_is_given_the_time_that_the_drain_may_take() -> None:
    drained, waited = (int(re.search(rf"{name}=(\d+)", drain())[1]) for name in ("seconds", "timeout"))
    assert drained < waited < kind("Pod")["spec"]["terminationGracePeriodSeconds"]


def test_the_hook_drains_a_sidecar(start: Start) -> None:
    sidecar = start(scripted("goals"), "--admin", "127.0.0.1:0")
    admin, client = Admin(sidecar), Client(sidecar)
    client.open()
    assert admin.get("/readyz")[0] == 200
    run(sys.executable, "-c", drain().replace("127.0.0.1:9464", urlsplit(admin.url).netloc))
    assert admin.get("/readyz")[0] == 503


# systemd


def setting(unit: str, name: str) -> str:
    """The value of a setting that a unit has once."""
    [found] = re.findall(rf"^{name}=(.*)$", (FLEET / unit).read_text(), re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_takes_the_unit(unit: str, tmp_path: Path) -> None:
    copy = tmp_path / unit
    there = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", (FLEET / unit).read_text(), flags=re.MULTILINE)
    copy.write_text(re.sub(r"^User=goalproxy$", "User=daemon", there, flags=re.MULTILINE))
    manager = "--system" if "User=" in there else "--user"
    assert run("systemd-analyze", manager, "verify", str(copy), XDG_RUNTIME_DIR=str(tmp_path)) == ""


@pytest.mark.parametrize("unit", UNITS)
def test_the_program_of_the_unit_is_an_exporter_with_options_that_exist(unit: str) -> None:
    path, command, *words = setting(unit, "ExecStart").split()
    assert (Path(path).name, command, words[:2]) == ("goalproxy", "exporter", ["--listen", "127.0.0.1:9465"])
    exporter = getattr(get_command(app), "commands", {})["exporter"]
    options = {name for parameter in exporter.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_unit_of_the_host_can_read_and_not_write() -> None:
    unit = "goalproxy-exporter-host.service"
    assert setting(unit, "AmbientCapabilities") == setting(unit, "CapabilityBoundingSet") == "CAP_DAC_READ_SEARCH"
    assert setting(unit, "ProtectSystem") == "strict"
    assert setting(unit, "ProtectHome") == "read-only", "another value hides /run/user, where the directories are"
    assert "\nPrivateTmp=" not in (FLEET / unit).read_text(), "it hides /tmp, where the others are"


# Containers


def test_hadolint_finds_nothing_wrong() -> None:
    assert run(str(Path(sys.executable).parent / "hadolint"), str(FLEET / "Containerfile")) == ""


def test_the_image_is_built_from_what_a_wheel_needs() -> None:
    text = (FLEET / "Containerfile").read_text()
    copied = {name for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE) for name in line.split()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rooms = project["tool"]["setuptools"]["package-dir"].values()
    assert copied == {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"], *rooms}


def test_the_image_runs_goalproxy_as_a_user_without_rights() -> None:
    *_, last = (FLEET / "Containerfile").read_text().split("FROM ")
    assert re.search(r"^USER [1-9]\d+$", last, re.MULTILINE)
    assert 'ENTRYPOINT ["goalproxy"]' in last
