"""goalproxy while Prometheus scrapes it far more often than anybody does: ten times a second."""

import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

GOALPROXY = Path(sys.executable).parent / "goalproxy"
INTERVAL = 0.1


def scrape(address: str) -> None:
    """Scrape until the end."""
    while True:
        with urllib.request.urlopen(address) as page:
            page.read()
        time.sleep(INTERVAL)


def main() -> None:
    """Run goalproxy on our own streams, and end as it ends."""
    command = [GOALPROXY, "--admin", "127.0.0.1:0", "--", *sys.argv[1:]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    address = process.stderr.readline().split()[-1].decode()
    threading.Thread(target=scrape, args=(address,), daemon=True).start()
    sys.exit(process.wait())


main()
