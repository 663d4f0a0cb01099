"""Commits of the SQLite store, in the file's thread: simple inserts by compare-and-set, others after a full check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kron.engine.fleet import kind_of, shard_of
from kron.rules.run import Run, exclusive
from kron.rules.state import ScheduleState
from kron.rules.tally import end_of, ends_of
from kron.rules.upcoming import next_period
from kron.rules.update import RunUpdate, ScheduleUpdate, can_commit, can_update_run, is_creation, is_simple_insert
from kron.stores.codec import ACTION, GAP, RUN, STANDING, read_run, write_revision, write_standing
from kron.stores.job_codec import JOB, JobRow, write_job
from kron.stores.sqlite.attempts import write_attempts
from kron.stores.sqlite.cases import Cases
from kron.stores.sqlite.file import File
from kron.stores.sqlite.outcome_counts import write_ends


class PartlyRejected(Exception):
    """Error: an update of a `together` commit was rejected, so that all of them are rolled back."""


class Waiting:
    """Rows that are inserted together: SQLite needs less time for many rows of one statement."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.schedules, self.revisions, self.runs = (list[dict[str, Any]]() for _ in range(3))

    def insert(self) -> None:
        """Insert the rows, schedules first, because the others refer to them."""
        for query, rows in (("define", self.schedules), ("insert_revision", self.revisions), ("insert_run", self.runs)):
            self.file.put(query, rows)
            rows.clear()


class Commits:
    """Writer of updates in one file. Its methods run in the file's thread, within one transaction."""

    def __init__(self, file: File, cases: Cases) -> None:
        self.file, self.rows, self.cases = file, file.rows, cases

    def commit(self, updates: Sequence[ScheduleUpdate], together: bool) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        keys, written = [run.key for update in updates for run in update.new], list[bool]()
        existing_keys = {key for (key,) in self.rows("existing_keys", keys=json.dumps(keys))}
        waiting, absent = Waiting(self.file), self._absent(updates)
        for update in updates:
            if is_simple_insert(update) and self._advance_cursor(update, existing_keys):
                waiting.runs.extend(_run_rows(update))
                written.append(True)
            elif update.after.identity in absent and is_creation(update):
                absent.discard(update.after.identity)
                written.append(self._create(update, existing_keys, waiting))
            else:
                waiting.insert()  # the next update must see the writes before it
                written.append(self._commit_update(update, existing_keys))
            existing_keys.update(run.key for run in update.new if written[-1])
        waiting.insert()
        if together and not all(written):
            raise PartlyRejected  # rolls back what was written
        committed = (update for update, is_written in zip(updates, written, strict=True) if is_written)
        write_ends(self.rows, [end for update in committed for end in ends_of(update)])
        return written

    def update_runs(self, changes: Sequence[RunUpdate]) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        written = [self._change(change) for change in changes]
        ended = [change.after for change, ok in zip(changes, written, strict=True) if ok and not change.after.open]
        write_ends(self.rows, [end_of(run) for run in sorted(ended, key=lambda run: run.nominal)])
        return written

    def read_runs(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        runs_by_key = {row[0]: read_run(row) for row in self.rows("runs_by_key", keys=json.dumps(keys))}
        return [runs_by_key.get(key) for key in keys]

    def _absent(self, updates: Sequence[ScheduleUpdate]) -> set[str]:
        """Return the identities that updates define for the first time and that no stored schedule has."""
        identities = {update.after.identity for update in updates if update.before is None}
        if identities:
            names = json.dumps(sorted(identities))
            identities.difference_update(identity for (identity,) in self.rows("existing_schedules", names=names))
        return identities

    def _create(self, update: ScheduleUpdate, existing_keys: set[str], waiting: Waiting) -> bool:
        """Add the rows of a schedule that does not exist yet."""
        after, revision = update.after, update.revision
        if revision is None or not can_commit(update, None, existing_keys):
            return False
        row = write_job(after.job)
        waiting.schedules.append(_schedule_row(after, next_period(after, update.new), row))
        waiting.revisions.append(write_revision(revision, row))
        waiting.runs.extend(_run_rows(update))
        return True

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
        self.file.put("insert_run", _run_rows(update))
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

    def _write_schedule(
        self, stored: ScheduleState | None, after: ScheduleState, next_at: int | None, row: JobRow | None
    ) -> None:
        """Write a schedule: its definition, which is None if it is unchanged, and its progress."""
        if row is None:
            self.rows("write_progress", schedule_id=after.identity, **_progress_row(after, next_at))
        else:
            self.rows("define" if stored is None else "redefine", **_schedule_row(after, next_at, row))

    def _change(self, change: RunUpdate) -> bool:
        before, after = change.before, change.after
        state, attempt, owner, lease = before.token
        token = {"old_state": str(state), "old_attempt": attempt, "old_owner": owner, "old_lease": lease}
        if not can_update_run(before, change) or not self.file.count("update_attempt", **RUN.row(after), **token):
            self.read_runs([after.key])  # raises if the row cannot be read
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


def _schedule_row(after: ScheduleState, next_at: int | None, row: JobRow) -> dict[str, Any]:
    """Return the whole row of a schedule."""
    placement = {"shard": shard_of(after.identity), "kind": kind_of(after.job.target)}
    return {"schedule_id": after.identity, **placement, **JOB.row(row), **_progress_row(after, next_at)}


def _progress_row(after: ScheduleState, next_at: int | None) -> dict[str, Any]:
    return {**STANDING.row(write_standing(after)), "next_at": next_at}


def _run_rows(update: ScheduleUpdate) -> list[dict[str, Any]]:
    """Return the rows of an update's new runs."""
    policy = update.after.policy
    return [{**RUN.row(run), "exclusive": exclusive(run, policy)} for run in update.new]
