"""Retention of the in-memory store: removes old records in bounded steps."""

from __future__ import annotations

from itertools import islice

from kron.engine.store import Maintained
from kron.rules.action import REQUESTS
from kron.stores.memory.tables import Tables

MAX_RECORDS_PER_CALL = 10_000  # maximum number of schedules, and of records, that one call handles


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
        for _ in range(min(MAX_RECORDS_PER_CALL, len(self.waiting))):
            if removed >= MAX_RECORDS_PER_CALL:
                break
            removed += self._prune_schedule(tables, self.waiting.pop(), MAX_RECORDS_PER_CALL - removed)
        return Maintained(removed, bool(self.waiting))

    def _prune_schedule(self, tables: Tables, name: str, limit: int) -> int:
        """Remove old records of a schedule. Returns their number. A deleted schedule goes with its last record."""
        runs = tables.ledger.get(name, {})
        old_runs = (run for run in runs.values() if run.created < self.horizon)
        expired_keys = [
            run.key
            for run in old_runs
            if not run.open and run.changed < self.horizon and run.nominal * 1000 < self.horizon
        ]
        for key in islice(expired_keys, limit):
            del runs[key], tables.owner_of[key]
            tables.names.pop(key, None)
            tables.tried.pop(key, None)
        if len(expired_keys) > limit:
            self.waiting.append(name)
            return limit
        gaps = tables.dropped.get(name, [])
        kept_gaps = [gap for gap in gaps if gap.last * 1000 >= self.horizon]
        if len(kept_gaps) < len(gaps):
            tables.dropped[name] = kept_gaps
        removed = len(expired_keys) + len(gaps) - len(kept_gaps) + self._remove_requests(tables, name)
        return removed + self._remove_deleted(tables, name)

    def _remove_requests(self, tables: Tables, name: str) -> int:
        """Remove old requests for runs of a schedule. Returns their number."""
        actions = tables.recorded_actions.get(name, [])
        kept = [action for action in actions if action.kind not in REQUESTS or action.at >= self.horizon]
        if len(kept) < len(actions):
            tables.recorded_actions[name] = kept
        return len(actions) - len(kept)

    def _remove_deleted(self, tables: Tables, name: str) -> int:
        state = tables.cases.get(name)
        if state is None or not state.deleted or tables.ledger.get(name) or tables.dropped.get(name):
            return 0
        records = [*tables.recorded_actions.get(name, ()), *tables.history.get(name, ())]
        if any(record.at >= self.horizon for record in records):
            return 0
        for table in (
            tables.cases,
            tables.ledger,
            tables.open,
            tables.dropped,
            tables.history,
            tables.recorded_actions,
            tables.ahead,
            tables.last_states,
        ):
            table.pop(name, None)
        tables.ordered = []
        return 1
