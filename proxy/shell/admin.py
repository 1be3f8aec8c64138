"""The admin server: ``/metrics``, in a thread of its own, so that no scrape can hold up the relay."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector

from goalproxy.metrics.exposition import SeriesCollector
from goalproxy.metrics.series import Values
from goalproxy.proxy.errors import UsageError

if TYPE_CHECKING:
    from aiohttp import web

_LAST_PORT = 65535


def bind(address: str) -> socket.socket:
    """Take an address, HOST:PORT or [HOST]:PORT; port 0 takes a free one. Raises UsageError if it cannot be had."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(f"the admin address must be HOST:PORT, not {address!r}")
    try:
        family, _, _, _, where = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen()
    except OSError as error:
        raise UsageError(f"cannot listen on {address}: {error.strerror or error}") from error
    return listener


def url(listener: socket.socket) -> str:
    """Where the server can be found."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def registry_of(read: Callable[[], Values]) -> CollectorRegistry:
    """The registry to serve: the values that ``read`` gives, and the process's own."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(SeriesCollector(read))
    return registry


def serve(listener: socket.socket, registry: CollectorRegistry) -> None:
    """Serve until the process ends, on a thread of its own. A scrape before the server is ready waits in the socket."""
    threading.Thread(target=lambda: asyncio.run(_serve(listener, registry)), name="admin", daemon=True).start()


async def _serve(listener: socket.socket, registry: CollectorRegistry) -> None:
    from aiohttp import web  # noqa: PLC0415 - slow to load: on the thread, while the agent starts

    runner = web.AppRunner(application(registry), access_log=None, handle_signals=False)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    await asyncio.Event().wait()


def application(registry: CollectorRegistry) -> web.Application:
    """What is served: ``/metrics``, as text or as OpenMetrics by Accept, compressed if the client takes that."""
    from aiohttp import web  # noqa: PLC0415 - as above
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - beside its only use

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        response = web.Response(body=encode(registry), headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    served = web.Application()
    served.router.add_get("/metrics", metrics)
    return served
