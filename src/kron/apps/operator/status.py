"""Status of KronJobs: a view of the store, written after something changed and at most once per interval."""

from __future__ import annotations

from collections.abc import Callable

from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.status_fields import Facts, status_of
from kron.apps.operator.work_queue import WorkQueue
from kron.engine.events import Event
from kron.engine.failpoint import fail_point
from kron.engine.store import Store
from kron.kube.api import Api
from kron.kube.failure import NOT_FOUND, Refusal
from kron.kube.kind import KRONJOB, Body, Place
from kron.rules.gap_record import GapRecord

INTERVAL_SECONDS = 2.0
RECENT_RUNS = 5
CLAIMED = "run_recorded"  # the result of the launch follows soon, unless the run has to wait
CLAIMED_SECONDS = 10.0
EVENTS = frozenset(
    {CLAIMED, "run_finished", "launch_completed", "gap_recorded", "schedule_changed", "schedule_paused"}
    | {"schedule_deleted", "pause_expired", "run_started"}
)


class StatusWriter:
    """Writer of statuses.

    Args:
        api: The API server.
        store: The ledger.
        identities: Identities of the KronJobs.
        find: Returns a KronJob of the cluster.
        error: Returns the error of a KronJob's spec; empty if it is valid.
        template: Returns the condition `TemplateValid` of a KronJob, without its times; None: not checked.
        skew: Returns what is wrong with the clocks; empty if they agree.
        stuck: Returns which Job of a KronJob is stuck; empty if none is.
        interval: Seconds between two writes for the same KronJob, and before the first.
    """

    def __init__(
        self,
        api: Api,
        store: Store,
        identities: Identities,
        find: Callable[[Place], KronJob | None],
        *,
        error: Callable[[Place], str] = lambda place: "",
        template: Callable[[KronJob], Body | None] = lambda kronjob: None,
        skew: Callable[[], str] = lambda: "",
        stuck: Callable[[Place], str] = lambda place: "",
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        self.api, self.store, self.identities, self.find = api, store, identities, find
        self.error, self.template, self.skew, self.stuck = error, template, skew, stuck
        self.queue = WorkQueue("status", self.write, interval=interval, parallel=4)
        self.writes = 0
        self._last_gaps: dict[Place, GapRecord | None] = {}

    def changed(self, place: Place) -> None:
        """Write the status of a KronJob soon."""
        self.queue.put(place)

    def receive(self, event: Event) -> None:
        """Note an event of the worker."""
        if event.name not in EVENTS:
            return
        place = self.identities.place(str(event.facts.get("identity", "")))
        if place is not None:
            if event.name == "gap_recorded":
                self._last_gaps.pop(place, None)  # read again
            self.queue.put(place, CLAIMED_SECONDS if event.name == CLAIMED else 0.0)

    async def write(self, place: Place) -> None:
        """Write the status of a KronJob if it differs from the one that the API server has."""
        kronjob, identity = self.find(place), self.identities.of(place)
        if kronjob is None or kronjob.is_deleting:
            self._last_gaps.pop(place, None)
            return
        if not self.identities.is_mine(identity):
            return
        (state,), now = await self.store.get_with_time([identity])
        runs = await self.store.runs(identity, RECENT_RUNS) if state else []
        gap = await self._last_gap(place, identity) if state else None
        facts = Facts(
            kronjob,
            state,
            tuple(runs),
            gap,
            self.error(place),
            self.template(kronjob),
            self.skew(),
            self.stuck(place),
        )
        before = kronjob.status
        status = status_of(facts, before, now)
        changes = {name: value for name, value in status.items() if before.get(name) != value}
        if not changes:
            return
        fail_point("K16")
        try:
            await self.api.patch_status(KRONJOB, place, changes)
        except Refusal as refusal:
            if refusal.status != NOT_FOUND:
                raise
        self.writes += 1

    async def _last_gap(self, place: Place, identity: str) -> GapRecord | None:
        """Return the latest gap record of a schedule. It is read once, and after each new one."""
        if place not in self._last_gaps:
            gaps = await self.store.gaps(identity)
            self._last_gaps[place] = gaps[-1] if gaps else None
        return self._last_gaps[place]
