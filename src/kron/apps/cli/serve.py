"""`kron serve`: the HTTP service, with a worker beside it."""

from __future__ import annotations

import argparse
import asyncio
import socket
import ssl
from typing import Any

from kron.apps.cli.effective import settings_of
from kron.apps.cli.screen import Screen
from kron.apps.redacted import redacted
from kron.apps.service.config import Config
from kron.apps.service.settings_check import bad_setting
from kron.errors import KronError

FLAGS = ("store", "listen", "auth")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until told to stop."""
    try:
        import uvicorn

        from kron.apps.service.app import make_app, try_parts
        from kron.apps.service.certificate import protocol
        from kron.apps.service.server import Server
    except ImportError as error:
        message = f"the service needs packages that are not here: {error.name}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[service]'") from None
    config = settings_of(args, screen, FLAGS)
    if config is None:
        return 0
    asyncio.run(try_parts(config))  # what cannot start is said in one message, before anything is served
    app = make_app(config)
    host, port = config.address
    _check_free(config)
    scheme = "https" if config.tls_key else "http"
    screen.note(f"kron serves on {scheme}://{config.listen}, store {redacted(config.store)}")
    settings = uvicorn.Config(
        app,
        host=host,
        port=port,
        **tls(config),
        http=protocol(config.tls_client_names),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=20,
        h11_max_incomplete_event_size=16_384,
        limit_concurrency=1_000,
    )
    server = Server(settings)
    server.run()
    return 0 if server.started else 1


def _check_free(config: Config) -> None:
    """Refuse an address that this process cannot listen on."""
    host, port = config.address
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        reason = f"cannot be listened on ({error.strerror or error})"
        raise bad_setting("listen", config.listen, reason, "use another address or port") from None


def tls(config: Config) -> dict[str, Any]:
    """What uvicorn is told of certificates."""
    if not config.tls_key:
        return {}
    asked = {"ssl_ca_certs": config.tls_client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED} if config.tls_client_ca else {}
    return {"ssl_certfile": config.tls_certificate, "ssl_keyfile": config.tls_key, **asked}
