"""``goalproxy exporter``: the metrics of all sidecars of a host, at one address and in files.

It only reads what sidecars leave in their directories, and keeps nothing of its own: whoever starts next goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, write_to_textfile

from goalproxy.metrics.catalogue import CATALOGUE, EXPORTER
from goalproxy.metrics.discovery import targets
from goalproxy.metrics.exposition import SeriesCollector
from goalproxy.metrics.host import Host, Look
from goalproxy.metrics.series import Values
from goalproxy.proxy.errors import Failure

from .ledger import look
from .listeners import bind, release, url
from .log import complain
from .otlp import Pusher, endpoint
from .pages import json_page, listen, metrics_page, refuse_browsers
from .registry import Unusable
from .sources import Sources

_PATIENCE = 1.0
"""Seconds that one look may wait for those who fold, in all directories together."""


class Outputs(NamedTuple):
    """Files that are kept up to date, and a collector that is pushed to, if they are wanted."""

    textfile: Path | None = None
    file_sd: Path | None = None
    otlp: str | None = None


class NotAll(Failure):
    """A directory could not be read, so totals would be wrong."""


class NotWritten(Failure):
    """A file could not be written."""


class Exporter:
    """Looks at the directories, one look at a time, and tells what it found."""

    def __init__(self, sources: Sources, outputs: Outputs) -> None:
        self._sources = sources
        self._outputs = outputs
        self._host = Host()
        self._values: Values = {}
        self._own_values: Values = {}
        self._complaints: dict[str, str] = {}
        self.collectors = (SeriesCollector(lambda: self._values), SeriesCollector(lambda: self._own_values, EXPORTER))
        self._for_file = CollectorRegistry()
        for collector in self.collectors:
            self._for_file.register(collector)

    @property
    def has_files(self) -> bool:
        """Whether there are files to be written."""
        return bool(self._outputs.textfile or self._outputs.file_sd)

    @property
    def host(self) -> Host:
        """What was found."""
        return self._host

    @property
    def values(self) -> Values:
        """The metrics of all sidecars, and of the exporter itself."""
        return {**self._values, **self._own_values}

    def push(self, read: Callable[[], Values | None]) -> Pusher | None:
        """Push what ``read`` gives from now on, if that is wanted. One that is started again is the same instance."""
        if self._outputs.otlp is None:
            return None
        named = [str(path.resolve()) for path in self._sources.named]
        who = f"{socket.gethostname()} {os.geteuid()} {self._sources.all_users} {named}"
        instance = str(uuid.uuid5(uuid.NAMESPACE_OID, who))
        return Pusher(self._outputs.otlp, read, (*CATALOGUE, *EXPORTER), instance=instance)

    def collect(self) -> None:
        """Look at everything. Raises NotAll if a directory that is needed was never read."""
        began = time.monotonic()
        directories = self._sources.directories()
        found = {path: self._look(path, began + _PATIENCE) for path in directories if _exists(path)}
        self._host.take(found)
        for path, needed in directories.items():
            # Without what it has, a total would be less than it was, which must never be seen.
            if needed and path in found and not self._host.knows(path):
                raise NotAll(self._complaints[path])
        self._values = self._host.values()
        self._own_values = self._host.own_values(time.time(), time.monotonic() - began)

    def write(self) -> None:
        """Look, and write the files. Raises NotAll, NotWritten."""
        self.collect()
        try:
            self._write()
        except OSError as error:
            raise NotWritten(f"cannot write {error.filename}: {error.strerror}") from error

    def _write(self) -> None:
        if self._outputs.textfile is not None:
            write_to_textfile(str(self._outputs.textfile), self._for_file)
        if self._outputs.file_sd is not None:
            found = msgspec.json.format(msgspec.json.encode(targets(self._host.sidecars))) + b"\n"
            _replace(self._outputs.file_sd, found)

    def write_and_complain(self) -> None:
        """Look, and write the files; what goes wrong is said once."""
        try:
            self.write()
        except Failure as error:
            self._complain("files", f"no files are written: {error}")
        else:
            self._complain("files", "")

    def _look(self, path: str, deadline: float) -> Look | None:
        try:
            found = look(Path(path), deadline)
        except (OSError, Unusable) as error:
            self._complain(path, f"cannot read {path}: {getattr(error, 'strerror', None) or error}")
            return None
        self._complain(path, found.trouble)
        return found

    def _complain(self, subject: str, text: str) -> None:
        """Say what is wrong with something, if it is new; an empty text says that nothing is."""
        if text and self._complaints.get(subject) != text:
            complain(text)
        self._complaints[subject] = text


async def _serve(exporter: Exporter, listener: socket.socket, interval: float) -> None:
    """Serve, and write the files every so many seconds, until we are asked to end."""
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    turn = asyncio.Lock()
    await listen(_application(exporter, turn), listener)
    complain(f"metrics on {url(listener)}/metrics")
    pusher = exporter.push(_reader(exporter, turn, asyncio.get_running_loop()))
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(_keep_writing(exporter, turn, interval))
        await asked.wait()
        writing.cancel()
    if pusher is not None:
        await asyncio.to_thread(pusher.end)


def _reader(exporter: Exporter, turn: asyncio.Lock, loop: asyncio.AbstractEventLoop) -> Callable[[], Values | None]:
    """What another thread calls for the values after a new look; None if totals would be wrong."""

    async def look() -> Values | None:
        async with turn:
            try:
                await asyncio.to_thread(exporter.collect)
            except NotAll:
                return None
        return exporter.values

    return lambda: asyncio.run_coroutine_threadsafe(look(), loop).result()


async def _keep_writing(exporter: Exporter, turn: asyncio.Lock, interval: float) -> None:
    while exporter.has_files:
        async with turn:
            await asyncio.to_thread(exporter.write_and_complain)
        await asyncio.sleep(interval)


def _application(exporter: Exporter, turn: asyncio.Lock) -> web.Application:
    pages = _Pages(exporter, turn)
    served = web.Application(middlewares=[refuse_browsers])
    served.add_routes(
        [
            web.get("/metrics", pages.metrics),
            web.get("/livez", pages.livez),
            web.get("/readyz", pages.readyz),
            web.get("/sidecars", pages.sidecars),
            web.get("/targets", pages.targets),
        ]
    )
    return served


class _Pages:
    """One method for each page. All but one begin with a new look, on another thread."""

    def __init__(self, exporter: Exporter, turn: asyncio.Lock) -> None:
        self._exporter = exporter
        self._turn = turn
        self._page = metrics_page(*exporter.collectors)

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        await self._look()
        return await self._page(request)

    async def livez(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        await self._look()
        return web.Response(text="ok\n")

    async def sidecars(self, _: web.Request) -> web.Response:
        await self._look()
        return json_page([each._asdict() for each in self._exporter.host.sidecars])

    async def targets(self, _: web.Request) -> web.Response:
        await self._look()
        return json_page(targets(self._exporter.host.sidecars))

    async def _look(self) -> None:
        async with self._turn:
            try:
                await asyncio.to_thread(self._exporter.collect)
            except NotAll as error:
                raise web.HTTPServiceUnavailable(text=f"{error}\n") from error


def export(sources: Sources, outputs: Outputs, address: str | None, interval: float) -> None:
    """Run the exporter until it is asked to end; without an address, write the files once. Raises Failure."""
    exporter = Exporter(sources, outputs)
    if address is None:
        exporter.write()
        return
    if outputs.otlp is not None:
        endpoint(outputs.otlp)
    listener = bind(address)
    asyncio.run(_serve(exporter, listener, interval))
    release(listener)


def _exists(path: str) -> bool:
    """Whether a directory is there. One that cannot be seen now may be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _replace(path: Path, data: bytes) -> None:
    """Write a file, all of it or nothing, unless it is there with that in it."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == data:
            return
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
