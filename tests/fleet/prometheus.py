"""A real Prometheus with the rules and alerts of the docs, in seconds instead of minutes."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from ..shell.rig import DEADLINE
from .files import FLEET, program

T = TypeVar("T")
Samples = dict[frozenset[tuple[str, str]], float]
_FASTER = {
    "rules.yaml": [(r"interval: 1m", "interval: 1s", 2)],
    "alerts.yaml": [(r"for: \d+m", "for: 1s", 14)],
}
"""What is made shorter in each file, and how often it is there."""


def poll(ask: Callable[[], T], enough: Callable[[T], bool], what: str) -> T:
    """Ask until the answer is enough; else fail with the last one."""
    end = time.monotonic() + DEADLINE
    while not enough(answer := ask()):
        if time.monotonic() > end:
            pytest.fail(f"{what} did not come: {answer}")
        time.sleep(0.1)
    return answer


class Prometheus:
    """It scrapes an exporter twice a second, and the sidecars that this one tells of."""

    def __init__(self, folder: Path, exporter: str) -> None:
        for name, changes in _FASTER.items():
            text = (FLEET / name).read_text()
            for pattern, text_instead, number in changes:
                text, found = re.subn(pattern, text_instead, text)
                assert found == number, f"{name} has {found} times {pattern}"
            (folder / name).write_text(text)
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"},
            "rule_files": list(_FASTER),
            "scrape_configs": [
                {"job_name": "goalproxy", "static_configs": [{"targets": [exporter]}]},
                {
                    "job_name": "sidecars",
                    "http_sd_configs": [{"url": f"http://{exporter}/targets", "refresh_interval": "1s"}],
                },
            ],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        log = folder / "prometheus.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    program("prometheus"),
                    f"--config.file={folder / 'prometheus.yaml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    "--web.listen-address=127.0.0.1:0",
                ],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        try:
            said = poll(log.read_text, lambda text: "Server is ready" in text, "Prometheus")
        except BaseException:
            self.close()
            raise
        found = re.search(r'msg="Listening on".* address=(\S+)', said)
        assert found, said
        self.url = f"http://{found[1]}"

    def ask(self, path: str, **parameters: str) -> Any:
        """The data that the API answers with."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=DEADLINE) as response:
            return json.load(response)["data"]

    def query(self, expr: str) -> Samples:
        """The samples of a query now, by their labels."""
        result = self.ask("query", query=expr)["result"]
        return {frozenset(sample["metric"].items()): float(sample["value"][1]) for sample in result}

    def by(self, label: str, expr: str) -> dict[str, float]:
        """The samples of a query now, by one label."""
        return {dict(labels).get(label, ""): value for labels, value in self.query(expr).items()}

    def until_known(self) -> None:
        """Wait until the rules have looked at the exporter: what it tells from here on is growth."""
        known = 'goalproxy:value{job="goalproxy", metric="goalproxy_sidecars_started_total"}'
        poll(lambda: self.query(known), bool, "the exporter")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(DEADLINE)
