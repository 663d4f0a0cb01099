"""Schedule states, read from a SQLite file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kron.engine.store import Found, Unreadable
from kron.errors import UnreadableRecord
from kron.rules.run import Run
from kron.rules.state import NOTHING, ScheduleState
from kron.stores.codec import WIDTH, Standing, read_ahead, read_case, read_revision, read_run
from kron.stores.presets import Presets
from kron.stores.sqlite.fleet import Rows
from kron.timing.job import Job

WAKE = 1 + WIDTH + Standing._fields.index("wake")  # column of `wake` in the rows of schedules


class Cases:
    """Reader of schedule states with their open runs. `presets` fill in what the authors of schedules left open."""

    def __init__(self, rows: Rows, presets: Presets) -> None:
        self.rows, self.presets = rows, presets

    def readable(self, query: str, **values: Any) -> list[Found]:
        """Return the schedule states of a query. A row that cannot be read becomes an `Unreadable`."""
        try:
            return list(self.of(query, **values))
        except UnreadableRecord:
            names = [(row[0], row[WAKE]) for row in self.rows(query, **values)]
            return [self._one(name, wake) for name, wake in names]

    def _one(self, name: str, wake: int) -> ScheduleState | Unreadable:
        try:
            case = self.get(name)
        except UnreadableRecord as error:
            return Unreadable(name, wake, error.message)
        return case or Unreadable(name, wake, "the schedule no longer exists")

    def of(self, query: str, **values: Any) -> list[ScheduleState]:
        """Return the schedule states of a query, with open runs and the periods handled beyond their cursors."""
        cases = [read_case(row, self.presets) for row in self.rows(query, **values)]
        names = json.dumps([case.identity for case in cases])
        runs, ahead = defaultdict[str, list[Run]](list), defaultdict[str, list[tuple[int]]](list)
        for row in self.rows("open_runs", names=names) if cases else []:
            runs[row[1]].append(read_run(row))
        for name, nominal in self.rows("ahead", names=names) if cases else []:
            ahead[name].append((nominal,))
        if not runs and not ahead:
            return cases
        return [
            case._replace(
                open_runs=tuple(runs[case.identity]),
                handled_ahead=read_ahead(case.identity, ahead[case.identity]),
                former=self._former(case, runs[case.identity]),
            )
            for case in cases
        ]

    def _former(self, case: ScheduleState, runs: list[Run]) -> Mapping[int, Job]:
        """Return the older definitions under which open runs were recorded, by revision."""
        numbers = {run.revision for run in runs} - {case.revision}
        if not numbers:
            return NOTHING
        rows = self.rows("revisions", schedule_id=case.identity)
        revisions = (read_revision(row, self.presets) for row in rows)
        return {r.number: r.job for r in revisions if r.number in numbers}

    def get(self, identity: str) -> ScheduleState | None:
        """Return the state of a schedule; None if it does not exist."""
        found = self.of("schedules", names=json.dumps([identity]))
        return found[0] if found else None
