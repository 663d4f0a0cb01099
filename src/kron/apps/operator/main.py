"""Operator: mirrors of the cluster, the store, and a worker that creates Jobs."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from kron.apps.operator.adopt import Adopter
from kron.apps.operator.clock_skew import REASON, ClockSkew
from kron.apps.operator.cluster import Cluster
from kron.apps.operator.definition import SCHEME
from kron.apps.operator.events import WARNING, EventTeller
from kron.apps.operator.first_lists import first_lists
from kron.apps.operator.follow import Follower
from kron.apps.operator.history import History
from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.kronjob_metrics import KronJobMetrics
from kron.apps.operator.listener import Listener
from kron.apps.operator.operator_metrics import OperatorCounts, operator_metrics
from kron.apps.operator.options import OperatorOptions
from kron.apps.operator.status import INTERVAL_SECONDS, StatusWriter
from kron.apps.operator.stuck import StuckJobs
from kron.apps.operator.sync import Sync
from kron.apps.operator.template_check import TemplateCheck
from kron.apps.operator.worker_settings import settle_ms, worker_settings
from kron.apps.service.observe.readiness import Readiness, not_ready
from kron.apps.service.routes.probe import Probe, probing
from kron.apps.wiring import POSTGRES, with_notifications
from kron.engine.background import in_background
from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Event, Sink, all_of
from kron.engine.fleet import Share
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.metrics import Metrics
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.kube.api import Api
from kron.kube.kind import JOB, Body, Place
from kron.kube.paced_api import PacedApi
from kron.kube.throttle import Priority, Throttle
from kron.launchers.kronjob import KronJobLauncher

RESTART_SECONDS = 1.0  # until a part that has failed starts again


class Operator:
    """One operator process.

    Args:
        api: The API server.
        store: Store of the schedules and runs.
        options: Options of the process.
        sink: Receives the events.
        interval: Seconds between two status writes for the same KronJob.
        clock: Clock of this host. It is only compared with that of the store; None for the system clock.
    """

    def __init__(
        self,
        api: Api,
        store: Store,
        options: OperatorOptions,
        sink: Sink,
        *,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self.api, self.store, self.options, self.interval = api, store, options, interval
        self.clock = clock or SystemClock()
        self.is_alone = options.store.partition(":")[0] not in POSTGRES
        self.settings = worker_settings(is_alone=self.is_alone)
        self.started = asyncio.Event()  # set when the worker may plan
        self.throttle, self.cluster = Throttle(options.qps, options.burst), Cluster(api, options.namespaces)
        shares = None if self.is_alone else self._shares
        self.identities = Identities(options.defaults, options.namespaces, shares)
        self.metrics, self.readiness = Metrics(), Readiness(SystemTimer(), Settings().lease)
        self.teller = self._make_teller()
        self.history = self._make_history()
        self.status = self._make_status()
        self.per_job = KronJobMetrics(self.identities, self.cluster.kronjobs) if options.metrics_per_job else None
        receivers = (self.status.receive, self.history.receive, self.teller.receive, self._note_shares)
        optional = () if self.per_job is None else (self.per_job.receive,)
        self.sink = all_of(sink, self.metrics, self.readiness, *receivers, *optional)
        self.registrar = Registrar(store, self.sink)
        find, paced = self.cluster.kronjob, self._paced(Priority.STATUS)
        self.templates = TemplateCheck(paced, self.identities, find, self.teller, self.status.changed)
        self.sync = Sync(self.registrar, self.identities, find, self.teller, self._defined)
        self.adopter = self._make_adopter()
        self.follower = Follower(self.cluster, self.registrar.reports, self.adopter.request)
        self.adopter.follower = self.follower
        self.skew = ClockSkew(store, self._ask_time, self._skew_changed)
        api.http.event_hooks["response"].append(self.skew.note)
        self.stuck = StuckJobs(
            self.cluster, store, self.identities, self.teller, self.status.changed, options.stuck_after_ms
        )
        self.worker = self._make_worker()

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set."""
        async with AsyncExitStack() as stack:
            if self.options.listen is not None:
                await stack.enter_async_context(self._probing(self.options.listen))
            for mirror in self.cluster.mirrors:
                await stack.enter_async_context(in_background(self._kept(mirror.run)))
            if not await first_lists(self.cluster.mirrors, stop, self.sink):
                return
            await self._start(stack)
            self.sink(Event("operator_started", 0, self._facts()))
            await self.worker.run(stop)
            await self.follower.drain(RESTART_SECONDS)
        self.sink(Event("operator_stopped", 0, {"owner": self.worker.owner}))

    async def _start(self, stack: AsyncExitStack) -> None:
        """Bring the store up to date with the cluster, and start the parts that keep it so.

        The order matters. Nothing is planned before all edits are known and all Jobs are adopted. What changes from
        now on is told to the listener, so that no change is lost.
        """
        self.cluster.listener = Listener(self.sync, self.follower, self.history, self.adopter)
        await self.sync.define_all(list(self.cluster.kronjobs()))
        await self.adopter.adopt()
        await self.sync.bury()
        retention = self.options.retention_days or None
        parts: list[Callable[[], Coroutine[Any, Any, None]]] = [
            *(queue.run for queue in (self.sync.queue, self.status.queue, self.history.queue, self.templates.queue)),
            *(self.follower.run, self.adopter.run, self.teller.run, self.skew.run, self.stuck.run),
        ]
        for part in parts:
            await stack.enter_async_context(in_background(self._kept(part)))
        maintenance = Maintenance(self.store, SystemTimer(), days=retention, sink=self.sink)
        await stack.enter_async_context(maintaining(maintenance))
        await stack.enter_async_context(with_notifications(self.store, self.worker.notify))
        for kronjob in self.cluster.kronjobs():
            self.history.kronjob_changed(None, kronjob)
        self.started.set()

    async def _kept(self, work: Callable[[], Awaitable[None]]) -> None:
        """Keep a part of the operator running: an error of one part must not silence it."""
        while True:
            try:
                await work()
            except Exception as error:
                self.sink(Event("operator_part_failed", 0, {"error": repr(error)}))
            await asyncio.sleep(RESTART_SECONDS)

    def _paced(self, priority: Priority) -> PacedApi:
        return PacedApi(self.api, self.throttle, priority)

    def _make_teller(self) -> EventTeller:
        paced = self._paced(Priority.EVENT)
        return EventTeller(paced, self.identities, self.cluster.kronjob, level=self.options.events)

    def _make_history(self) -> History:
        paced = self._paced(Priority.HISTORY)
        return History(paced, self.store, self.cluster, self.identities, interval=self.interval)

    def _make_status(self) -> StatusWriter:
        return StatusWriter(
            self._paced(Priority.STATUS),
            self.store,
            self.identities,
            self.cluster.kronjob,
            error=self._spec_error,
            template=self._template,
            skew=lambda: self.skew.message,
            stuck=lambda place: self.stuck.message(place),
            interval=self.interval,
        )

    def _make_adopter(self) -> Adopter:
        return Adopter(
            self.registrar,
            self.cluster,
            self._paced(Priority.REPLACE),
            self.identities,
            self.teller,
            busy=self._busy,
            settle_ms=settle_ms(self.settings, is_alone=self.is_alone),
        )

    def _make_worker(self) -> Worker:
        launcher = KronJobLauncher(
            self._paced(Priority.START),
            self.cluster,
            self.teller.name_taken,
            gone=self.cluster.gone,
            cancel_api=self._paced(Priority.REPLACE),
        )
        owner = f"operator:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        timer, launchers = SystemTimer(), {SCHEME: launcher}
        return Worker(
            self.store, launchers, timer, owner=owner, settings=self.settings, sink=self.sink, clock=self.clock
        )

    def _shares(self) -> tuple[Share, ...]:
        return self.worker.membership.shares

    def _note_shares(self, event: Event) -> None:
        self.adopter.receive(event)

    async def _ask_time(self) -> None:
        """Read a Job that need not exist: any answer tells the time."""
        kronjob = next(self.cluster.kronjobs(), None)
        if kronjob is not None:
            await self._paced(Priority.EVENT).get(JOB, kronjob.place)

    def _skew_changed(self) -> None:
        """Show the clock skew, or that it is gone, in all statuses, and tell one event."""
        kronjobs = sorted(self.cluster.kronjobs(), key=lambda kronjob: kronjob.place)
        for kronjob in kronjobs:
            self.status.changed(kronjob.place)
        mine = [kronjob for kronjob in kronjobs if self.identities.is_mine(self.identities.of(kronjob.place))]
        if self.skew.is_large and mine:
            self.teller(mine[0], WARNING, REASON, f"{self.skew.message} The store's is {self.skew.seconds:+.0f} s off.")

    def _busy(self) -> Collection[str]:
        return self.worker.dispatcher.busy

    def _spec_error(self, place: Place) -> str:
        return self.sync.errors.get(place, "")

    def _template(self, kronjob: KronJob) -> Body | None:
        return self.templates.condition(kronjob)

    def _defined(self, place: Place) -> None:
        """Note that a KronJob was handled. Its status is written once, after its template was checked."""
        if not self.templates.request(place):
            self.status.changed(place)
        self.worker.notify()

    @asynccontextmanager
    async def _probing(self, address: tuple[str, int]) -> AsyncIterator[None]:
        probe = Probe(self._metrics_text, self._not_ready)
        async with probing(address, probe) as port:
            self.sink(Event("operator_listening", 0, {"address": f"{address[0]}:{port}"}))
            yield

    async def _metrics_text(self) -> str:
        queues = (self.sync.queue, self.status.queue, self.history.queue, self.templates.queue)
        counts = OperatorCounts(
            lambda: self.adopter.adopted,
            lambda: self.status.writes,
            lambda: sum(queue.depth for queue in queues),
            lambda: self.skew.seconds,
        )
        per_job = "" if self.per_job is None else self.per_job.text()
        return self.metrics.text() + operator_metrics(self.cluster, self.throttle, counts) + per_job

    async def _not_ready(self) -> str:
        if not self.started.is_set():
            return "the KronJobs and Jobs of the cluster have not been listed yet"
        return await not_ready(self.store, self.readiness)

    def _facts(self) -> dict[str, str | int]:
        namespaces = ",".join(self.options.namespaces) or "all"
        count = sum(1 for _ in self.cluster.kronjobs())
        return {"owner": self.worker.owner, "namespaces": namespaces, "kronjobs": count}
