"""`kron worker`: plan, record and launch due periods until stopped. It serves metrics and health checks, but no API."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, nullcontext, suppress

from kron.apps.cli.console import Screen
from kron.apps.cli.effective import settings_of
from kron.apps.cycle_collector import collect_rarely
from kron.apps.open_files import allow_more
from kron.apps.redacted import redacted
from kron.apps.service.config import Config
from kron.apps.service.observe.health import health_lines
from kron.apps.service.observe.readiness import not_ready
from kron.apps.service.preset import presets_of
from kron.apps.service.routes.probe import Probe, probing
from kron.apps.service.working import make_worker, make_working, targets_of
from kron.apps.wiring import check_served, open_store, with_notifications
from kron.engine.clock import SystemTimer
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.events import Event
from kron.engine.fleet import FUNCTIONS
from kron.engine.load_pass import LoadPass, counting_load
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope

# What a worker needs to launch anything. Its only function does nothing: an application launches its own functions.
NEEDS = (
    "webhooks need KRON_WEBHOOK_SECRET, host commands --command-journal, Kubernetes Jobs --kubernetes, "
    "workflows KRON_WORKFLOW_STORE and KRON_EXECUTOR_URL, and functions the application that declares them"
)
FLAGS = (
    "store",
    "listen",
    "batch",
    "lookahead_ms",
    "leader_election",
    "max_clock_skew_ms",
    "retention_days",
    "command_journal",
    "kubernetes",
    "target_limits",
)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Run a worker. On SIGTERM or Ctrl-C it finishes the work it has begun and releases its shards."""
    args.lookahead_ms = None if args.lookahead is None else args.lookahead * 1000
    args.max_clock_skew_ms = None if args.max_clock_skew is None else args.max_clock_skew * 1000
    config = settings_of(args, screen, FLAGS, worker=True)
    if config is None:
        return 0
    collect_rarely()
    allow_more()
    asyncio.run(_work(config))
    return 0


async def _work(config: Config) -> None:
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows: Ctrl-C cancels the task instead
            asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    set_tenant_scope(ALL_TENANTS)
    await check_served(config.store)  # fail at once if the store is unreachable
    async with open_store(config.store, presets=presets_of(config)) as store:
        relay = EventRelay(store.events, SystemTimer())
        working = make_working(config, relay)
        targets = targets_of(config, store, working.sink)
        worker = make_worker(config, store, working.traced(targets.launchers), working)

        async def metrics() -> str:
            return working.metrics.text() + await health_lines(store)

        probe = Probe(metrics, lambda: not_ready(store, working.readiness))
        async with probing(config.address, probe) if config.listen else nullcontext() as port:
            metrics_fact = {"metrics": f"http://{config.address[0]}:{port}/metrics"} if port else {}
            for event in _start_events(worker.owner, config.store, targets.launchers, metrics_fact):
                working.sink(event)
            maintenance = Maintenance(store, SystemTimer(), days=config.retention_days or None, sink=working.sink)
            load_pass = LoadPass(store, SystemTimer(), worker.owner, working.sink)
            background = maintaining(maintenance), counting_load(load_pass), relaying(relay)
            async with AsyncExitStack() as tasks:
                for task in (with_notifications(store, worker.notify), *background):
                    await tasks.enter_async_context(task)
                await worker.run(stop)
        targets.close()
    working.sink(Event("worker_stopped", 0, {"owner": worker.owner}))
    if working.log:
        working.log.close()


def _start_events(owner: str, store: str, schemes: Iterable[str], more: dict[str, str]) -> Iterator[Event]:
    """Yield the events of a worker that starts: what it launches, and what it needs if this is nothing."""
    kinds = sorted(scheme for scheme in schemes if scheme != FUNCTIONS)
    launches = ", ".join(kinds) or "nothing"
    yield Event("worker_started", 0, {"owner": owner, "store": redacted(store), "launches": launches, **more})
    if not kinds:
        yield Event("no_launcher", 0, {"owner": owner, "needs": NEEDS})
