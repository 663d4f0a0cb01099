"""uvicorn server that ends event streams before it waits for the remaining responses."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import uvicorn
from fastapi import FastAPI

from kron.apps.service.config import Config
from kron.apps.service.connection import protocol


class Server(uvicorn.Server):
    """Server of one application."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        app = self.config.app
        if isinstance(app, FastAPI) and hasattr(app.state, "parts"):
            app.state.parts.feed.mirror.close()
        await super().shutdown(sockets)


def server_of(app: FastAPI, config: Config) -> Server:
    """Return the server of an application, with its address, certificates and limits.

    The application itself reads proxy headers, because it knows which proxies are trusted. Requests are limited per
    tenant, and connections without a request by the protocol, so that health checks are always answered.
    """
    host, port = config.address
    settings = uvicorn.Config(
        app,
        host=host,
        port=port,
        **_tls(config),
        http=protocol(config.tls_client_allowed_names),
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
    """Return uvicorn's TLS options."""
    if not config.tls_key:
        return {}
    client_options = (
        {"ssl_ca_certs": config.tls_client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED} if config.tls_client_ca else {}
    )
    return {"ssl_certfile": config.tls_certificate, "ssl_keyfile": config.tls_key, **client_options}
