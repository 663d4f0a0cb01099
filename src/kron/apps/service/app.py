"""The application: the routes, what guards them, and the worker beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
from kron.apps.service.parts import Door, OpenDoor, Parts, sink_of, worker_of
from kron.apps.service.preset import presets_of
from kron.apps.service.problem import teach
from kron.apps.service.quota import Quotas
from kron.apps.service.tokens import TokenDoor
from kron.apps.service.tracing import carried, tracing
from kron.apps.wiring import check_served, heeding, open_store
from kron.clock import SystemClock, SystemTimer
from kron.errors import KronError
from kron.events import Event, Sink, all_of
from kron.launcher import Launcher
from kron.launchers.address import networks
from kron.launchers.http import HttpLauncher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.launchers.target import read_url
from kron.launchers.workflow import HttpExecutor, RunLauncher, WorkflowFolder, WorkflowLauncher, WorkflowStore
from kron.maintenance import Maintenance, maintaining
from kron.metrics import Metrics
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


async def try_parts(config: Config) -> None:
    """Open the store and put the parts together once; what cannot be used raises its error."""
    await check_served(config.store)
    async with open_store(config.store) as store:
        make_parts(config, store)


async def _work(parts: Parts, stop: asyncio.Event) -> None:
    """Keep time until told to stop; then others need not wait for the lease to end."""
    keep_within(EVERYWHERE)
    worker = worker_of(parts)
    upkeep = Maintenance(parts.store, SystemTimer(), days=parts.config.retention_days or None, sink=parts.sink)
    async with heeding(parts.store, worker.nudge), maintaining(upkeep):
        await worker.run(stop)
    now = await parts.store.now()
    await parts.store.lease(worker.owner, now, now)


def make_parts(config: Config, store: Store) -> Parts:
    """The parts of a service over a store."""
    metrics, beats, feed = Metrics(), dict[str, int](), Feed(SystemTimer())
    secrets = Secrets(config.webhook_secret, tenanted=bool(config.tenant_claim))
    workflows = _workflows(config, store)
    everywhere = networks(("0.0.0.0/0", "::/0"))  # the operator knows where his executor is
    poster, executing = Poster(allowed=networks(config.webhook_allow)), Poster(allowed=everywhere)
    starter = _starter(config, workflows, secrets, executing)
    capabilities = _capabilities(config, secrets)
    webhooks = HttpLauncher(secrets, poster, plain=config.webhook_http, capability=capabilities.grant, carried=carried)
    launchers: dict[str, Launcher] = {"https": webhooks, "http": webhooks}
    launchers["workflow"] = WorkflowLauncher(starter, secrets)
    traces = tracing()
    if traces:
        launchers = {scheme: traces.around(launcher) for scheme, launcher in launchers.items()}

    def beat(event: Event) -> None:
        if event.name == "pass":
            beats["pass"] = event.at

    sink = all_of(sink_of(config, metrics), beat, feed, *([traces] if traces else []))
    return Parts(
        config=config,
        store=store,
        registrar=Registrar(store),
        door=make_door(config, capabilities, sink),
        quotas=Quotas(store, SystemTimer(), config),
        audit=Audit(config.audit_log, SystemClock()),
        secrets=secrets,
        metrics=metrics,
        sink=sink,
        feed=feed,
        launchers=launchers,
        starter=starter,
        workflows=workflows,
        beats=beats,
        posters=(poster, executing),
    )


def make_door(config: Config, capabilities: Capabilities, sink: Sink) -> Door:
    """Who says who calls."""
    if config.auth == "none":
        return OpenDoor()
    return TokenDoor(config, capabilities, sink=sink)


def _capabilities(config: Config, secrets: Secrets) -> Capabilities:
    seconds = config.inflight_lease_ms // 1000
    return Capabilities(Secrets(config.report_secret), secrets.tenant_of, config.public_url, seconds, SystemClock())


def _workflows(config: Config, store: Store) -> WorkflowStore | None:
    """Where DAGs are: beside the schedules, or in a folder."""
    if config.workflows != "store:":
        return WorkflowFolder(config.workflows) if config.workflows else None
    beside: Callable[[], WorkflowStore] | None = getattr(store, "workflows", None)
    if beside is None:
        hint = "use PostgreSQL as the store, or name a folder"
        raise KronError("CONFIG", "WORKFLOWS cannot be store: here, since this store keeps none", hint=hint)
    return beside()


def _starter(config: Config, workflows: WorkflowStore | None, secrets: Secrets, poster: Poster) -> RunLauncher | None:
    if workflows is None or not config.executor:
        return None
    url = read_url(config.executor, plain=True)
    return RunLauncher(workflows, HttpExecutor(url, poster, secrets))


def interface() -> dict[str, Any]:
    """The interface as OpenAPI."""
    return make_app(Config(auth="none")).openapi()
