"""Application: routes, their guards, and the worker in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from fastapi import FastAPI

from kron._version import __version__
from kron.apps.service.auth.audit import Audit, check_audit
from kron.apps.service.auth.caller import check_routes
from kron.apps.service.auth.capability import Capabilities
from kron.apps.service.auth.entry import Entry
from kron.apps.service.auth.keys import check_keys
from kron.apps.service.auth.tokens import JwtAuthenticator
from kron.apps.service.bounds import Bounded
from kron.apps.service.config import Config
from kron.apps.service.context import AppContext, Authenticator, NoAuthenticator
from kron.apps.service.dashboard import mount_dashboard
from kron.apps.service.event_stream import Feed
from kron.apps.service.login.login import make_login
from kron.apps.service.openapi import describe
from kron.apps.service.preset import presets_of
from kron.apps.service.problem import register_error_handlers
from kron.apps.service.quota import Quotas
from kron.apps.service.routes import (
    actions,
    bulk,
    bulk_actions,
    calendar,
    comparison,
    document,
    events,
    overview,
    periods,
    preview,
    queries,
    schedules,
    status,
    workflows,
)
from kron.apps.service.working import make_worker, make_working, targets_of
from kron.apps.wiring import check_served, open_store, with_notifications
from kron.engine.background import in_background
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.event_mirror import EventMirror, mirroring
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.events import Sink
from kron.engine.load_pass import LoadPass, counting_load
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.launchers.workflow import WorkflowLauncher

ROUTERS = (
    document,
    schedules,
    actions,
    queries,
    preview,
    comparison,
    periods,
    overview,
    calendar,
    events,
    bulk,
    bulk_actions,
    workflows,
    status,
)


def make_app(config: Config) -> FastAPI:
    """Return the application of a configuration. It opens its store at startup and closes it at shutdown."""
    check_keys(config)
    check_audit(config.audit_log)
    app = FastAPI(
        title="Kron",
        version=__version__,
        description="Define schedules, and query when and why each run happened or did not happen.",
        lifespan=lambda app: _lifespan(app, config),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in ROUTERS:
        app.router.routes.extend(module.router.routes)  # added directly, so that each route can be inspected
    check_routes(app.routes)
    mount_dashboard(app, config)
    register_error_handlers(app)
    describe(app)
    app.add_middleware(Bounded)
    app.add_middleware(Entry, config=config)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI, config: Config) -> AsyncIterator[None]:
    await check_served(config.store)
    async with open_store(config.store, presets=presets_of(config)) as store:
        parts = app.state.parts = make_parts(config, store)
        parts.audit.open()
        events = AsyncExitStack()
        await events.enter_async_context(relaying(parts.relay))
        await events.enter_async_context(mirroring(parts.feed.mirror))
        if parts.login:
            await events.enter_async_context(in_background(parts.login.provider.keep()))
        stop, keys_task = asyncio.Event(), asyncio.create_task(parts.authenticator.keep())
        worker_task = asyncio.create_task(_work(parts, stop)) if config.run_worker else None
        try:
            yield
        finally:
            stop.set()
            if worker_task:
                await worker_task
            keys_task.cancel()
            await events.aclose()
            parts.audit.close()
            for poster in parts.posters:
                poster.close()
            if parts.working.log:
                await asyncio.to_thread(parts.working.log.close)


async def try_parts(config: Config) -> None:
    """Open the store and build the parts once; raise the error of the first part that cannot be used."""
    await check_served(config.store)
    async with open_store(config.store) as store:
        parts = make_parts(replace(config, command_journal="", kubernetes=False), store)  # these start work at once
        for poster in parts.posters:
            poster.close()


async def _work(parts: AppContext, stop: asyncio.Event) -> None:
    """Run the worker until `stop` is set, then release its leases, so that other workers need not wait for them."""
    set_tenant_scope(ALL_TENANTS)
    worker = make_worker(parts.config, parts.store, parts.launchers, parts.working)
    maintenance = Maintenance(parts.store, SystemTimer(), days=parts.config.retention_days or None, sink=parts.sink)
    load_pass = LoadPass(parts.store, SystemTimer(), worker.owner, parts.sink)
    async with with_notifications(parts.store, worker.notify), maintaining(maintenance), counting_load(load_pass):
        await worker.run(stop)


def make_parts(config: Config, store: Store) -> AppContext:
    """Return the parts of a service that uses `store`."""
    relay = EventRelay(store.events, SystemTimer())
    feed = Feed(EventMirror(store.events, SystemTimer(), relay.begin), SystemTimer())
    working = make_working(config, relay)
    target_config = config if config.run_worker else replace(config, command_journal="", kubernetes=False)
    targets = targets_of(target_config, store, working.sink)
    launchers = dict(targets.launchers)
    launchers.setdefault("workflow", WorkflowLauncher(targets.starter, targets.secrets))  # reports the missing setting
    return AppContext(
        config=config,
        store=store,
        registrar=Registrar(store, working.sink),
        authenticator=make_authenticator(config, targets.capabilities, working.sink),
        quotas=Quotas(store, SystemTimer(), config),
        audit=Audit(config.audit_log, SystemClock()),
        secrets=targets.secrets,
        metrics=working.metrics,
        sink=working.sink,
        feed=feed,
        relay=relay,
        launchers=working.traced(launchers),
        working=working,
        starter=targets.starter,
        workflows=targets.workflows,
        login=make_login(config, working.sink),
        posters=targets.posters,
    )


def make_authenticator(config: Config, capabilities: Capabilities, sink: Sink) -> Authenticator:
    """Return the authenticator of a configuration."""
    if config.auth == "none":
        return NoAuthenticator()
    return JwtAuthenticator(config, capabilities, sink=sink)


def interface() -> dict[str, Any]:
    """Return the HTTP API as an OpenAPI document."""
    return make_app(Config(auth="none")).openapi()
