"""`python tests/bench/bench.py [--quick] [--rounds N] [--only NAME,...] [--json FILE]`: goalproxy beside its peers.

Every peer is put between the client (`drive.py`) and the stub agent (`stub_agent.c`), one round after the other over
all peers, so that the machine's noise spreads over them. `report.py` makes tables and verdicts of the result.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
MODULES = HERE / "node_modules"
GOALPROXY = Path(sys.executable).parent / "goalproxy"
PATIENCE = 180.0

Sample = dict[str, float | None]
"""What `drive.py` prints for one run."""


class MissingCompilerError(Exception):
    """The stub agent can't be built."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Something to put in front of the agent: its command and the programs, files, module it can't do without."""

    name: str
    command: Sequence[str | Path]
    programs: Sequence[str] = ()
    files: Sequence[Path] = ()
    module: str = ""
    install: str = ""

    def is_installed(self) -> bool:
        """Tell whether all that the peer needs is there."""
        return (
            all(shutil.which(program) for program in self.programs)
            and all(file.exists() for file in self.files)
            and (not self.module or find_spec(self.module) is not None)
        )

    def with_agent(self, stub: Path) -> list[str]:
        """Return the command that runs the peer in front of the agent."""
        return [str(part).replace("{agent}", str(stub)) for part in self.command]


def python_peer(name: str, script: str, *options: str, module: str = "", install: str = "") -> Peer:
    """Describe a peer that is one of the Python scripts of `peers/`."""
    return Peer(name, (sys.executable, PEERS / script, *options, "{agent}"), module=module, install=install)


def node_peer(name: str, script: str, package: str) -> Peer:
    """Describe a peer that is one of the Node.js scripts of `peers/`."""
    install = f"Node.js 20 or newer, then run: npm install --prefix {os.path.relpath(HERE)}"
    return Peer(name, ("node", PEERS / script, "{agent}"), ("node",), (MODULES / package,), install=install)


ALL_PEERS = (
    Peer("direct", ("{agent}",)),
    Peer("goalproxy", (GOALPROXY, "--", "{agent}"), files=(GOALPROXY,), install="the project: pip install -e ."),
    python_peer("scraped", "scraped.py"),
    python_peer("asyncio-relay", "asyncio_relay.py"),
    python_peer("asyncio-parse", "asyncio_relay.py", "--parse"),
    Peer("socat", ("socat", "-", "EXEC:{agent}"), programs=("socat",), install="the system's package socat"),
    node_peer("conductor", "conductor.mjs", "@thinkwell/conductor"),
    node_peer("ts-stream", "ts_stream.mjs", "@agentclientprotocol/sdk"),
    python_peer("python-sdk", "python_sdk.py", module="acp", install="pip install agent-client-protocol==0.12.1"),
)


@dataclass(slots=True)
class Results:
    """All that a run brought, as it is written to the file of `--json`."""

    machine: str
    samples: dict[str, list[Sample]] = field(default_factory=dict[str, list[Sample]])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    missing: dict[str, str] = field(default_factory=dict[str, str])


def describe_machine() -> str:
    """Say on what the run was made, and how busy it was before."""
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, {platform.system()}, Python {platform.python_version()}"


def build_stub(folder: Path) -> Path:
    """Compile the stub agent into a folder."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise MissingCompilerError(f"the stub agent is in C and there is no {compiler!r}: install a C compiler")
    stub = folder / "stub_agent"
    subprocess.run([compiler, "-O2", "-o", stub, HERE / "stub_agent.c"], check=True)
    return stub


def run_once(peer: Peer, stub: Path, *, quick: bool) -> Sample | str:
    """Measure a peer once, in a process of its own; return the sample, or what went wrong."""
    driver = [sys.executable, str(HERE / "drive.py"), "--stub", str(stub), *(["--quick"] if quick else [])]
    process = subprocess.Popen(
        [*driver, "--", *peer.with_agent(stub)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"not done after {PATIENCE:.0f} s"
    if process.returncode:
        return errors.strip() or f"the driver ended with {process.returncode}"
    sample: Sample = json.loads(output)
    return sample


def run_rounds(peers: Sequence[Peer], stub: Path, rounds: int, *, quick: bool) -> Results:
    """Measure every peer once a round; one that failed is left out from then on."""
    results = Results(describe_machine())
    for number in range(1, rounds + 1):
        for peer in peers:
            if peer.name in results.failures:
                continue
            progress(f"round {number} of {rounds}: {peer.name}")
            outcome = run_once(peer, stub, quick=quick)
            if isinstance(outcome, str):
                results.failures[peer.name] = outcome
            else:
                results.samples.setdefault(peer.name, []).append(outcome)
    progress("")
    return results


def progress(text: str) -> None:
    """Say on a terminal what is going on, in place of what was said before."""
    if sys.stderr.isatty():
        print(f"\r{text:<40}\r", end="", file=sys.stderr, flush=True)


def known_names(text: str) -> list[str]:
    """Read the value of `--only`."""
    names = text.split(",")
    unknown = sorted(set(names) - {peer.name for peer in ALL_PEERS})
    if unknown:
        known = ", ".join(peer.name for peer in ALL_PEERS)
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)} (known: {known})")
    return names


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run goalproxy beside its peers; print a table, ratios and verdicts.")
    parser.add_argument("--quick", action="store_true", help="a small load and 3 rounds: about a minute")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each peer is measured (5)")
    parser.add_argument("--only", type=known_names, metavar="NAME,...", help="these peers only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every sample here")
    return parser.parse_args()


def main() -> int:
    """Run the benchmark; exit 1 if something broke, never because of a number."""
    options = parse_options()
    chosen = [peer for peer in ALL_PEERS if not options.only or peer.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # What sidecars of a benchmark count is nobody's total.
        try:
            stub = build_stub(Path(folder))
        except (MissingCompilerError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
        present = [peer for peer in chosen if peer.is_installed()]
        rounds = options.rounds or (3 if options.quick else 5)
        results = run_rounds(present, stub, rounds, quick=options.quick)
        results.missing = {peer.name: peer.install for peer in chosen if peer not in present}
        file: Path = options.json or Path(folder) / "results.json"
        file.write_text(json.dumps(asdict(results), indent=1))
        subprocess.run([sys.executable, HERE / "report.py", file], check=True)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
