"""A running ``goalproxy exporter``."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .client import Admin, Samples
from .rig import DEADLINE, PROGRAM, Reader


class Exporter(Admin):
    """Started on a free port, and ready when the constructor is done."""

    def __init__(self, *options: str, env: Mapping[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            [*PROGRAM, "exporter", "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(env), cwd=folder, bufsize=0,
        )  # fmt: skip
        assert self._process.stderr is not None
        self.errors = Reader(os.dup(self._process.stderr.fileno()), "stderr of the exporter")
        self._process.stderr.close()
        super().__init__(self)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit code."""
        self._process.send_signal(number)
        return self._process.wait(DEADLINE)

    def memory(self) -> int:
        """The most memory that it ever had, in bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def close(self) -> None:
        """End it in any case."""
        self._process.kill()
        self._process.wait()
        self.errors.close()


def counters(samples: Samples) -> Samples:
    """The samples that must never fall."""
    ends = ("_total", "_count", "_sum", "_bucket")
    return {key: value for key, value in samples.items() if key[0].startswith("goalproxy_") and key[0].endswith(ends)}


def fallen(before: Samples, after: Samples) -> Samples:
    """The counters that are smaller than they were, or gone."""
    return {key: value for key, value in counters(before).items() if after.get(key, -1.0) < value}
