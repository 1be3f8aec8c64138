"""Runs an agent that takes MCP servers over http, and takes back its word that it does: it is given them on stdio then.

    python only_stdio.py COMMAND ...

It ends as the agent ends.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence

SAYS, DOES_NOT = b'"http":true', b'"http":false'


def main(command: Sequence[str]) -> int:
    """Pass everything on; the agent has the standard input itself."""
    agent = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert agent.stdout is not None
    signal.signal(signal.SIGTERM, lambda *_: agent.terminate())
    for line in agent.stdout:
        sys.stdout.buffer.write(line.replace(SAYS, DOES_NOT, 1) if b'"agentCapabilities"' in line else line)
        sys.stdout.buffer.flush()
    code = agent.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
