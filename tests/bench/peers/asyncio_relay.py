"""`python asyncio_relay.py [--parse] CMD...`: a bare asyncio relay, reads a line on one side, writes it on the other.

Without `--parse` no line is looked at: the least that an asyncio proxy of lines costs. With it every line is decoded
and encoded again: what a proxy that works on decoded messages costs.
"""

import asyncio
import json
import sys
from collections.abc import Callable

LINE_LIMIT = 64 << 20  # asyncio's own 64 KiB would break on longer lines
WRITE_AHEAD = 1 << 20


def as_it_is(line: bytes) -> bytes:
    """Return the line untouched."""
    return line


def parsed(line: bytes) -> bytes:
    """Decode the line and encode it again."""
    return json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, treat: Callable[[bytes], bytes]) -> None:
    """Relay lines until the source ends, waiting for a target that is far behind."""
    while line := await source.readline():
        target.write(treat(line))
        if target.transport.get_write_buffer_size() > WRITE_AHEAD:
            await target.drain()


async def own_streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open this process's stdin and stdout as asyncio streams."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sys.stdout
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def relay(command: list[str], treat: Callable[[bytes], bytes]) -> int:
    """Run the agent and relay both directions; return its exit code."""
    agent = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LINE_LIMIT
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    reader, writer = await own_streams()

    async def to_agent(stdin: asyncio.StreamWriter) -> None:
        await pump(reader, stdin, treat)
        stdin.close()

    await asyncio.gather(to_agent(agent.stdin), pump(agent.stdout, writer, treat))
    return await agent.wait()


def main() -> int:
    """Run the relay that the command line asks for."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--parse"]:
        return asyncio.run(relay(arguments[1:], parsed))
    return asyncio.run(relay(arguments, as_it_is))


if __name__ == "__main__":
    sys.exit(main())
