"""The server under the application: uvicorn, which lets listeners go before it waits for the other answers."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import uvicorn
from fastapi import FastAPI

from kron.apps.service.config import Config
from kron.apps.service.connection import protocol


class Server(uvicorn.Server):
    """Serves one application."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        app = self.config.app
        if isinstance(app, FastAPI) and hasattr(app.state, "parts"):
            app.state.parts.feed.close()
        await super().shutdown(sockets)


def server_of(app: FastAPI, config: Config) -> Server:
    """The server of an application: its address, its certificates, and what it bears with.

    Headers of proxies are read by the application, which knows whom to believe. Requests are bounded by tenant, and
    connections without a request by the protocol, so that neither keeps others from asking for health.
    """
    host, port = config.address
    settings = uvicorn.Config(
        app,
        host=host,
        port=port,
        **_tls(config),
        http=protocol(config.tls_client_names),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=20,
        h11_max_incomplete_event_size=16_384,
        lifespan="on",
    )
    return Server(settings)


def _tls(config: Config) -> dict[str, Any]:
    """What uvicorn is told of certificates."""
    if not config.tls_key:
        return {}
    asked = {"ssl_ca_certs": config.tls_client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED} if config.tls_client_ca else {}
    return {"ssl_certfile": config.tls_certificate, "ssl_keyfile": config.tls_key, **asked}
