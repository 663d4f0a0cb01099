"""Worker of a beat process: registers its entries, and publishes what is due."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

from kron.apps.wiring import check_served, open_store, with_notifications
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.launcher import Launcher
from kron.engine.log_writer import log_with
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.registrar import Actor, Registrar
from kron.engine.settings import Settings
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.worker import Worker
from kron.errors import NotFound
from kron.timing.job import Job

ACTOR = Actor("celery beat")
SETTINGS = Settings(breaker_failures=0)  # the broker is the only target: beat publishes as soon as it is back
BATCH_SIZE = 500  # entries in one write, and schedules in one page
log = logging.getLogger("kron.beat")


class BeatWorker:
    """Kron worker that runs in a thread of a beat process."""

    def __init__(self, url: str, prefix: str, jobs: Sequence[Job], launchers: Mapping[str, Launcher]) -> None:
        """Create a worker.

        Args:
            url: Store URL.
            prefix: Beginning of the names of the jobs that belong to this Celery application.
            jobs: Jobs of the entries. Other jobs with the prefix are removed.
            launchers: Launchers by target scheme.
        """
        self.url, self.prefix, self.jobs, self.launchers = url, prefix, jobs, launchers
        self._stop_request: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def stop(self) -> None:
        """End `serve` from any thread. Returns at once."""
        if self._stop_request:
            loop, stop = self._stop_request
            with suppress(RuntimeError):  # the loop is closed: the worker has ended
                loop.call_soon_threadsafe(stop.set)

    async def serve(self, on_running: Callable[[], None]) -> None:
        """Register the entries, call `on_running`, and publish what is due until `stop` is called."""
        stop = asyncio.Event()
        self._stop_request = asyncio.get_running_loop(), stop
        set_tenant_scope(ALL_TENANTS)
        if log.level == logging.NOTSET:
            log.setLevel(logging.WARNING)  # a line per message is in the log of beat already
        sink, writer = log_with(log)
        await check_served(self.url)  # fail at once if the store is unreachable
        async with open_store(self.url) as store:
            await register(Registrar(store, sink), self.prefix, self.jobs)
            owner, timer = f"beat-{socket.gethostname()}-{uuid4().hex}", SystemTimer()
            worker = Worker(
                store, self.launchers, timer, owner=owner, settings=SETTINGS, sink=sink, clock=SystemClock()
            )
            maintenance = Maintenance(store, timer, sink=sink)
            async with with_notifications(store, worker.notify), maintaining(maintenance):
                on_running()
                await worker.run(stop)
        writer.close()


async def register(registrar: Registrar, prefix: str, jobs: Sequence[Job]) -> None:
    """Define the jobs that are new or changed, and delete the other jobs with the prefix."""
    for start in range(0, len(jobs), BATCH_SIZE):
        await registrar.upsert_all([(job, ACTOR) for job in jobs[start : start + BATCH_SIZE]])
    configured, after = {job.identity for job in jobs}, ""
    while page := await registrar.schedules(prefix, after=after, limit=BATCH_SIZE):
        after = page[-1].identity
        for state in page:
            if state.identity not in configured:
                with suppress(NotFound):  # another beat has deleted it
                    await registrar.delete(state.identity, ACTOR)
