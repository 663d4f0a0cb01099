"""Server process of the dashboard: `python -m benchmarks.ui.server URL PORT`. Everybody may see every tenant."""

from __future__ import annotations

import asyncio
import sys

from starlette.requests import Request

from kron.apps.cycle_collector import collect_rarely
from kron.apps.dashboard.access import Role, Viewer
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.server import server_of, sockets_of, yield_to_runs
from kron.apps.wiring import open_store
from kron.engine.clock import SystemTimer
from kron.engine.event_mirror import EventMirror, mirroring
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope


async def access(request: Request) -> Viewer:
    """Return an operator of the tenant that the address names; of a store without tenants if it names none."""
    tenant = request.path_params.get("tenant", "")
    return Viewer("bench", Role.OPERATOR, (tenant,) if tenant else None)


async def serve(url: str, port: int) -> None:
    """Serve until ended, as `kron ui` does."""
    set_tenant_scope(ALL_TENANTS)
    async with open_store(url) as store:
        relay = EventRelay(store.events, SystemTimer())
        mirror = EventMirror(store.events, SystemTimer(), relay.begin)
        registrar = Registrar(store, relay)
        context = DashboardContext(store, registrar, access, store_name="bench", mirror=mirror, has_streams=True)
        server = server_of(make_dashboard(context), mirror)
        collect_rarely()
        yield_to_runs()
        async with relaying(relay), mirroring(mirror):
            await server.serve(sockets_of("127.0.0.1", port))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
