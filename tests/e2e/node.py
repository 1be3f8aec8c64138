"""Where the agents are installed, and the Node.js that runs those of them which need a new one."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
NODE_22: Final = "node-22"


def agents_dir() -> Path:
    """Return the folder of all builds: $GOALPROXY_AGENTS_DIR, else `.agents` in the repository."""
    return Path(os.environ.get("GOALPROXY_AGENTS_DIR") or ROOT / ".agents")


def node_22() -> Path | None:
    """Return a Node.js of version 22 or newer: this machine's, else the one installed beside the agents."""
    if system := _system_node():
        return system
    installed = agents_dir() / NODE_22 / "node_modules" / "node" / "bin" / "node"
    return installed if installed.exists() else None


@cache
def _system_node() -> Path | None:
    """Return this machine's Node.js if it is new enough."""
    found = shutil.which("node")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    major = said.strip().removeprefix("v").partition(".")[0]
    return Path(found) if major.isdigit() and int(major) >= 22 else None
