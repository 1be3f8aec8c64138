"""`python python_sdk.py CMD...`: two connections of the Python SDK (agent-client-protocol), joined.

Every message is decoded, dispatched and encoded by the SDK.
"""

import asyncio
import sys
from importlib import import_module
from typing import Any

# Imported by name: the SDK is installed for the benchmark only, and type checks must not depend on it.
Connection: Any = import_module("acp.connection").Connection
stdio_streams: Any = import_module("acp.stdio").stdio_streams

LINE_LIMIT = 64 << 20


class Pair:
    """A connection to the client and one to the agent; what one receives the other sends."""

    def __init__(
        self, agent: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._agent = Connection(self._from_agent, agent.stdin, agent.stdout, listening=True)
        self._client = Connection(self._from_client, writer, reader, listening=False)

    async def _from_client(self, *message: Any) -> object:
        return await forward(self._agent, *message)

    async def _from_agent(self, *message: Any) -> object:
        return await forward(self._client, *message)

    async def run(self) -> None:
        """Relay until the client's side ends."""
        await self._client.main_loop()


async def forward(target: Any, method: str, params: object, is_notification: object) -> object:
    """Send a received message on; return the result of a request."""
    if is_notification:
        return await target.send_notification(method, params)
    return await target.send_request(method, params)


async def main(command: list[str]) -> int:
    """Run the agent behind the pair; return its exit code."""
    agent = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LINE_LIMIT
    )
    reader, writer = await stdio_streams(limit=LINE_LIMIT)
    await Pair(agent, reader, writer).run()
    assert agent.stdin is not None
    agent.stdin.close()
    return await agent.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
