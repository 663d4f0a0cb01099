"""Commits of schedule updates: simple inserts by compare-and-set, thousands in two statements; others under locks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from kron.rules.run import Run, exclusive
from kron.rules.run_state import State
from kron.rules.tally import ends_of
from kron.rules.upcoming import next_period
from kron.rules.update import ScheduleUpdate, can_commit, is_simple_insert
from kron.stores.job_codec import JobRow, write_job
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.attempts import write_attempts
from kron.stores.postgres.cases import Jobs, read_states
from kron.stores.postgres.outcome_counts import write_ends
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import (
    action_columns,
    changed_run_columns,
    definition_columns,
    digest,
    fold,
    gap_columns,
    grouped_runs,
    key_bytes,
    period_columns,
    progress_columns,
    request_columns,
    revision_columns,
)
from kron.timing.schedule.policy import Overlap

_PROGRESS_COLUMNS = [
    "revisions",
    "cursors",
    "seens",
    "next_cursors",
    "sinces",
    "wakes",
    "next_seens",
    "reaches",
    "nexts",
]


async def advance(session: Session, updates: Sequence[ScheduleUpdate], columns: dict[str, Any]) -> set[str]:
    """Commit the simple inserts whose schedules are unchanged since they were read. Returns their identities.

    A key that exists already fails the whole batch; the caller then uses `commit_locked`.
    """
    committed = {name for (name,) in await session.rows("advance", **columns["due"])}
    any_rejected = len(committed) < len(updates)
    groups = (
        grouped_runs(_new_runs(update for update in updates if update.after.identity in committed))
        if any_rejected
        else columns["runs"]
    )
    for group in groups:
        await session.execute("insert_runs", **group)
    if columns["has_ends"]:
        await write_ends(
            session, [end for update in updates if update.after.identity in committed for end in ends_of(update)]
        )
    return committed


class PreparedUpdates(list[ScheduleUpdate]):
    """Simple inserts of different schedules with their columns, ready to be sent."""

    def __init__(self, updates: Iterable[ScheduleUpdate]) -> None:
        super().__init__(updates)
        self.columns = columns_of(sorted(self, key=lambda update: update.after.job.identity))


def prepare(updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
    """Return the updates, with their columns if all of them are simple inserts of different schedules."""
    are_distinct = len({update.after.job.identity for update in updates}) == len(updates)
    return PreparedUpdates(updates) if updates and are_distinct and all(map(is_simple_insert, updates)) else updates


def columns_of(updates: Sequence[ScheduleUpdate]) -> dict[str, Any]:
    """Return the columns of simple inserts. They are built before the transaction, so that no lock waits for Python."""
    rows, new_runs = [], []
    for before, after, new, *_ in updates:
        assert before is not None  # noqa: S101  simple inserts have one
        old_cursor, digest, cursor = before.cursor, fold(before.open_runs) if before.open_runs else 0, after.cursor
        last_period = max([run.nominal for run in new]) if new else cursor
        job = after.job
        rows.append(
            (
                *(job.identity, before.revision, old_cursor, digest, cursor),
                *(after.effective_from, after.next_check_at, digest ^ fold(new), last_period, next_period(after, new)),
            )
        )
        exclusive = job.schedule.policy.overlap is not Overlap.ALLOW
        new_runs += [(run, exclusive) for run in new]
    names, *columns = zip(*rows, strict=True)
    due = {name: numbers(list(column)) for name, column in zip(_PROGRESS_COLUMNS, columns, strict=True)}
    return {
        "due": {"schedules": texts(names), **due, "paused": False, "deleted": False},
        "runs": grouped_runs(new_runs),
        "has_ends": any(run.state is not State.LAUNCHING and not run.open for run, _ in new_runs),
    }


async def commit_locked(session: Session, jobs: Jobs, updates: Sequence[ScheduleUpdate], now: int) -> list[bool]:
    """Commit each update that `can_commit` accepts, under row locks, by the same rule as the in-memory store.

    The updates must be of different schedules. Returns one bool per update.
    """
    rows = await session.rows("lock", schedules=texts(update.after.identity for update in updates))
    stored = {state.identity: state for state in await read_states(session, jobs, rows)}
    existing_keys = await _existing_keys(session, [run for update in updates for run in update.new])
    accepted = [update for update in updates if can_commit(update, stored.get(update.after.identity), existing_keys)]
    written = {
        update.after.identity: write_job(update.after.job)
        for update in accepted
        if update.revision or update.after.identity not in stored
    }
    accepted = await _define(session, accepted, stored, written, now)
    edited, others = list[ScheduleUpdate](), list[ScheduleUpdate]()
    for update in accepted:
        (edited if update.revision and update.after.identity in stored else others).append(update)
    if edited:
        await session.execute("edit", **_edit_columns(edited, written), now=now)
    if others:
        digests = {row[0]: row[1] for row in rows}
        await _write_progress(session, others, digests | {name: digest(row) for name, row in written.items()})
    revisions = [update.revision for update in others if update.revision]
    await _write_records(session, accepted, revision_columns(revisions, written) if revisions else None)
    await write_ends(session, [end for update in accepted for end in ends_of(update)])
    names = {update.after.identity for update in accepted}
    return [update.after.identity in names for update in updates]


async def _existing_keys(session: Session, runs: Sequence[Run]) -> set[str]:
    scheduled, manual = [run for run in runs if not run.trigger], [run for run in runs if run.trigger]
    period_rows = await session.rows("runs_by_period", **period_columns(scheduled)) if scheduled else []
    request_rows = (
        await session.rows("existing_requests", keys=octets(key_bytes(run.key) for run in manual)) if manual else []
    )
    return {row[0] for row in (*period_rows, *request_rows)}


async def _define(
    session: Session, accepted: list[ScheduleUpdate], known: Container[str], written: Mapping[str, JobRow], now: int
) -> list[ScheduleUpdate]:
    """Write new schedules. Drop the updates whose schedule another transaction has just created."""
    new = {name: row for name, row in written.items() if name not in known}
    if not new:
        return accepted
    created = {name for (name,) in await session.rows("define", **definition_columns(new), now=now)}
    return [update for update in accepted if update.after.identity in known or update.after.identity in created]


def _edit_columns(edited: Sequence[ScheduleUpdate], written: Mapping[str, JobRow]) -> dict[str, Any]:
    """Return the columns of schedules with a new revision: their revisions and their progress."""
    afters, revisions = [update.after for update in edited], [update.revision for update in edited if update.revision]
    return revision_columns(revisions, written) | progress_columns(
        afters, map(_open_run_digest, edited), map(_last_period, edited), map(_next_period, edited)
    )


async def _write_progress(session: Session, accepted: Sequence[ScheduleUpdate], digests: Mapping[str, int]) -> None:
    afters = [update.after for update in accepted]
    progress = progress_columns(
        afters, map(_open_run_digest, accepted), map(_last_period, accepted), map(_next_period, accepted)
    )
    await session.execute("write_progress", **progress, digests=numbers(digests[state.identity] for state in afters))


async def _write_records(
    session: Session, accepted: Sequence[ScheduleUpdate], revisions: dict[str, Any] | None
) -> None:
    changed = [(after, exclusive(after, update.after.policy)) for update in accepted for _, after in update.changed]
    for starts in (False, True):  # end runs before others start
        changed_part = [(run, exclusive) for run, exclusive in changed if run.active is starts]
        if changed_part:
            await session.execute("update_runs", **changed_run_columns(changed_part))
    await write_attempts(session, [pair for update in accepted for pair in update.attempts])
    manual_runs = [run for update in accepted for run in update.new if run.trigger]
    if manual_runs:
        await session.execute("insert_requests", **request_columns(manual_runs))
    for group in grouped_runs(_new_runs(accepted)):
        await session.execute("insert_runs", **group)
    gaps = [(update.after.identity, update.gap) for update in accepted if update.gap]
    if gaps:
        await session.execute("insert_gaps", **gap_columns(gaps))
    if revisions:
        await session.execute("insert_revisions", **revisions)
    actions = [(update.after.identity, update.action) for update in accepted if update.action]
    if actions:
        await session.execute("insert_actions", **action_columns(actions))


def _new_runs(updates: Iterable[ScheduleUpdate]) -> list[tuple[Run, bool]]:
    return [(run, exclusive(run, update.after.policy)) for update in updates for run in update.new]


def _open_run_digest(update: ScheduleUpdate) -> int:
    """Return the digest of the open runs after the update."""
    runs = {run.key: run for run in update.before.open_runs} if update.before else {}
    runs |= {run.key: run for _, run in update.changed} | {run.key: run for run in update.new}
    return fold(runs.values())


def _next_period(update: ScheduleUpdate) -> int | None:
    """Return the next period (seconds) that has no row after the update; None if there is none."""
    return next_period(update.after, update.new)


def _last_period(update: ScheduleUpdate) -> int:
    """Return the last scheduled period (seconds) that has a row after the update; the cursor if none is beyond it."""
    after = update.after.cursor
    return max((run.nominal for run in update.new if not run.trigger), default=after)
