"""Addresses that are listened on: HOST:PORT, or the path of a Unix socket that belongs to the user alone."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from goalproxy.proxy.errors import UsageError

_LAST_PORT = 65535
_UNIX = "unix:"


def bind(address: str) -> socket.socket:
    """Take an address, HOST:PORT, [HOST]:PORT (port 0 takes a free one) or unix:PATH.

    Raises UsageError if it cannot be had.
    """
    try:
        return bind_path(Path(address.removeprefix(_UNIX))) if address.startswith(_UNIX) else _bind_port(address)
    except OSError as error:
        raise UsageError(f"cannot listen on {address}: {error.strerror or error}") from error


def bind_path(path: Path) -> socket.socket:
    """Listen on a Unix socket that only the user can open; one that nobody listens on is replaced. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            _bind_private(listener, path)
        except OSError:
            if not _is_left_over(path):
                raise
            path.unlink()
            _bind_private(listener, path)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _bind_private(listener: socket.socket, path: Path) -> None:
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)


def release(listener: socket.socket) -> None:
    """Take the path of a Unix socket away, if it still leads to somewhere."""
    if listener.family == socket.AF_UNIX:
        with contextlib.suppress(OSError):
            Path(listener.getsockname()).unlink()


def url(listener: socket.socket) -> str:
    """Where the server can be found."""
    if listener.family == socket.AF_UNIX:
        return f"{_UNIX}{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind_port(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(f"an address must be HOST:PORT or unix:PATH, not {address!r}")
    family, _, _, _, where = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(where)
    listener.listen()
    return listener


def _is_left_over(path: Path) -> bool:
    """Whether a path is a socket that nobody listens on any more."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
