"""SQLite store: one file, durable, shared by the processes of one host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kron.engine.clock import Clock
from kron.engine.fleet import Fleet, Share, kind_of
from kron.engine.store import FIRST, Found, Maintained
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.scope import scope_of
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate
from kron.stores.codec import read_action, read_gap, read_revision, read_run
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.register import Register
from kron.stores.sqlite.attempts import read_attempts
from kron.stores.sqlite.cases import Cases
from kron.stores.sqlite.commit import Commits, PartlyRejected
from kron.stores.sqlite.event_ring import SqliteEventRing
from kron.stores.sqlite.file import File
from kron.stores.sqlite.fleet import lease, read_register
from kron.stores.sqlite.overview import SqliteOverview, runs_in_trouble
from kron.stores.sqlite.parameters import label_values, share_values, upper_bound
from kron.stores.sqlite.retention import Retention

LOCK_SECONDS = 10.0  # seconds to wait for the write lock of other processes


class SqliteStore:
    """Store in one SQLite file. Each method is atomic, and its writes are on disk when it returns.

    Args:
        path: The file. It is created if it does not exist.
        clock: Clock of the store.
        patience: Seconds to wait for the write lock of other processes.
        presets: Policies that fill in what the authors of stored schedules left open.
    """

    def __init__(
        self, path: str | Path, clock: Clock, *, patience: float = LOCK_SECONDS, presets: Presets = BUILT_IN
    ) -> None:
        self.clock = clock
        self.file = File(Path(path), patience)
        self.rows = self.file.rows
        self.cases = Cases(self.rows, presets)
        self.commits = Commits(self.file, self.cases)
        self.retention = Retention(self.file)
        self.overview = SqliteOverview(self.file, presets)
        self.events = SqliteEventRing(self.file, self.now)

    async def close(self) -> None:
        """Finish the work that has begun, then close the file."""
        await self.file.close()

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int, tz: str = "") -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        return await self.file.write(lambda: lease(self.rows, owner, kinds, int(self.clock.now() * 1000), length, tz))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        rows = await self.file.read(
            lambda: [row for share in shares for row in self.rows("next_check", **share_values(share))]
        )
        return await self.now(), min((wake for (wake,) in rows), default=None)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        parameters = {**share_values(share), "upto": upto, "limit": limit, "after": beyond[0], "identity": beyond[1]}
        return await self.file.read(lambda: self.cases.readable("due_schedules", **parameters))

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        await self.file.write(lambda: self.rows("set_aside", schedule_id=identity, until=until, reason=reason))

    def prepare(self, updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates unchanged: this store has nothing to prepare."""
        return updates

    async def commit(self, updates: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        try:
            return await self.file.write(lambda: self.commits.commit(updates, together))
        except PartlyRejected:
            return [False] * len(updates)

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return await self.file.write(lambda: self.commits.update_runs(changes))

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the schedules of those identities; None for each that does not exist."""

        def work() -> tuple[list[ScheduleState], Register]:
            return self.cases.of("schedules", names=json.dumps(identities)), read_register(self.rows)

        (states, register), now = await self.file.read(work), await self.now()
        states_by_identity = {
            state.identity: state._replace(downtime=register.downtime(kind_of(state.job.target), now))
            for state in states
        }
        return [states_by_identity.get(identity) for identity in identities]

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the schedules of those identities, and the time (milliseconds) at which they were read."""
        return await self.get(identities), await self.now()

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        return await self.file.read(lambda: self.commits.read_runs(keys))

    async def identities(
        self,
        after: str,
        limit: int,
        prefix: str = "",
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
    ) -> list[str]:
        """Return a page of the identities, in order."""
        parameters: dict[str, Any] = {"prefix": prefix, "beyond": upper_bound(prefix)}
        parameters |= {"paused": paused, "deleted": deleted}
        query, parameters = ("labelled_identities" if labels else "identities"), parameters | label_values(labels)
        rows = await self.file.read(lambda: self.rows(query, after=after, limit=limit, **parameters))
        return [identity for (identity,) in rows]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        query = "runs_before" if before else "runs"
        rows = await self.file.read(lambda: self.rows(query, schedule_id=identity, limit=limit, before=before))
        return [read_run(row) for row in rows]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        position = None
        if before:
            (run,) = await self.runs_by_key([before])
            if run is None or not run.dead or not run.identity.startswith(prefix):
                return []
            position = run.changed, run.key
        return await runs_in_trouble(self.file, scope_of(prefix), prefix, ["dead"], limit, position)

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        return await self.file.read(lambda: [self._read_run_id(key) for key in keys])

    async def attempts(self, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
        """Return the recorded attempts of those runs, oldest first."""
        return await self.file.read(lambda: read_attempts(self.rows, keys))

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        rows = await self.file.read(lambda: self.rows("gaps", schedule_id=identity))
        return [read_gap(identity, row) for row in rows]

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        rows = await self.file.read(lambda: self.rows("revisions", schedule_id=identity))
        return [read_revision(row, self.cases.presets) for row in rows]

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded changes of a schedule, in the order in which they were written."""
        rows = await self.file.read(lambda: self.rows("actions", schedule_id=identity))
        return [read_action(identity, row) for row in rows]

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records. The file does not shrink: new records reuse the space."""
        return await self.file.write(lambda: self.retention.maintain(now, keep))

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        ((horizon,),) = await self.file.read(lambda: self.rows("horizon"))
        return int(horizon)

    def _read_run_id(self, key: str) -> str | None:
        rows = self.rows("run_id", key=key)
        return str(rows[0][0]) if rows else None
