"""Server of a dashboard on this machine. It ends open streams before it waits for the remaining responses."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

import uvicorn
from starlette.types import ASGIApp

from kron.engine.event_mirror import EventMirror

SHUTDOWN_SECONDS = 5
NICENESS = 10


class DashboardServer(uvicorn.Server):
    """Server of one dashboard."""

    def __init__(self, config: uvicorn.Config, mirror: EventMirror) -> None:
        super().__init__(config)
        self.mirror = mirror

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self.mirror.close()
        await super().shutdown(sockets)


def sockets_of(host: str, port: int) -> list[socket.socket]:
    """Return a socket that listens on each address of a host.

    Raises:
        OSError: An address is not available.
    """
    addresses = dict.fromkeys(
        (family, (str(address[0]), port))
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(address, family=family)) for family, address in addresses]
        opened.pop_all()  # the server closes them
    for listener in sockets:  # asyncio does not do it for such a socket, and each page would come 40 ms later
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sockets


def server_of(app: ASGIApp, mirror: EventMirror) -> DashboardServer:
    """Return the server of a dashboard."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return DashboardServer(config, mirror)


def yield_to_runs() -> None:
    """Lower the priority of this process: pages wait for the runs on this machine, and not runs for pages."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
