"""The process: a socket, uvicorn on it, and a clean stop at SIGINT or SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from diffgbm._util.optional import need
from diffgbm.serving.application import LOOPBACK, Workers, application
from diffgbm.serving.service import Service

GRACE = 10
"""Seconds that requests under way get when the server stops."""


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    Attributes
    ----------
    host : str
        Name or address of this machine; the default is reached from this machine alone.
    port : int
        Port; 0 takes a free one.
    allowed : tuple of str
        Names by which clients may ask, besides those of loopback.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    allowed: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """Names that are answered; ``None`` for all."""
        if not self.is_loopback and not self.allowed:
            return None
        return (*LOOPBACK, self.host.lower(), *map(str.lower, self.allowed))


def listen(address: Address) -> socket.socket:
    """Open a socket that listens; raise an ``OSError`` that says what to do."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, where = found[0]
        return _bound(family, where)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"cannot listen on {address.host} port {address.port}: {reason}. Choose another --port or --host."
        ) from None


def _bound(family: int, where: Any) -> socket.socket:
    """Return a socket that listens. Its connections send answers at once, without waiting for more (40 ms)."""
    # asyncio switches the waiting off for sockets that name their protocol only
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if os.name == "posix":  # a port that was just closed may be taken again
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(1024)
    except BaseException:
        listening.close()
        raise
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the address of a socket for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def default_workers() -> int:
    """Return how many predictions run at the same time: one for each core."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def run(
    service: Service,
    listening: socket.socket,
    workers: int,
    hosts: Sequence[str] | None = None,
    more_routes: Any = None,
) -> None:
    """Answer requests until SIGINT or SIGTERM; requests under way are answered before this returns.

    Parameters
    ----------
    service : Service
        What answers.
    listening : socket
        From ``listen``.
    workers : int
        Predictions at the same time.
    hosts : sequence of str, optional
        Names in the header Host that are answered; ``None`` answers all.
    more_routes : callable, optional
        Takes the ``Workers`` and returns further routes.
    """
    uvicorn = need("uvicorn")
    pool = Workers(workers, service.limits.waiting)
    routes = more_routes(pool) if more_routes is not None else ()
    config = uvicorn.Config(
        application(service, pool, hosts, routes),
        log_level="warning",
        access_log=False,
        server_header=False,
        interface="asgi3",
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=GRACE,
    )
    try:
        with _calm_signals():
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        pool.close()
        listening.close()


@contextmanager
def _calm_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM do nothing more: uvicorn stops at them, and then raises them again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
