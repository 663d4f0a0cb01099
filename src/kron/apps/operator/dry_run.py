"""Dry run: an operator that records when each Job would be created, and writes nothing to the cluster.

It lists and watches KronJobs, and sends no other request.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack

from kron.apps.operator.cluster import Cluster
from kron.apps.operator.first_lists import first_lists
from kron.apps.operator.identities import Identities
from kron.apps.operator.job_record import JobRecord
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.options import OperatorOptions
from kron.apps.operator.sync import Sync
from kron.apps.operator.worker_settings import worker_settings
from kron.apps.wiring import with_notifications
from kron.engine.background import in_background
from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Event, Sink
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.kube.api import Api
from kron.kube.kind import Place
from kron.launchers.shadow import SHADOW_SCHEME, ShadowLauncher

log = logging.getLogger("kron.operator")


class _Log:
    """Teller of events that writes them to the log."""

    def __call__(self, kronjob: KronJob, kind: str, reason: str, note: str) -> None:
        """Log an event about a KronJob."""
        log.warning("%s/%s: %s: %s", *kronjob.place, reason, note)

    def vanished(self, count: int, seconds: float) -> None:
        """Log that many KronJobs vanished at once."""
        log.warning("%d KronJobs vanished at once; their schedules are deleted in %.0f s", count, seconds)


class DryRun:
    """An operator that creates nothing. The arguments are those of `Operator`."""

    def __init__(
        self, api: Api, store: Store, options: OperatorOptions, sink: Sink, *, clock: Clock | None = None
    ) -> None:
        self.store, self.options, self.sink = store, options, sink
        self.started = asyncio.Event()  # set when the worker may plan
        self.cluster = Cluster(api, options.namespaces)
        self.identities = Identities(options.defaults._replace(scheme=SHADOW_SCHEME), options.namespaces)
        self.sync = Sync(Registrar(store, sink), self.identities, self.cluster.kronjob, _Log(), self._defined)
        self.worker = Worker(
            store,
            {SHADOW_SCHEME: ShadowLauncher()},
            SystemTimer(),
            owner=f"dry-run:{socket.gethostname()}:{os.getpid()}",
            settings=worker_settings(is_alone=True),
            sink=sink,
            clock=clock or SystemClock(),
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set."""
        async with AsyncExitStack() as stack:
            for mirror in self.cluster.kronjob_mirrors.values():
                await stack.enter_async_context(in_background(mirror.run()))
            if not await first_lists([*self.cluster.kronjob_mirrors.values()], stop, self.sink):
                return
            self.cluster.listener = _Listener(self.sync)
            await self.sync.define_all(list(self.cluster.kronjobs()))
            await self.sync.bury()
            await stack.enter_async_context(in_background(self.sync.queue.run()))
            await stack.enter_async_context(with_notifications(self.store, self.worker.notify))
            self.started.set()
            count = sum(1 for _ in self.cluster.kronjobs())
            namespaces = ",".join(self.options.namespaces) or "all"
            facts = {"owner": self.worker.owner, "namespaces": namespaces, "kronjobs": count}
            self.sink(Event("operator_started", 0, facts))
            await self.worker.run(stop)
        self.sink(Event("operator_stopped", 0, {"owner": self.worker.owner}))

    def _defined(self, _: Place) -> None:
        self.worker.notify()


class _Listener:
    """Receiver of the changes of KronJobs. Jobs are not followed."""

    def __init__(self, sync: Sync) -> None:
        self.sync = sync

    def kronjob_changed(self, before: KronJob | None, after: KronJob | None) -> None:
        """Note a change of a KronJob."""
        self.sync.kronjob_changed(before, after)

    def kronjobs_deleted(self, kronjobs: Sequence[KronJob], *, by_list: bool) -> None:
        """Note KronJobs that are gone."""
        self.sync.kronjobs_deleted(kronjobs, by_list=by_list)

    def job_changed(self, place: Place, before: JobRecord | None, after: JobRecord) -> None:
        """Do nothing: no mirror of Jobs runs."""

    def jobs_deleted(self, jobs: Sequence[tuple[Place, JobRecord]], *, by_list: bool) -> None:
        """Do nothing: no mirror of Jobs runs."""

    def jobs_listed(self) -> None:
        """Do nothing: no mirror of Jobs runs."""
