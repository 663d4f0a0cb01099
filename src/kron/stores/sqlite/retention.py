"""Retention in a SQLite file: old records are removed a few at a time, so that a tick never waits for long."""

from __future__ import annotations

import json

from kron.store import Maintained
from kron.stores.sqlite.file import File

LIMIT = 1_000  # records of each kind that one call looks at


class Retention:
    """Removes what is older than a horizon. It goes through the runs in the order in which they were recorded."""

    def __init__(self, file: File) -> None:
        self.file, self.rows = file, file.rows
        self.place = 0  # the row up to which runs were looked at; 0: from the first one on

    def prune(self, horizon: int) -> Maintained:
        """Remove a bounded number of records that are older than `horizon` (milliseconds), in the file's thread."""
        self.rows("keep_from", horizon=horizon)
        runs, more = self._runs(horizon)
        gaps = self.file.count("forget_gaps", horizon=horizon, limit=LIMIT)
        names = [name for (name,) in self.rows("tombstones", horizon=horizon, limit=LIMIT)]
        if names:
            for query in ("forget_acts", "forget_revisions", "forget_schedules"):
                self.rows(query, names=json.dumps(names))
        return Maintained(runs + gaps + len(names), more or LIMIT in (gaps, len(names)))

    def _runs(self, horizon: int) -> tuple[int, bool]:
        """How many runs were removed, and whether there may be more. Open ones are passed over."""
        found = self.rows("first_recorded", horizon=horizon, after=self.place, limit=LIMIT)
        old = [row for row, _, over in found if over]
        if old:
            self.rows("forget_runs", rows=json.dumps(old))
        more = len(found) == LIMIT and bool(found[-1][1])
        self.place = found[-1][0] if more else 0
        return len(old), more
