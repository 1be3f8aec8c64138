"""`python tests/bench/report.py FILE`: the tables and verdicts of a run of `bench.py --json FILE`.

A ratio is taken within a round, goalproxy's value in relation to the peer's; what is shown is the median of the rounds.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Sample = dict[str, float | None]
OURS = "goalproxy"


@dataclass(frozen=True, slots=True)
class Column:
    """A measurement as it is shown; `better` says which way is good and is empty where a ratio says nothing."""

    key: str
    heading: str
    digits: int = 0
    better: str = ""
    absent: str = "-"

    def show(self, value: float | None) -> str:
        """Write a value."""
        return self.absent if value is None else f"{value:,.{self.digits}f}"


COLUMNS = (
    Column("start_ms", "start ms", better="less"),
    Column("ping_us", "ping us", better="less"),
    Column("rtt_p50_us", "turn p50 us", better="less"),
    Column("rtt_p99_us", "turn p99 us", better="less"),
    Column("small_per_s", "small msg/s", better="more"),
    Column("big_mb_s", "64 KiB MB/s", better="more"),
    Column("line_ms", "8 MiB ms", digits=1, better="less"),
    Column("later_line_ms", "again ms", digits=1, better="less"),
    Column("peak_mb", "peak MB", digits=1, better="less"),
    Column("growth_mb", "growth MB", digits=1),
    Column("exit_ms", "exit ms", better="less", absent="hung"),
    Column("orphans", "orphans"),
)


class Run:
    """The samples of a run, by peer and round."""

    def __init__(self, samples: dict[str, list[Sample]]) -> None:
        self._samples = samples
        self.peers = list(samples)

    def middle(self, peer: str, key: str) -> float | None:
        """Return the median of a measurement over the rounds, `None` if a round lacks it."""
        values = [sample[key] for sample in self._samples[peer]]
        present = [value for value in values if value is not None]
        return median(present) if len(present) == len(values) else None

    def own(self, key: str) -> list[float]:
        """Return our value of every round that has one."""
        values = (sample[key] for sample in self._samples.get(OURS, []))
        return [value for value in values if value is not None]

    def compare(self, peer: str, key: str, how: Callable[[float, float], float]) -> list[float]:
        """Relate our value to the peer's, round by round, where both have one."""
        rounds = zip(self._samples.get(OURS, []), self._samples.get(peer, []), strict=False)
        pairs = [(ours[key], theirs[key]) for ours, theirs in rounds]
        return [how(ours, theirs) for ours, theirs in pairs if ours is not None and theirs]


def ratio(ours: float, theirs: float) -> float:
    """Return how many times their value ours is."""
    return ours / theirs


def excess(ours: float, theirs: float) -> float:
    """Return by how much our value is above theirs."""
    return ours - theirs


@dataclass(frozen=True, slots=True)
class Target:
    """A promise of the project: a bound for a measurement in relation to a peer's, or ours alone if none is named."""

    text: str
    key: str
    bound: float
    peer: str = ""
    is_upper: bool = True
    how: Callable[[float, float], float] = ratio
    unit: str = "x"

    def values(self, run: Run) -> list[float]:
        """Return what every round showed."""
        if self.peer:
            return run.compare(self.peer, self.key, self.how)
        return run.own(self.key)

    def judge(self, run: Run) -> str:
        """Return the line that holds the median of the rounds against the bound."""
        values = self.values(run)
        if not values:
            return f"unknown  {self.text}: not measured"
        middle = median(values)
        is_met = middle <= self.bound if self.is_upper else middle >= self.bound
        shown = f"{middle:.2f} {self.unit}, rounds {min(values):.2f} to {max(values):.2f}"
        return f"{'met' if is_met else 'MISSED':<8} {self.text}: {shown}"


TARGETS = (
    Target("round trip of a ping at most the asyncio relay's", "ping_us", 1.0, "asyncio-relay"),
    Target("round trip of a turn at most the asyncio relay's", "rtt_p50_us", 1.0, "asyncio-relay"),
    Target("small messages at least 2 x the asyncio relay's", "small_per_s", 2.0, "asyncio-relay", is_upper=False),
    Target("small messages at least 8 x the conductor's", "small_per_s", 8.0, "conductor", is_upper=False),
    Target("64 KiB updates at least the asyncio relay's", "big_mb_s", 1.0, "asyncio-relay", is_upper=False),
    Target("a line of 8 MiB at most 2 x direct's", "line_ms", 2.0, "direct"),
    Target("start at most the asyncio relay's plus 50 ms", "start_ms", 50.0, "asyncio-relay", how=excess, unit="ms"),
    Target("peak memory under 45 MB", "peak_mb", 45.0, unit="MB"),
    Target("memory not growing with traffic (2 MB is noise)", "growth_mb", 2.0, unit="MB"),
    Target("no orphans", "orphans", 0.0, unit="processes"),
)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns, the first to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        print("  ".join([name.ljust(widths[0]), *aligned]))
    print()


def measurement_rows(run: Run) -> list[list[str]]:
    """Lay out the medians of every peer."""
    heading = ["median of the rounds", *(column.heading for column in COLUMNS)]
    return [
        heading,
        *([peer, *(column.show(run.middle(peer, column.key)) for column in COLUMNS)] for peer in run.peers),
    ]


def ratio_rows(run: Run) -> list[list[str]]:
    """Lay out our values in relation to those of every other peer."""
    columns = [column for column in COLUMNS if column.better]
    rows = [
        ["goalproxy / peer", *(column.heading for column in columns)],
        ["good is", *(column.better for column in columns)],
    ]
    for peer in run.peers:
        if peer != OURS:
            compared = (run.compare(peer, column.key, ratio) for column in columns)
            rows.append([peer, *(f"{median(values):.2f}" if values else "-" for values in compared)])
    return rows


def main() -> None:
    """Print everything that the file of the command line holds."""
    results = json.loads(Path(sys.argv[1]).read_text())
    run = Run(results["samples"])
    print(f"\n{results['machine']}\n")
    print_table(measurement_rows(run))
    if OURS in run.peers:
        print_table(ratio_rows(run))
        print("\n".join(target.judge(run) for target in TARGETS))
    for peer, failure in results["failures"].items():
        print(f"failed   {peer}: {failure}")
    for peer, install in results["missing"].items():
        print(f"missing  {peer}: install {install}")


if __name__ == "__main__":
    main()
