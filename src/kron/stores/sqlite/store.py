"""SQLite store: one file, durable, shared by the processes of one host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kron.engine.clock import Clock
from kron.engine.fleet import Fleet, Share, kind_of, shard_of
from kron.engine.store import FIRST, Found, Maintained
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.outcome import GapRecord
from kron.rules.run import Run, exclusive
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate, can_commit, can_update_run, is_simple_insert
from kron.stores.codec import (
    ACTION,
    GAP,
    RUN,
    STANDING,
    read_action,
    read_gap,
    read_revision,
    read_run,
    write_revision,
    write_standing,
)
from kron.stores.job_codec import JOB, JobRow, write_job
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.register import Register
from kron.stores.sqlite.attempts import read_attempts, write_attempts
from kron.stores.sqlite.cases import Cases
from kron.stores.sqlite.file import File
from kron.stores.sqlite.fleet import lease, read_register
from kron.stores.sqlite.parameters import label_values, share_values, upper_bound
from kron.stores.sqlite.retention import Retention

LOCK_SECONDS = 10.0  # seconds to wait for the write lock of other processes


class _PartlyRejected(Exception):
    """Error: an update of a `together` commit was rejected, so that all of them are rolled back."""


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
        self.retention = Retention(self.file)

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
            return await self.file.write(lambda: self._commit_all(updates, together))
        except _PartlyRejected:
            return [False] * len(updates)

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return await self.file.write(lambda: [self._change(change) for change in changes])

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
        return await self.file.read(lambda: self._read_runs(keys))

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
        parameters = {"prefix": prefix, "beyond": upper_bound(prefix), "limit": limit, "before": before}
        rows = await self.file.read(
            lambda: self.rows("dead_letters_before" if before else "dead_letters", **parameters)
        )
        return [read_run(row) for row in rows]

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
        """Return the recorded actions of a schedule, in the order in which they were written."""
        rows = await self.file.read(lambda: self.rows("actions", schedule_id=identity))
        return [read_action(identity, row) for row in rows]

    # The private methods that follow run in the file's thread.

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records. The file does not shrink: new records reuse the space."""
        return Maintained() if keep is None else await self.file.write(lambda: self.retention.prune(now - keep))

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        ((horizon,),) = await self.file.read(lambda: self.rows("horizon"))
        return int(horizon)

    def _read_runs(self, keys: Sequence[str]) -> list[Run | None]:
        runs_by_key = {row[0]: read_run(row) for row in self.rows("runs_by_key", keys=json.dumps(keys))}
        return [runs_by_key.get(key) for key in keys]

    def _read_run_id(self, key: str) -> str | None:
        rows = self.rows("run_id", key=key)
        return str(rows[0][0]) if rows else None

    def _commit_all(self, updates: Sequence[ScheduleUpdate], together: bool) -> list[bool]:
        keys, written = [run.key for update in updates for run in update.new], list[bool]()
        existing_keys = {key for (key,) in self.rows("existing_keys", keys=json.dumps(keys))}
        new_rows = list[dict[str, Any]]()
        for update in updates:
            if is_simple_insert(update) and self._advance_cursor(update, existing_keys):
                new_rows.extend(_run_rows(update))
                written.append(True)
            else:
                self._insert_runs(new_rows)  # the next update must see the writes before it
                written.append(self._commit_update(update, existing_keys))
            existing_keys.update(run.key for run in update.new if written[-1])
        self._insert_runs(new_rows)
        if together and not all(written):
            raise _PartlyRejected  # rolls back what was written
        return written

    def _commit_update(self, update: ScheduleUpdate, existing_keys: set[str]) -> bool:
        after = update.after
        stored = self.cases.get(after.identity)
        if not can_commit(update, stored, existing_keys):
            return False
        unchanged = stored is not None and stored.revision == after.revision
        row = None if unchanged else write_job(after.job)
        self._write_schedule(stored, after, next_period(after, update.new), row)
        for _, run in sorted(update.changed, key=lambda pair: pair[1].active):  # end runs before others start
            self.rows("update_run", **RUN.row(run), exclusive=exclusive(run, after.policy))
        write_attempts(self.rows, update.attempts)
        if update.gap:
            self.rows("insert_gap", schedule_id=after.identity, **GAP.row(update.gap))
        self._insert_runs(_run_rows(update))
        if update.revision and row:
            self.rows("insert_revision", **write_revision(update.revision, row))
        if update.action:
            self.rows("insert_action", schedule_id=after.identity, **ACTION.row(update.action))
        return True

    def _advance_cursor(self, update: ScheduleUpdate, existing_keys: set[str]) -> bool:
        """Commit an update that only adds scheduled periods, by compare-and-set. If it fails, `can_commit` decides."""
        before, after = update.before, update.after
        assert before is not None  # noqa: S101  the update is a simple insert
        if before.open_runs or any(run.key in existing_keys for run in update.new):  # open runs are not compared
            return False
        new_values = {
            "cursor": after.cursor,
            "wake": after.next_check_at,
            "revision": before.revision,
            "next_at": next_period(after, update.new),
        }
        expected = {"schedule_id": after.identity, "old_cursor": before.cursor, "old_since": before.effective_from}
        return self.file.count("advance_cursor", **new_values, **expected) == 1

    def _insert_runs(self, rows: list[dict[str, Any]]) -> None:
        self.file.put("insert_run", rows)
        rows.clear()

    def _write_schedule(
        self, stored: ScheduleState | None, after: ScheduleState, next_at: int | None, row: JobRow | None
    ) -> None:
        """Write a schedule: its definition, which is None if it is unchanged, and its progress."""
        progress = {**STANDING.row(write_standing(after)), "next_at": next_at}
        if row is None:
            self.rows("write_progress", schedule_id=after.identity, **progress)
            return
        query = "define" if stored is None else "redefine"
        placement = {"shard": shard_of(after.identity), "kind": kind_of(after.job.target)}
        self.rows(query, schedule_id=after.identity, **placement, **JOB.row(row), **progress)

    def _change(self, change: RunUpdate) -> bool:
        before, after = change.before, change.after
        state, attempt, owner, lease = before.token
        token = {"old_state": str(state), "old_attempt": attempt, "old_owner": owner, "old_lease": lease}
        if not can_update_run(before, change) or not self.file.count("update_attempt", **RUN.row(after), **token):
            self._read_runs([after.key])  # raises if the row cannot be read
            return False
        if change.run_id:
            self.rows("write_run_id", key=after.key, run_id=change.run_id)
        if change.attempt:
            write_attempts(self.rows, [(after, change.attempt)])
        if change.next_check_at is not None:
            query = "wake_earlier" if change.failed is None else "count_end"
            values = {"wake": change.next_check_at, "revision": after.revision, "failed": change.failed}
            self.rows(query, schedule_id=after.identity, **values)
        return True


def _run_rows(update: ScheduleUpdate) -> list[dict[str, Any]]:
    """Return the rows of an update's new runs."""
    policy = update.after.policy
    return [{**RUN.row(run), "exclusive": exclusive(run, policy)} for run in update.new]
