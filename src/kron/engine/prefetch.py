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
        self.held: set[str] = set()  # identities of the schedules with a plan
        self.share = Share(frozenset(), frozenset())
        self.place = (0, "")  # position of this scan, in the order in which schedules are read
        self.upto = self.again = 0  # milliseconds: end of this scan, and start of the next one

    async def fill(
        self, share: Share, now: int, informed: Callable[[ScheduleState], ScheduleState], most: int | None = None
    ) -> bool:
        """Plan one more page of upcoming periods.

        Args:
            share: Share of the worker.
            now: Current time in milliseconds.
            informed: Adds the latest downtime to a state.
            most: Maximum schedules to read; None: the batch size of the settings.

        Returns:
            Whether there are more periods to plan.
        """
        ahead, page = self.settings.lookahead, most or self.settings.batch
        if share != self.share or self.again > now + ahead:  # the share has changed, or the clock was set back
            self._forget()
            self.share, self.again = share, now
        if now >= self.again:
            self.place, self.upto, self.again = (now + 1, ""), now + ahead, now + ahead // SCANS_PER_LOOKAHEAD
        room = self.settings.inflight - len(self.held)
        if self.place[0] > self.upto or room <= 0:
            return False
        found = await self.store.fetch_due(share, self.upto, min(page, room), self.place)
        if len(found) < min(page, room):
            self.place = (self.upto + 1, "")
        else:
            self.place = (found[-1].next_check_at or 0, found[-1].identity)
        cases = [informed(case) for case in found if isinstance(case, ScheduleState)]
        self._keep(
            case
            for case in cases
            if not (case.open_runs or case.handled_ahead or case.paused or case.identity in self.held)
        )
        return self.place[0] <= self.upto

    def take_due(self, now: int, room: int) -> list[Batch]:
        """Remove and return the batches that are due, for as many plans as there is room."""
        found, left = list[Batch](), list[Batch]()
        for batch in self.batches:
            if batch.at > now:
                left.append(batch)
                continue
            self.held.difference_update(p.state.identity for p in batch.plans)
            room -= len(batch.plans)
            if batch.at >= now - MAX_LATENESS_MS and (room >= 0 or not found):
                found.append(batch)
        self.batches = left
        return found

    def _keep(self, cases: Iterable[ScheduleState]) -> None:
        for at, group in groupby(
            cases, lambda case: -(-(case.next_check_at or 0) // BATCH_WINDOW_MS) * BATCH_WINDOW_MS
        ):
            made = [plan(case, at, owner=self.owner, lease=self.settings.lease) for case in group]
            plans = [p for p in made if p.new]
            if plans:
                self.batches.append(Batch(at, plans, self.store.prepare([update_of(p) for p in plans])))
                self.held.update(p.state.identity for p in plans)
        self.batches.sort(key=lambda batch: batch.at)

    def _forget(self) -> None:
        self.batches.clear()
        self.held.clear()
