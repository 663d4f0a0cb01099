"""`kron ui`: show the dashboard of a store, for this machine only."""

from __future__ import annotations

import argparse
import asyncio
import socket
import webbrowser
from getpass import getuser

from kron.apps.browser_request import is_loopback
from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import usage_error
from kron.apps.cli.store_request import store_url
from kron.apps.cycle_collector import collect_rarely
from kron.apps.redacted import redacted
from kron.apps.service.config_error import unavailable_address
from kron.apps.wiring import check_served, open_store
from kron.engine.clock import SystemTimer
from kron.engine.event_mirror import EventMirror, mirroring
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidSetting

LISTEN = "127.0.0.1:8090"  # address, unless --listen names another


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Serve the dashboard until Ctrl-C."""
    try:
        import jinja2  # noqa: F401  a missing package is reported below
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        message = f"the dashboard needs a package that is not installed: {error.name}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[dashboard]'") from None
    return asyncio.run(_serve(args, screen))


async def _serve(args: argparse.Namespace, screen: Screen) -> int:
    from kron.apps.dashboard.access import LoopbackAccess, Role
    from kron.apps.dashboard.app import make_dashboard
    from kron.apps.dashboard.context import DashboardContext
    from kron.apps.dashboard.server import server_of, yield_to_runs

    _address(args.listen)  # report a wrong one before the store is opened
    url, role = store_url(args), Role.OPERATOR if args.operator else Role.VIEWER
    set_tenant_scope(ALL_TENANTS)
    await check_served(url)
    async with open_store(url) as store:
        access = LoopbackAccess(role, f"kron ui ({_user()})")
        relay = EventRelay(store.events, SystemTimer())
        mirror = EventMirror(store.events, SystemTimer(), relay.begin)
        registrar = Registrar(store, relay)
        context = DashboardContext(store, registrar, access, store_name=redacted(url), mirror=mirror, has_streams=True)
        server = server_of(make_dashboard(context), mirror)
        collect_rarely()
        sockets = _sockets(args.listen)
        address = f"http://{args.listen}/"
        screen.note(f"kron ui shows {redacted(url)} on {address} ({_role_text(role)}; Ctrl-C ends it)")
        if args.open:
            webbrowser.open(address)
        yield_to_runs()  # after the browser has started
        async with relaying(relay), mirroring(mirror):
            await server.serve(sockets)
    return 0 if server.started else 1


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise usage_error(f"{listen!r} is not an address with a port", f"use one such as {LISTEN}")
    host = host.removeprefix("[").removesuffix("]")
    if not is_loopback(host):
        message = f"kron ui has no login, so it listens on addresses of this machine only, and not on {host!r}"
        raise usage_error(message, f"use {LISTEN}, or kron serve for other machines")
    return host, int(port)


def _sockets(listen: str) -> list[socket.socket]:
    from kron.apps.dashboard.server import sockets_of

    try:
        return sockets_of(*_address(listen))
    except OSError as error:
        raise unavailable_address(listen, error) from None


def _role_text(role: str) -> str:
    return "with actions" if role == "operator" else "read-only; --operator allows actions"


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return "unknown user"
