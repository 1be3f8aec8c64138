"""`python tests/bench/drive.py [--quick] --stub PATH -- CMD...`: measures one ACP stdio endpoint, prints JSON.

The endpoint has the stub agent behind it. It is started a few times only to see it start and end. The last start then
carries the load: round trips, bursts of small and of 64 KiB updates, single lines of 8 MiB.
The client reads what the pipe holds, puts lines that come in pieces together and counts them: it is to be cheaper than
the cheapest peer. Memory and orphans need Linux's /proc.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

PIPE_SIZE = 64 << 10
RESPONSE_SIZE = 4 << 10  # no response of the stub agent is longer
EXIT_PATIENCE = 3.0
ORPHAN_GRACE = 0.2
MEGABYTE = 1_000_000
HAS_PROC = Path("/proc/self/status").exists()


class EndpointError(Exception):
    """The endpoint lost something, answered with an error, or ended early."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much is sent.

    A pass has round trips, small bursts and big ones. Round trips come in blocks with pauses between: at a pause the
    system decides where the processes run, and that matters more than anything else. Bursts go on for some time.
    """

    starts: int = 3
    passes: int = 4
    blocks: int = 10
    pause: float = 0.01
    round_trips: int = 25
    burst_seconds: float = 0.4
    small_count: int = 10_000
    small_size: int = 100
    big_count: int = 100
    big_size: int = 64 << 10
    line_count: int = 5
    line_size: int = 8 << 20


QUICK = Load(starts=1, passes=2, burst_seconds=0.15, line_count=3)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run of one endpoint showed. `None`: not to be had here (or, for `exit_ms`, it hung)."""

    start_ms: float
    ping_us: float
    rtt_p50_us: float
    rtt_p99_us: float
    small_per_s: float
    big_mb_s: float
    line_ms: float
    later_line_ms: float
    peak_mb: float | None
    growth_mb: float | None
    exit_ms: float | None
    orphans: int | None
    traffic_mb: float


