"""`kron serve`: run the HTTP service, with a worker in the same process."""

from __future__ import annotations

import argparse
import asyncio
import socket

from kron.apps.cli.console import Screen
from kron.apps.cli.effective import settings_of
from kron.apps.cycle_collector import collect_rarely
from kron.apps.open_files import allow_more
from kron.apps.redacted import redacted
from kron.apps.service.config import DASHBOARD_PATH, Config
from kron.apps.service.config_error import unavailable_address
from kron.errors import InvalidSetting

FLAGS = ("store", "listen", "auth", "target_limits")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    try:
        import uvicorn  # noqa: F401  a missing package is reported below

        from kron.apps.service.app import make_app, try_parts
        from kron.apps.service.server import server_of
    except ImportError as error:
        message = f"the service needs a package that is not installed: {error.name}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[service]'") from None
    config = settings_of(args, screen, FLAGS)
    if config is None:
        return 0
    asyncio.run(try_parts(config))  # report a part that cannot start in one message, before serving
    allow_more()
    app = make_app(config)
    collect_rarely()
    _check_address_free(config)
    screen.note(start_text(config))
    server = server_of(app, config)
    server.run()
    return 0 if server.started else 1


def start_text(config: Config) -> str:
    """Return the line that names the addresses of the service and its dashboard."""
    address = f"{'https' if config.tls_key else 'http'}://{config.listen}"
    dashboard = f", dashboard {config.ui_url or address + DASHBOARD_PATH}/" if config.has_dashboard else ""
    return f"kron is serving on {address}, store {redacted(config.store)}{dashboard}"


def _check_address_free(config: Config) -> None:
    """Raise an error if this process cannot listen on its address."""
    host, port = config.address
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise unavailable_address(config.listen, error) from None
