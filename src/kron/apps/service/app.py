"""The application: the routes, what guards them, and the worker beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fastapi import FastAPI

from kron import __version__
from kron.apps.service import acts, asking, bulk, document, listening, schedules, status, workflows
from kron.apps.service.audit import Audit, check_audit
from kron.apps.service.bounds import Bounded
from kron.apps.service.caller import check_routes
from kron.apps.service.capability import Capabilities
from kron.apps.service.config import Config
from kron.apps.service.entry import Entry
from kron.apps.service.feed import Feed
from kron.apps.service.interface import describe
from kron.apps.service.keys import check_keys
from kron.apps.service.parts import Door, OpenDoor, Parts
from kron.apps.service.preset import presets_of
from kron.apps.service.problem import teach
from kron.apps.service.quota import Quotas
from kron.apps.service.tokens import TokenDoor
from kron.apps.service.working import make_worker, make_working, targets_of
from kron.apps.wiring import check_served, heeding, open_store
from kron.clock import SystemClock, SystemTimer
from kron.events import Sink
from kron.launchers.workflow import WorkflowLauncher
from kron.maintenance import Maintenance, maintaining
from kron.registrar import Registrar
from kron.store import Store
from kron.within import EVERYWHERE, keep_within

ROUTERS = (document, schedules, acts, asking, listening, bulk, workflows, status)


def make_app(config: Config) -> FastAPI:
    """The application of a configuration. It opens its store when it starts, and lets go of it when it stops."""
    check_keys(config)
    check_audit(config.audit_log)
    app = FastAPI(
        title="Kron",
        version=__version__,
        description="Schedules: when, why and why not.",
        lifespan=lambda app: _life(app, config),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for each in ROUTERS:
        app.router.routes.extend(each.router.routes)  # as they are, so that each can be looked at
    check_routes(app.routes)
    teach(app)
    describe(app)
    app.add_middleware(Bounded)
    app.add_middleware(Entry, config=config)
    return app


@asynccontextmanager
async def _life(app: FastAPI, config: Config) -> AsyncIterator[None]:
    await check_served(config.store)
    async with open_store(config.store, presets=presets_of(config)) as store:
        parts = app.state.parts = make_parts(config, store)
        parts.audit.open()
        stop, keeping = asyncio.Event(), asyncio.create_task(parts.door.keep())
        work = asyncio.create_task(_work(parts, stop)) if config.worker else None
        try:
            yield
        finally:
            stop.set()
            if work:
                await work
            keeping.cancel()
            parts.audit.close()
            for poster in parts.posters:
                poster.close()
            if parts.working.log:
                await asyncio.to_thread(parts.working.log.close)


async def try_parts(config: Config) -> None:
    """Open the store and put the parts together once; what cannot be used raises its error."""
    await check_served(config.store)
    async with open_store(config.store) as store:
        parts = make_parts(replace(config, commands="", kubernetes=False), store)  # these begin to work at once
        for poster in parts.posters:
            poster.close()


async def _work(parts: Parts, stop: asyncio.Event) -> None:
    """Keep time until told to stop; then others need not wait for the lease to end."""
    keep_within(EVERYWHERE)
    worker = make_worker(parts.config, parts.store, parts.launchers, parts.working)
    upkeep = Maintenance(parts.store, SystemTimer(), days=parts.config.retention_days or None, sink=parts.sink)
    async with heeding(parts.store, worker.nudge), maintaining(upkeep):
        await worker.run(stop)


def make_parts(config: Config, store: Store) -> Parts:
    """The parts of a service over a store."""
    feed = Feed(SystemTimer(), here=config.worker)
    working = make_working(config, feed)
    allowed = config if config.worker else replace(config, commands="", kubernetes=False)
    targets = targets_of(allowed, store, working.sink)
    launchers = dict(targets.launchers)
    launchers.setdefault("workflow", WorkflowLauncher(targets.starter, targets.secrets))  # says what is missing
    return Parts(
        config=config,
        store=store,
        registrar=Registrar(store, working.sink),
        door=make_door(config, targets.capabilities, working.sink),
        quotas=Quotas(store, SystemTimer(), config),
        audit=Audit(config.audit_log, SystemClock()),
        secrets=targets.secrets,
        metrics=working.metrics,
        sink=working.sink,
        feed=feed,
        launchers=working.traced(launchers),
        working=working,
        starter=targets.starter,
        workflows=targets.workflows,
        posters=targets.posters,
    )


def make_door(config: Config, capabilities: Capabilities, sink: Sink) -> Door:
    """Who says who calls."""
    if config.auth == "none":
        return OpenDoor()
    return TokenDoor(config, capabilities, sink=sink)


def interface() -> dict[str, Any]:
    """The interface as OpenAPI."""
    return make_app(Config(auth="none")).openapi()
