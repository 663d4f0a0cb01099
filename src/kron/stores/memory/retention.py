"""Retention of the in-memory store: removes old records in bounded steps."""

from __future__ import annotations

from itertools import islice

from kron.engine.store import Maintained
from kron.stores.memory.tables import Tables

LIMIT = 10_000  # maximum number of schedules, and of records, that one call handles


class Retention:
    """Removal of records older than a horizon. Each call continues with the schedules where the last call stopped."""

    def __init__(self) -> None:
        self.horizon = 0
        self.waiting: list[str] = []  # schedules that this round has not handled yet

    def prune(self, tables: Tables, horizon: int) -> Maintained:
        """Remove a bounded number of records that are older than `horizon` (milliseconds)."""
        self.horizon = max(self.horizon, horizon)
        if not self.waiting:
            self.waiting = list(tables.cases)
        removed = 0
        for _ in range(min(LIMIT, len(self.waiting))):
            if removed >= LIMIT:
                break
            removed += self._schedule(tables, self.waiting.pop(), LIMIT - removed)
        return Maintained(removed, bool(self.waiting))

    def _schedule(self, tables: Tables, name: str, most: int) -> int:
        """Remove old records of a schedule. Returns their number. A deleted schedule goes with its last record."""
        runs = tables.ledger.get(name, {})
        recorded = (run for run in runs.values() if run.created < self.horizon)
        over = [r.key for r in recorded if not r.open and r.changed < self.horizon and r.nominal * 1000 < self.horizon]
        for key in islice(over, most):
            del runs[key], tables.owner_of[key]
            tables.names.pop(key, None)
        if len(over) > most:
            self.waiting.append(name)
            return most
        gaps = tables.dropped.get(name, [])
        kept = [gap for gap in gaps if gap.last * 1000 >= self.horizon]
        if len(kept) < len(gaps):
            tables.dropped[name] = kept
        return len(over) + len(gaps) - len(kept) + self._tombstone(tables, name)

    def _tombstone(self, tables: Tables, name: str) -> int:
        case = tables.cases.get(name)
        if case is None or not case.deleted or tables.ledger.get(name) or tables.dropped.get(name):
            return 0
        done = [*tables.recorded_actions.get(name, ()), *tables.history.get(name, ())]
        if any(each.at >= self.horizon for each in done):
            return 0
        for table in (
            tables.cases,
            tables.ledger,
            tables.open,
            tables.dropped,
            tables.history,
            tables.recorded_actions,
            tables.ahead,
        ):
            table.pop(name, None)
        tables.ordered = []
        return 1
