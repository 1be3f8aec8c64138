"""What the admin server of a sidecar serves. Loaded with the first request: aiohttp is slow to load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import web

from goalproxy.metrics.exposition import SeriesCollector
from goalproxy.metrics.series import Values

from .operator import Operator
from .pages import json_page, metrics_page, refuse_browsers

_MOST_SECONDS: Final = 3600.0
"""The longest time that a drain may be asked to take."""


def application(read: Callable[[], Values], operator: Operator, *, with_text: bool) -> web.Application:
    """All pages. ``with_text`` says whether goals are shown with their objective and their last reason."""
    pages = _Pages(operator, with_text=with_text)
    served = web.Application(middlewares=[refuse_browsers])
    served.add_routes(
        [
            web.get("/metrics", metrics_page(SeriesCollector(read))),
            web.get("/livez", pages.livez),
            web.get("/readyz", pages.readyz),
            web.get("/goals", pages.goals),
            web.get("/log-level", pages.level),
            web.post("/log-level", pages.set_level),
            web.post("/drain", pages.drain),
        ]
    )
    return served


class _Pages:
    """One method for each page. What may have to wait for the relay or the disk does so on another thread."""

    def __init__(self, operator: Operator, *, with_text: bool) -> None:
        self._operator = operator
        self._with_text = with_text
        self._prober = ThreadPoolExecutor(1, "livez")
        """A thread that nobody else takes: those of the loop may all be waiting for a relay that is held up."""
        self._probe: asyncio.Future[bool] | None = None

    async def livez(self, _: web.Request) -> web.Response:
        await self._need_relay()
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        await self._need_relay()
        readiness = await asyncio.to_thread(self._operator.readiness)
        return json_page(readiness, status=200 if readiness.ready else 503)

    async def goals(self, _: web.Request) -> web.Response:
        await self._need_relay()
        found = await asyncio.to_thread(self._operator.goals)
        return json_page(found if self._with_text else [view.without_text() for view in found])

    async def _need_relay(self) -> None:
        """Refuse to wait for a relay that is held up. Those who ask at the same time share one answer."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.get_running_loop().run_in_executor(self._prober, self._operator.lives)
        if not await asyncio.shield(self._probe):
            raise web.HTTPServiceUnavailable(text="the relay does not answer\n")

    async def level(self, _: web.Request) -> web.Response:
        return web.Response(text=self._operator.level + "\n")

    async def set_level(self, request: web.Request) -> web.Response:
        try:
            self._operator.set_level((await request.text()).strip())
        except ValueError as error:
            return web.Response(text=f"{error}\n", status=400)
        return await self.level(request)

    async def drain(self, request: web.Request) -> web.Response:
        try:
            seconds = float(request.query["seconds"]) if "seconds" in request.query else None
        except ValueError:
            seconds = -1.0
        if seconds is not None and not 0 <= seconds <= _MOST_SECONDS:
            return web.Response(text=f"seconds must be a number from 0 to {_MOST_SECONDS:g}\n", status=400)
        drained = await asyncio.to_thread(self._operator.drain, seconds)
        return json_page({"drained": drained}, status=200 if drained else 503)
