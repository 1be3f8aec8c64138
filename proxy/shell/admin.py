"""The admin server of a sidecar, in a thread of its own, so that no request can hold up the relay.

It is loaded with the first request: a sidecar that nobody asks pays for a thread that waits.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Sequence

from goalproxy.metrics.series import Values

from .operator import Operator


def serve(listeners: Sequence[socket.socket], read: Callable[[], Values], operator: Operator, *, content: bool) -> None:
    """Serve on sockets until the process ends. ``read`` gives the values of the metrics.

    ``content`` says that whoever can reach a port may read the text of goals; on a Unix socket it is the user's own.
    """

    def run() -> None:
        asked = select.poll()
        for listener in listeners:
            asked.register(listener, select.POLLIN)
        asked.poll()
        import asyncio  # noqa: PLC0415 - slow to load, and most sidecars are never asked anything

        asyncio.run(_serve(listeners, read, operator, content=content))

    threading.Thread(target=run, name="admin", daemon=True).start()


async def _serve(
    listeners: Sequence[socket.socket], read: Callable[[], Values], operator: Operator, *, content: bool
) -> None:
    import asyncio  # noqa: PLC0415 - as above

    from .admin_pages import application  # noqa: PLC0415 - as above
    from .pages import listen  # noqa: PLC0415 - as above

    for listener in listeners:
        with_text = content or listener.family == socket.AF_UNIX
        await listen(application(read, operator, with_text=with_text), listener)
    await asyncio.Event().wait()
