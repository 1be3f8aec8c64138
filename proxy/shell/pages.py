"""What the servers of sidecars and of the exporter share. Loaded when it is needed, since aiohttp is slow to load."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

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
    """Refuse requests that a web page in the user's browser makes.

    They name where they come from; or they reach this host's loopback under a name of the page's own, which its owner
    has resolved to there, so that the browser takes us for the page's own server.
    """
    if "Origin" in request.headers or (_came_by_loopback(request) and not _is_ours(request.headers.get("Host"))):
        raise web.HTTPForbidden(text="requests of web pages are refused; ask for localhost, or for an address\n")
    return await handler(request)


def _came_by_loopback(request: web.Request) -> bool:
    name = request.transport.get_extra_info("sockname") if request.transport is not None else None
    if not isinstance(name, tuple):  # A Unix socket, which no browser opens.
        return False
    address = ip_address(name[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _is_ours(host: str | None) -> bool:
    """Whether nobody else can have a host's name resolved: it is an address, or always this host, or there is none."""
    try:
        name = urlsplit(f"//{host or 'localhost'}").hostname or ""
        return name.rstrip(".") == "localhost" or bool(ip_address(name))
    except ValueError:
        return False