class Endpoint:
    """One running endpoint, spoken to as an ACP client does, one request at a time."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin = self.process.stdin
        self._stdout = self.process.stdout.fileno()
        self._last_id = 0
        self._session = ""
        self._parts: list[bytes] = []
        self.received = 0

    def initialize(self) -> None:
        """Make the first request, as a client that has no capabilities."""
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}}
        self._request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    def open_session(self) -> None:
        """Open the session that `prompt` uses."""
        self._session = self._request("session/new", {"cwd": str(Path.cwd()), "mcpServers": []})["sessionId"]

    def ping(self) -> None:
        """Make a request that the agent answers at once and that means nothing to anybody between."""
        self._request("_bench/ping", {"sessionId": self._session})

    def prompt(self, count: int, size: int) -> None:
        """Run a turn with `count` updates of `size` bytes of text; raise `EndpointError` if any is missing."""
        order = {"type": "text", "text": f"BENCH {count} {size}"}
        before = self.received
        self._request("session/prompt", {"sessionId": self._session, "prompt": [order]}, updates=count)
        if self.received - before < count * size:
            raise EndpointError(f"a turn of {count} updates of {size} bytes brought {self.received - before} bytes")

    def end_input(self) -> float | None:
        """Close the endpoint's stdin; return the seconds until it exited, `None` if it hung and was killed."""
        begin = time.perf_counter()
        self._stdin.close()
        try:
            self.process.wait(EXIT_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        return time.perf_counter() - begin

    def _request(self, method: str, params: dict[str, Any], updates: int = 0) -> Any:
        """Send a request, read until its response and at least so many updates came; return the result."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        response: dict[str, Any] | None = None
        lines = 0
        while response is None or lines <= updates:
            chunk = os.read(self._stdout, PIPE_SIZE)
            if not chunk:
                raise EndpointError(f"the output ended during {method}, exit code {self.process.wait()}")
            lines += chunk.count(b"\n")
            self.received += len(chunk)
            response = self._find_response(chunk) or response
        if "result" not in response:
            raise EndpointError(f"{method} was answered with {response.get('error')}")
        return response["result"]

    def _send(self, message: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        while rest:
            rest = rest[self._stdin.write(rest) :]

    def _find_response(self, chunk: bytes) -> dict[str, Any] | None:
        """Look for the response to the last request in the lines that this chunk completes."""
        self._parts.append(chunk)
        if b"\n" not in chunk:
            return None
        window = b"".join(self._parts)
        end = window.rfind(b"\n") + 1
        self._parts = [window[end:]]
        begin = window.find(b'"id"', max(0, len(window) - PIPE_SIZE - RESPONSE_SIZE), end)
        if begin < 0:  # an update has no id
            return None
        lines = window[window.rfind(b"\n", 0, begin) + 1 : end].split(b"\n")
        messages = (json.loads(line) for line in lines if b'"id"' in line)
        return next((message for message in messages if message.get("id") == self._last_id), None)


class Tree:
    """The processes of an endpoint but for the stub agent, read from /proc."""

    def __init__(self, root: int, stub: Path) -> None:
        self._root = root
        self._stub = str(stub.resolve())

    def memory_mb(self, field: str) -> float | None:
        """Sum a field of /proc/PID/status (VmRSS, VmHWM), in units of 2**20 bytes; `None` without /proc."""
        if not HAS_PROC:
            return None
        members = (pid for pid in self.pids() if executable(pid) != self._stub)
        return sum(status_kib(pid, field) for pid in members) / 1024

    def pids(self) -> list[int]:
        """List the root and all its descendants."""
        return list(descendants(self._root))


def descendants(pid: int) -> Iterator[int]:
    """Yield a process and everything below it."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from descendants(int(child))


def executable(pid: int) -> str:
    """Return the path of the program that a process runs, empty if it's gone."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def status_kib(pid: int, field: str) -> int:
    """Read a field of /proc/PID/status that is given in kB, 0 if the process is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0


def is_running(pid: int) -> bool:
    """Tell whether a process exists and is not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def clock(action: Callable[[], object]) -> float:
    """Return how many seconds the action took."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class Life:
    """The start and the end of one process: seconds to its first answer, seconds from end of input to exit, orphans."""

    start: float
    exit: float | None
    orphans: int | None


def live(command: list[str], stub: Path, use: Callable[[Endpoint, Tree], None]) -> Life:
    """Start the endpoint, wait for its first answer, use it, end its input and see whether all of it goes."""
    begin = time.perf_counter()
    endpoint = Endpoint(command)
    endpoint.initialize()
    start = time.perf_counter() - begin
    tree = Tree(endpoint.process.pid, stub)
    use(endpoint, tree)
    pids = tree.pids()
    exited = endpoint.end_input()
    time.sleep(ORPHAN_GRACE)
    return Life(start, exited, end_leftovers(pids) if HAS_PROC else None)


def end_leftovers(pids: list[int]) -> int:
    """Kill those of the processes that still run; return how many that were."""
    left = [pid for pid in pids if is_running(pid)]
    for pid in left:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return len(left)


class Work:
    """Carries the load through an endpoint and keeps what it shows."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.pings: list[float] = []
        self.trips: list[float] = []
        self.small_rates: list[float] = []
        self.big_rates: list[float] = []
        self.lines: list[float] = []
        self.memory: list[float | None] = []
        self.peak: float | None = None
        self.received = 0

    def carry(self, endpoint: Endpoint, tree: Tree) -> None:
        """Do all of it once."""
        load = self._load
        endpoint.open_session()
        for _ in range(load.passes):
            self._make_trips(endpoint)
            self._burst(endpoint)
            self.memory.append(tree.memory_mb("VmRSS"))
        self.lines = [clock(lambda: endpoint.prompt(1, load.line_size)) for _ in range(load.line_count)]
        self.peak = tree.memory_mb("VmHWM")
        self.received = endpoint.received

    def _make_trips(self, endpoint: Endpoint) -> None:
        for _ in range(self._load.blocks):
            time.sleep(self._load.pause)
            endpoint.ping()
            self.pings += [clock(endpoint.ping) for _ in range(self._load.round_trips)]
            endpoint.prompt(0, 0)
            self.trips += [clock(lambda: endpoint.prompt(0, 0)) for _ in range(self._load.round_trips)]

    def _burst(self, endpoint: Endpoint) -> None:
        load = self._load
        small = burst_rates(endpoint, load.small_count, load.small_size, load.burst_seconds)
        big = burst_rates(endpoint, load.big_count, load.big_size, load.burst_seconds)
        self.small_rates += small
        self.big_rates += [rate * load.big_size / MEGABYTE for rate in big]

    def growth(self) -> float | None:
        """Return by how much the memory grew between the first pass of bursts and the last."""
        first, last = self.memory[0], self.memory[-1]
        return None if first is None or last is None else last - first


def burst_rates(endpoint: Endpoint, count: int, size: int, seconds: float) -> list[float]:
    """Run turns of `count` updates for some seconds, at least two; return the updates a second of each."""
    rates: list[float] = []
    deadline = time.perf_counter() + seconds
    while len(rates) < 2 or time.perf_counter() < deadline:
        rates.append(count / clock(lambda: endpoint.prompt(count, size)))
    return rates


def measure(command: list[str], stub: Path, load: Load) -> Measurement:
    """Start and end the endpoint a few times, the last time with the load; return what it showed."""
    work = Work(load)
    lives = [live(command, stub, lambda _endpoint, _tree: None) for _ in range(load.starts - 1)]
    lives.append(live(command, stub, work.carry))
    exits = [life.exit for life in lives if life.exit is not None]
    return Measurement(
        start_ms=median(life.start for life in lives) * 1e3,
        ping_us=median(work.pings) * 1e6,
        rtt_p50_us=median(work.trips) * 1e6,
        rtt_p99_us=percentile(work.trips, 99) * 1e6,
        small_per_s=median(work.small_rates),
        big_mb_s=median(work.big_rates),
        line_ms=work.lines[0] * 1e3,
        later_line_ms=median(work.lines[1:]) * 1e3,
        peak_mb=work.peak,
        growth_mb=work.growth(),
        exit_ms=median(exits) * 1e3 if len(exits) == len(lives) else None,
        orphans=sum(life.orphans or 0 for life in lives) if HAS_PROC else None,
        traffic_mb=work.received / MEGABYTE,
    )


def percentile(values: list[float], percent: int) -> float:
    """Return the value that so many per cent of the values lie below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]


def main() -> int:
    """Measure the endpoint of the command line."""
    parser = argparse.ArgumentParser(description="Drive one ACP stdio endpoint, print one line of JSON.")
    parser.add_argument("--quick", action="store_true", help="a smaller load")
    parser.add_argument("--stub", type=Path, required=True, help="the stub agent, whose memory isn't counted")
    parser.add_argument("command", nargs="+", metavar="CMD", help="after --: the endpoint")
    options = parser.parse_args()
    try:
        measurement = measure(options.command, options.stub, QUICK if options.quick else Load())
    except (EndpointError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(asdict(measurement)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
