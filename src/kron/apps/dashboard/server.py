"""Server of a dashboard on this machine. It ends open streams before it waits for the remaining responses."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from kron.engine.event_mirror import EventMirror

SHUTDOWN_SECONDS = 5


class DashboardServer(uvicorn.Server):
    """Server of one dashboard."""

    def __init__(self, config: uvicorn.Config, mirror: EventMirror) -> None:
        super().__init__(config)
        self.mirror = mirror

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self.mirror.close()
        await super().shutdown(sockets)


def server_of(app: ASGIApp, mirror: EventMirror, host: str, port: int) -> DashboardServer:
    """Return the server of a dashboard."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return DashboardServer(config, mirror)
