"""`kron serve`: the HTTP service, with a worker beside it."""

from __future__ import annotations

import argparse
import os
import ssl
from typing import Any

from kron.apps.cli.screen import Screen
from kron.apps.service.config import Config, read_config
from kron.errors import KronError


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until told to stop."""
    try:
        import uvicorn

        from kron.apps.service.app import make_app
        from kron.apps.service.certificate import protocol
        from kron.apps.service.server import Server
    except ImportError as error:
        message = f"the service needs packages that are not here: {error.name}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[service]'") from None
    config = read_config(os.environ, _flags(args), args.config or "")
    app = make_app(config)
    host, port = config.address
    scheme = "https" if config.tls_key else "http"
    screen.note(f"kron serves on {scheme}://{config.listen}, store {config.store.partition(':')[0]}")
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


def tls(config: Config) -> dict[str, Any]:
    """What uvicorn is told of certificates."""
    if not config.tls_key:
        return {}
    asked = {"ssl_ca_certs": config.tls_client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED} if config.tls_client_ca else {}
    return {"ssl_certfile": config.tls_certificate, "ssl_keyfile": config.tls_key, **asked}


def _flags(args: argparse.Namespace) -> dict[str, str]:
    flags = {name: value for name in ("store", "listen", "auth") if (value := getattr(args, name)) is not None}
    if args.no_worker:
        flags["worker"] = "false"
    for word in args.set:
        name, equals, value = word.partition("=")
        if not equals:
            raise KronError("USAGE", f"--set {word!r} says no value", hint="write --set TICK_MS=500")
        flags[name] = value
    return flags
