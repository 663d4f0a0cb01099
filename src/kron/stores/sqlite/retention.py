"""Retention of the SQLite store: removes old records in bounded steps, so that a worker's pass never waits for long."""

from __future__ import annotations

import json

from kron.engine.store import Maintained
from kron.stores.sqlite.file import File
from kron.stores.sqlite.outcome_counts import merge_minutes

MAX_RECORDS_PER_CALL = 1_000  # records of each kind that one call handles


class Retention:
    """Removal of records older than a horizon. It handles runs in the order in which they were recorded."""

    def __init__(self, file: File) -> None:
        self.file, self.rows = file, file.rows
        self.last_row = 0  # last row that was handled; 0: start with the first one

    def maintain(self, now: int, keep: int | None) -> Maintained:
        """Merge old counters, and remove records that are older than `keep` milliseconds, in the file's thread."""
        more = merge_minutes(self.rows, now, MAX_RECORDS_PER_CALL)
        removed = Maintained() if keep is None else self.prune(now - keep)
        return removed._replace(more=removed.more or more)

    def prune(self, horizon: int) -> Maintained:
        """Remove a bounded number of records that are older than `horizon` (milliseconds), in the file's thread."""
        self.rows("set_horizon", horizon=horizon)
        runs, more = self._prune_runs(horizon)
        gaps = self.file.count("remove_gaps", horizon=horizon, limit=MAX_RECORDS_PER_CALL)
        names = [name for (name,) in self.rows("tombstones", horizon=horizon, limit=MAX_RECORDS_PER_CALL)]
        if names:
            for query in ("remove_actions", "remove_revisions", "remove_schedules"):
                self.rows(query, names=json.dumps(names))
        requests = self.file.count("remove_requests", horizon=horizon, limit=MAX_RECORDS_PER_CALL)
        counts = self.file.count("remove_outcome_counts", horizon=horizon, limit=MAX_RECORDS_PER_CALL)
        removed = runs + gaps + len(names) + requests + counts
        return Maintained(removed, more or MAX_RECORDS_PER_CALL in (gaps, len(names), requests, counts))

    def _prune_runs(self, horizon: int) -> tuple[int, bool]:
        """Remove old runs. Returns their number, and whether there can be more. Open runs are skipped."""
        rows = self.rows("first_recorded", horizon=horizon, after=self.last_row, limit=MAX_RECORDS_PER_CALL)
        expired_rows = [row_id for row_id, _, is_expired in rows if is_expired]
        if expired_rows:
            self.rows("remove_runs", rows=json.dumps(expired_rows))
        more = len(rows) == MAX_RECORDS_PER_CALL and bool(rows[-1][1])
        self.last_row = rows[-1][0] if more else 0
        return len(expired_rows), more
