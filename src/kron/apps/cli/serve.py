"""`kron serve`: the HTTP service, with a worker beside it."""

from __future__ import annotations

import argparse
import asyncio
import socket

from kron.apps.cli.effective import settings_of
from kron.apps.cli.screen import Screen
from kron.apps.open_files import allow_more
from kron.apps.redacted import redacted
from kron.apps.service.config import Config
from kron.apps.service.settings_check import bad_setting
from kron.errors import KronError

FLAGS = ("store", "listen", "auth")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until told to stop."""
    try:
        import uvicorn  # noqa: F401  what is missing is said below

        from kron.apps.service.app import make_app, try_parts
        from kron.apps.service.server import server_of
    except ImportError as error:
        message = f"the service needs packages that are not here: {error.name}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[service]'") from None
    config = settings_of(args, screen, FLAGS)
    if config is None:
        return 0
    asyncio.run(try_parts(config))  # what cannot start is said in one message, before anything is served
    allow_more()
    app = make_app(config)
    _check_free(config)
    scheme = "https" if config.tls_key else "http"
    screen.note(f"kron serves on {scheme}://{config.listen}, store {redacted(config.store)}")
    server = server_of(app, config)
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
