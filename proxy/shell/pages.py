"""What the servers of sidecars and of the exporter share. Loaded when it is needed, since aiohttp is slow to load."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def metrics_page(*collectors: Collector) -> Handler:
    """``/metrics``: what the collectors give and the process's own.

    It is text or OpenMetrics, by Accept, and compressed for a client that takes that.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for collector in collectors:
        registry.register(collector)

    async def page(request: web.Request) -> web.StreamResponse:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        response = web.Response(body=encode(registry), headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    return page


def json_page(value: Any, status: int = 200) -> web.Response:
    """A value as JSON."""
    return web.Response(body=msgspec.json.encode(value) + b"\n", status=status, content_type="application/json")


async def listen(served: web.Application, listener: socket.socket) -> None:
    """Serve on a socket from now on, on the running loop."""
    runner = web.AppRunner(served, access_log=None, handle_signals=False)
    await runner.setup()
    await web.SockSite(runner, listener).start()


@web.middleware
async def refuse_browsers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests that a web page in the user's browser makes: they name where they come from."""
    if "Origin" in request.headers:
        raise web.HTTPForbidden(text="requests of web pages are refused\n")
    return await handler(request)
