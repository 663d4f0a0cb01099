"""Retention in memory: old records are removed a few at a time."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kron.store import Maintained

if TYPE_CHECKING:
    from kron.stores.memory import MemoryStore

LIMIT = 10_000  # schedules, and runs, that one call looks at


class Retention:
    """Removes what is older than a horizon. It goes through the schedules, from where the last call stopped."""

    def __init__(self) -> None:
        self.horizon = 0
        self.waiting: list[str] = []  # schedules that this round has not looked at yet

    def prune(self, store: MemoryStore, horizon: int) -> Maintained:
        """Remove a bounded number of records that are older than `horizon` (milliseconds)."""
        self.horizon = max(self.horizon, horizon)
        if not self.waiting:
            self.waiting = list(store.cases)
        removed = 0
        for _ in range(min(LIMIT, len(self.waiting))):
            if removed >= LIMIT:
                break
            removed += self._schedule(store, self.waiting.pop(), LIMIT - removed)
        return Maintained(removed, bool(self.waiting))

    def _schedule(self, store: MemoryStore, name: str, most: int) -> int:
        """How many records of a schedule were removed: with its last one, a deleted schedule goes, too."""
        runs = store.ledger.get(name, {})
        recorded = (run for run in runs.values() if run.created < self.horizon)
        over = [r.key for r in recorded if not r.open and r.changed < self.horizon and r.nominal * 1000 < self.horizon]
        for key in islice(over, most):
            del runs[key], store.owner_of[key]
            store.names.pop(key, None)
        if len(over) > most:
            self.waiting.append(name)
            return most
        gaps = store.dropped.get(name, [])
        kept = [gap for gap in gaps if gap.last * 1000 >= self.horizon]
        if len(kept) < len(gaps):
            store.dropped[name] = kept
        return len(over) + len(gaps) - len(kept) + self._tombstone(store, name)

    def _tombstone(self, store: MemoryStore, name: str) -> int:
        case = store.cases.get(name)
        if case is None or not case.deleted or store.ledger.get(name) or store.dropped.get(name):
            return 0
        done = [*store.deeds.get(name, ()), *store.history.get(name, ())]
        if any(each.at >= self.horizon for each in done):
            return 0
        for table in (store.cases, store.ledger, store.open, store.dropped, store.history, store.deeds, store.ahead):
            table.pop(name, None)
        store.ordered = []
        return 1
