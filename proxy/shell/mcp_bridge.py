"""The goal tools for an agent that only starts MCP servers as processes: a helper that forwards lines to the proxy.

    python -m goalproxy.proxy.shell.mcp_bridge

``GOALPROXY_MCP_URL`` and ``GOALPROXY_MCP_TOKEN`` say where to and on whose behalf. Each line of input is posted as it
is, and the answer is written as one line; what is answered with nothing (a notification) gets no line. Agents may
start the helper anew for every call, so it keeps no state and imports little: nothing of goalproxy, little of the
standard library. It also runs as a file, without ``site``: ``python -I -S mcp_bridge.py``. It ends with its input;
when the proxy is gone, requests are answered with an error until then.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

URL = "GOALPROXY_MCP_URL"
TOKEN = "GOALPROXY_MCP_TOKEN"  # noqa: S105 - the name of a variable
_GONE = "the goal proxy has ended"
_ERROR = -32000
_ANSWERS = (200, 400)
"""The statuses that come with a message for the agent."""
_ACCEPTED = 202


class Bridge:
    """A connection to the proxy's server, kept open between messages."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._path = parts.path
        self._connection = HTTPConnection(parts.hostname or "", parts.port)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def answer(self, line: bytes) -> bytes | None:
        """Forward a message; the line that answers it, or None if nothing does."""
        status, body = self._post(line) or (None, b"")
        if status == _ACCEPTED:
            return None
        if status in _ANSWERS:
            return body
        return _failed(line, _GONE if status is None else f"the goal proxy refused the message: HTTP {status}")

    def _post(self, line: bytes) -> tuple[int, bytes] | None:
        """Status and body, or None if the server is gone.

        A connection that was kept may have been closed meanwhile, so one failure is tried again. A message that was
        carried out and not answered can so arrive twice: the second is refused, since the first changed the revision.
        """
        for _ in range(2):
            try:
                self._connection.request("POST", self._path, line, self._headers)
                response = self._connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException):
                self._connection.close()
        return None


def _failed(line: bytes, sentence: str) -> bytes | None:
    """An error for each request of a line; None if there is none."""
    import json  # noqa: PLC0415 - only when something is wrong

    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = message if isinstance(message, list) else [message]
    errors = [
        {"jsonrpc": "2.0", "id": request["id"], "error": {"code": _ERROR, "message": sentence}}
        for request in found
        if isinstance(request, dict) and "id" in request and "method" in request
    ]
    if not errors:
        return None
    return json.dumps(errors if isinstance(message, list) else errors[0], separators=(",", ":")).encode("ascii")


def _write(line: bytes) -> None:
    # Not through sys.stdout: a reader that has gone would be met again when the interpreter flushes it at the end.
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(1, rest) :]


def main() -> None:
    """Forward lines until the end of input."""
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not url or not token:
        sys.exit(f"goalproxy: {URL} and {TOKEN} must be set; an agent starts this, not a person")
    bridge = Bridge(url, token)
    try:
        for line in sys.stdin.buffer:
            answer = bridge.answer(line) if line.strip() else None
            if answer is not None:
                _write(answer + b"\n")
    except (BrokenPipeError, KeyboardInterrupt):
        return  # the agent has gone, or is being ended with everything that it started


if __name__ == "__main__":
    main()
