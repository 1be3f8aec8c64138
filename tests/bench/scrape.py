"""`python tests/bench/scrape.py`: what one scrape of the exporter costs, by the number of sidecars of the host.

Each sidecar is a file as a real one leaves it, with a goal's worth of metrics in it, and alive.
"""

import resource
import statistics
import tempfile
import time
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from goalproxy.metrics.observer import Observer
from goalproxy.proxy.core import facts
from goalproxy.proxy.goal import changes
from goalproxy.proxy.shell.exporter import Exporter, Outputs
from goalproxy.proxy.shell.registry import Registration
from goalproxy.proxy.shell.sources import Sources
from goalproxy.proxy.shell.traffic import Traffic

NUMBERS = (1, 50, 200, 500)
SCRAPES = 15


def sidecar(directory: Path, number: int) -> Registration:
    """A sidecar that lives, with what a goal leaves in its metrics."""
    registration = Registration(directory)
    Traffic(registration.table)
    observe = Observer(registration.table, "1.0.0")
    observe(facts.AgentIdentified(f"agent-{number % 5}", "1.0.0", 1, "none", ""))
    for change in (
        changes.GoalStarted(),
        changes.StatusChanged(None, "active"),
        changes.RoundStarted(),
        changes.TokensUsed(1200),
        changes.GoalStopped("complete", 1, 1, 1200),
        changes.StatusChanged("active", "complete"),
    ):
        observe(facts.GoalChanged("emulated", change, 60_000))
    observe(facts.RoundEnded("end_turn", 30_000))
    return registration


def main() -> None:
    """Print a line for each number of sidecars."""
    print("sidecars  scrape ms  per sidecar us  page KiB  peak MB of this process")
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "registry"
        exporter, registry = Exporter(Sources([directory]), Outputs()), CollectorRegistry()
        for collector in exporter.collectors:
            registry.register(collector)
        living: list[Registration] = []
        for wanted in NUMBERS:
            living += [sidecar(directory, number) for number in range(len(living), wanted)]
            times, page = [], b""
            for _ in range(SCRAPES):
                began = time.perf_counter()
                exporter.collect()
                page = generate_latest(registry)
                times.append(time.perf_counter() - began)
            took = statistics.median(times)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{wanted:8}  {took * 1e3:9.1f}  {took * 1e6 / wanted:14.0f}  {len(page) / 1024:8.0f}  {peak:.0f}")


main()
