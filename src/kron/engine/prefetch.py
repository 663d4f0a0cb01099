"""Prefetch: due periods are read and planned before they are due. When they are due, they are only committed.

Correctness does not depend on the prefetch. A prefetched plan is committed like any other, if its schedule is
unchanged. A worker that has lost its plans, or is too late with them, reads the schedules again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from kron.engine.fleet import Share
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.rules.plan import Plan, plan
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate, update_of

BATCH_WINDOW_MS = 100  # milliseconds: plans due within one window are committed together, at its end
MAX_LATENESS_MS = 900  # milliseconds: every policy counts a plan within 1 second as on time; later it is planned again
SCANS_PER_LOOKAHEAD = 4  # scans of the same interval as it approaches: periods may have been added since


class Batch(NamedTuple):
    """Plans for one instant."""

    at: int
    plans: list[Plan]
    updates: Sequence[ScheduleUpdate]


class Prefetcher:
    """Plans that a worker has made ahead: at most as many as it may have in flight."""

    def __init__(self, store: Store, owner: str, settings: Settings) -> None:
        self.store, self.owner, self.settings = store, owner, settings
        self.batches: list[Batch] = []
        self.planned: set[str] = set()  # identities of the schedules with a plan
        self.share = Share(frozenset(), frozenset())
        self.position = (0, "")  # position of this scan, in the order in which schedules are read
        self.scan_end = self.next_scan_at = 0  # milliseconds: end of this scan, and start of the next one

    async def fill(
        self, share: Share, now: int, informed: Callable[[ScheduleState], ScheduleState], limit: int | None = None
    ) -> bool:
        """Plan one more page of upcoming periods.

        Args:
            share: Share of the worker.
            now: Current time in milliseconds.
            informed: Adds the latest downtime to a state.
            limit: Maximum schedules to read; None: the batch size of the settings.

        Returns:
            Whether there are more periods to plan.
        """
        horizon, page = self.settings.lookahead, limit or self.settings.batch
        if share != self.share or self.next_scan_at > now + horizon:  # the share has changed, or the clock was set back
            self._clear()
            self.share, self.next_scan_at = share, now
        if now >= self.next_scan_at:
            self.position, self.scan_end, self.next_scan_at = (
                (now + 1, ""),
                now + horizon,
                now + horizon // SCANS_PER_LOOKAHEAD,
            )
        room = self.settings.inflight - len(self.planned)
        if self.position[0] > self.scan_end or room <= 0:
            return False
        fetched = await self.store.fetch_due(share, self.scan_end, min(page, room), self.position)
        if len(fetched) < min(page, room):
            self.position = (self.scan_end + 1, "")
        else:
            self.position = (fetched[-1].next_check_at or 0, fetched[-1].identity)
        states = [informed(state) for state in fetched if isinstance(state, ScheduleState)]
        self._plan_batches(
            state
            for state in states
            if not (state.open_runs or state.handled_ahead or state.paused or state.identity in self.planned)
        )
        return self.position[0] <= self.scan_end

    def take_due(self, now: int, room: int) -> list[Batch]:
        """Remove and return the batches that are due, for as many plans as there is room."""
        due_batches, later_batches = list[Batch](), list[Batch]()
        for batch in self.batches:
            if batch.at > now:
                later_batches.append(batch)
                continue
            self.planned.difference_update(p.state.identity for p in batch.plans)
            room -= len(batch.plans)
            if batch.at >= now - MAX_LATENESS_MS and (room >= 0 or not due_batches):
                due_batches.append(batch)
        self.batches = later_batches
        return due_batches

    def _plan_batches(self, states: Iterable[ScheduleState]) -> None:
        for at, group in groupby(
            states, lambda state: -(-(state.next_check_at or 0) // BATCH_WINDOW_MS) * BATCH_WINDOW_MS
        ):
            all_plans = [plan(state, at, owner=self.owner, lease=self.settings.lease) for state in group]
            plans = [p for p in all_plans if p.new]
            if plans:
                self.batches.append(Batch(at, plans, self.store.prepare([update_of(p) for p in plans])))
                self.planned.update(p.state.identity for p in plans)
        self.batches.sort(key=lambda batch: batch.at)

    def _clear(self) -> None:
        self.batches.clear()
        self.planned.clear()
