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
from kron.stores.codec import Standing, read_ahead, read_revision, read_run, read_state
from kron.stores.job_codec import JOB_COLUMNS
from kron.stores.presets import Presets
from kron.stores.sqlite.fleet import Rows
from kron.timing.job import Job

WAKE_COLUMN = 1 + JOB_COLUMNS + Standing._fields.index("wake")  # column of `wake` in the rows of schedules


class Cases:
    """Reader of schedule states with their open runs. `presets` fill in what the authors of schedules left open."""

    def __init__(self, rows: Rows, presets: Presets) -> None:
        self.rows, self.presets = rows, presets

    def readable(self, query: str, **values: Any) -> list[Found]:
        """Return the schedule states of a query. A row that cannot be read becomes an `Unreadable`."""
        try:
            return list(self.of(query, **values))
        except UnreadableRecord:
            names = [(row[0], row[WAKE_COLUMN]) for row in self.rows(query, **values)]
            return [self._read_one(name, wake) for name, wake in names]

    def _read_one(self, name: str, wake: int) -> ScheduleState | Unreadable:
        try:
            state = self.get(name)
        except UnreadableRecord as error:
            return Unreadable(name, wake, error.message)
        return state or Unreadable(name, wake, "the schedule no longer exists")

    def of(self, query: str, **values: Any) -> list[ScheduleState]:
        """Return the schedule states of a query, with open runs and the periods handled beyond their cursors."""
        states = [read_state(row, self.presets) for row in self.rows(query, **values)]
        names = json.dumps([state.identity for state in states])
        runs, ahead = defaultdict[str, list[Run]](list), defaultdict[str, list[tuple[int]]](list)
        for row in self.rows("open_runs", names=names) if states else []:
            runs[row[1]].append(read_run(row))
        for name, nominal in self.rows("ahead", names=names) if states else []:
            ahead[name].append((nominal,))
        if not runs and not ahead:
            return states
        return [
            state._replace(
                open_runs=tuple(runs[state.identity]),
                handled_ahead=read_ahead(state.identity, ahead[state.identity]),
                former=self._former_jobs(state, runs[state.identity]),
            )
            for state in states
        ]

    def _former_jobs(self, state: ScheduleState, runs: list[Run]) -> Mapping[int, Job]:
        """Return the older definitions under which open runs were recorded, by revision."""
        numbers = {run.revision for run in runs} - {state.revision}
        if not numbers:
            return NOTHING
        rows = self.rows("revisions", schedule_id=state.identity)
        revisions = (read_revision(row, self.presets) for row in rows)
        return {revision.number: revision.job for revision in revisions if revision.number in numbers}

    def get(self, identity: str) -> ScheduleState | None:
        """Return the state of a schedule; None if it does not exist."""
        states = self.of("schedules", names=json.dumps([identity]))
        return states[0] if states else None
