"""Foresight: what will be due soon is read and planned before its second; in that second it is only written.

Nothing rests on it. A plan made ahead is written as any other is, if its schedule is still as it was read; and who has
forgotten his plans, or comes too late with them, looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from kron.core.case import Case
from kron.core.plan import Plan, plan
from kron.fleet import Share
from kron.settings import Settings
from kron.store import Settlement, Store, settlement

GRAIN = 100  # milliseconds: what falls due within them is written together, at their end
LATE = 900  # milliseconds: within a second every policy takes it for on time; later it is planned anew
ROUNDS = 4  # looks at the same time ahead, as it comes nearer: what was not due then may be now


class Batch(NamedTuple):
    """Plans for one instant."""

    at: int
    plans: list[Plan]
    settlements: Sequence[Settlement]


class Foresight:
    """The plans that a worker has made ahead, no more of them than it may send at once."""

    def __init__(self, store: Store, owner: str, settings: Settings) -> None:
        self.store, self.owner, self.settings = store, owner, settings
        self.batches: list[Batch] = []
        self.held: set[str] = set()  # whose plans those are
        self.share = Share(frozenset(), frozenset())
        self.place = (0, "")  # how far this round has come, in the order in which schedules are looked at
        self.upto = self.again = 0  # how far it goes, and when the next one begins

    async def look(self, share: Share, now: int, informed: Callable[[Case], Case], most: int | None = None) -> bool:
        """Plan a page more of what lies ahead, `most` schedules at once. Whether there is yet more to plan."""
        ahead, page = self.settings.lookahead, most or self.settings.batch
        if share != self.share or self.again > now + ahead:  # others look there now, or the clock was set back
            self._forget()
            self.share, self.again = share, now
        if now >= self.again:
            self.place, self.upto, self.again = (now + 1, ""), now + ahead, now + ahead // ROUNDS
        room = self.settings.inflight - len(self.held)
        if self.place[0] > self.upto or room <= 0:
            return False
        found = await self.store.look(share, self.upto, min(page, room), self.place)
        if len(found) < min(page, room):
            self.place = (self.upto + 1, "")
        else:
            self.place = (found[-1].wake or 0, found[-1].identity)
        cases = [informed(case) for case in found if isinstance(case, Case)]
        self._keep(case for case in cases if not (case.open or case.ahead or case.paused or case.identity in self.held))
        return self.place[0] <= self.upto

    def ripe(self, now: int, room: int) -> list[Batch]:
        """The batches whose instant has come, for as many plans as there is room. They are given away."""
        found, left = list[Batch](), list[Batch]()
        for batch in self.batches:
            if batch.at > now:
                left.append(batch)
                continue
            self.held.difference_update(p.case.identity for p in batch.plans)
            room -= len(batch.plans)
            if batch.at >= now - LATE and (room >= 0 or not found):
                found.append(batch)
        self.batches = left
        return found

    def _keep(self, cases: Iterable[Case]) -> None:
        for at, group in groupby(cases, lambda case: -(-(case.wake or 0) // GRAIN) * GRAIN):
            made = [plan(case, at, owner=self.owner, lease=self.settings.lease) for case in group]
            plans = [p for p in made if p.new]
            if plans:
                self.batches.append(Batch(at, plans, self.store.prepare([settlement(p) for p in plans])))
                self.held.update(p.case.identity for p in plans)
        self.batches.sort(key=lambda batch: batch.at)

    def _forget(self) -> None:
        self.batches.clear()
        self.held.clear()
