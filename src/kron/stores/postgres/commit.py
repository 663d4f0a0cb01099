"""Commits of schedule updates: simple inserts by compare-and-set, thousands in two statements; others under locks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from kron.rules.run import Run, exclusive
from kron.rules.upcoming import next_period
from kron.rules.update import ScheduleUpdate, can_commit, is_simple_insert
from kron.stores.codec import JobRow, write_job
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.cases import Jobs, whole
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import (
    acted,
    alike,
    definitions,
    digest,
    dropped,
    fold,
    key_bytes,
    moves,
    periods,
    requests,
    revised,
    standings,
)
from kron.timing.schedule.policy import Overlap

_COLUMNS = ["revisions", "cursors", "seens", "next_cursors", "sinces", "wakes", "next_seens", "reaches", "nexts"]


async def advance(talk: Session, settlements: Sequence[ScheduleUpdate], columns: dict[str, Any]) -> set[str]:
    """Commit the simple inserts whose schedules are unchanged since they were read. Returns their identities.

    A key that exists already fails the whole batch; the caller then uses `settle_exactly`.
    """
    held = {name for (name,) in await talk.rows("advance", **columns["due"])}
    lost = len(held) < len(settlements)
    groups = alike(_fresh(s for s in settlements if s.after.identity in held)) if lost else columns["runs"]
    for group in groups:
        await talk.execute("record", **group)
    return held


class Ready(list[ScheduleUpdate]):
    """Simple inserts of different schedules with their columns, ready to be sent."""

    def __init__(self, settlements: Iterable[ScheduleUpdate]) -> None:
        super().__init__(settlements)
        self.columns = columns_of(sorted(self, key=lambda s: s.after.job.identity))


def prepare(settlements: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
    """Return the updates, with their columns if all of them are simple inserts of different schedules."""
    apart = len({s.after.job.identity for s in settlements}) == len(settlements)
    return Ready(settlements) if settlements and apart and all(map(is_simple_insert, settlements)) else settlements


def columns_of(settlements: Sequence[ScheduleUpdate]) -> dict[str, Any]:
    """Return the columns of simple inserts. They are built before the transaction, so that no lock waits for Python."""
    rows, fresh = [], []
    for before, after, new, *_ in settlements:
        assert before is not None  # noqa: S101  simple inserts have one
        old, digest, cursor = before.cursor, fold(before.open_runs) if before.open_runs else 0, after.cursor
        reach = max([run.nominal for run in new]) if new else cursor
        job = after.job
        rows.append(
            (
                *(job.identity, before.revision, old, digest, cursor),
                *(after.effective_from, after.next_check_at, digest ^ fold(new), reach, next_period(after, new)),
            )
        )
        exclusive = job.schedule.policy.overlap is not Overlap.ALLOW
        fresh += [(run, exclusive) for run in new]
    names, *columns = zip(*rows, strict=True)
    due = {name: numbers(list(column)) for name, column in zip(_COLUMNS, columns, strict=True)}
    return {"due": {"schedules": texts(names), **due, "paused": False, "deleted": False}, "runs": alike(fresh)}


async def settle_exactly(talk: Session, jobs: Jobs, settlements: Sequence[ScheduleUpdate], now: int) -> list[bool]:
    """Commit each update that `can_commit` accepts, under row locks, by the same rule as the in-memory store.

    The updates must be of different schedules. Returns one bool per update.
    """
    rows = await talk.rows("lock", schedules=texts(s.after.identity for s in settlements))
    stored = {case.identity: case for case in await whole(talk, jobs, rows)}
    taken = await _taken(talk, [run for s in settlements for run in s.new])
    held = [s for s in settlements if can_commit(s, stored.get(s.after.identity), taken)]
    written = {s.after.identity: write_job(s.after.job) for s in held if s.revision or s.after.identity not in stored}
    held = await _define(talk, held, stored, written, now)
    edited, others = list[ScheduleUpdate](), list[ScheduleUpdate]()
    for s in held:
        (edited if s.revision and s.after.identity in stored else others).append(s)
    if edited:
        await talk.execute("edit", **_edited(edited, written), now=now)
    if others:
        digests = {row[0]: row[1] for row in rows}
        await _stand(talk, others, digests | {name: digest(row) for name, row in written.items()})
    revisions = [s.revision for s in others if s.revision]
    await _write(talk, held, revised(revisions, written) if revisions else None)
    names = {s.after.identity for s in held}
    return [s.after.identity in names for s in settlements]


async def _taken(talk: Session, runs: Sequence[Run]) -> set[str]:
    calendar, asked = [run for run in runs if not run.trigger], [run for run in runs if run.trigger]
    found = await talk.rows("of_periods", **periods(calendar)) if calendar else []
    again = await talk.rows("requested", keys=octets(key_bytes(run.key) for run in asked)) if asked else []
    return {row[0] for row in (*found, *again)}


async def _define(
    talk: Session, held: list[ScheduleUpdate], known: Container[str], written: Mapping[str, JobRow], now: int
) -> list[ScheduleUpdate]:
    """Write new schedules. Drop the updates whose schedule another transaction has just created."""
    new = {name: row for name, row in written.items() if name not in known}
    if not new:
        return held
    made = {name for (name,) in await talk.rows("define", **definitions(new), now=now)}
    return [s for s in held if s.after.identity in known or s.after.identity in made]


def _edited(edited: Sequence[ScheduleUpdate], written: Mapping[str, JobRow]) -> dict[str, Any]:
    """Return the columns of schedules with a new revision: their revisions and their progress."""
    afters, revisions = [s.after for s in edited], [s.revision for s in edited if s.revision]
    return revised(revisions, written) | standings(afters, map(_seen, edited), map(_reach, edited), map(_next, edited))


async def _stand(talk: Session, held: Sequence[ScheduleUpdate], digests: Mapping[str, int]) -> None:
    afters = [s.after for s in held]
    progress = standings(afters, map(_seen, held), map(_reach, held), map(_next, held))
    await talk.execute("stand", **progress, digests=numbers(digests[case.identity] for case in afters))


async def _write(talk: Session, held: Sequence[ScheduleUpdate], revisions: dict[str, Any] | None) -> None:
    changed = [(after, exclusive(after, s.after.policy)) for s in held for _, after in s.changed]
    for starts in (False, True):  # end runs before others start
        moved = [(run, exclusive) for run, exclusive in changed if run.active is starts]
        if moved:
            await talk.execute("move", **moves(moved))
    asked = [run for s in held for run in s.new if run.trigger]
    if asked:
        await talk.execute("request", **requests(asked))
    for group in alike(_fresh(held)):
        await talk.execute("record", **group)
    gaps = [(s.after.identity, s.gap) for s in held if s.gap]
    if gaps:
        await talk.execute("drop", **dropped(gaps))
    if revisions:
        await talk.execute("revise", **revisions)
    acts = [(s.after.identity, s.action) for s in held if s.action]
    if acts:
        await talk.execute("act", **acted(acts))


def _fresh(settlements: Iterable[ScheduleUpdate]) -> list[tuple[Run, bool]]:
    return [(run, exclusive(run, s.after.policy)) for s in settlements for run in s.new]


def _seen(settlement: ScheduleUpdate) -> int:
    """Return the digest of the open runs after the update."""
    runs = {run.key: run for run in settlement.before.open_runs} if settlement.before else {}
    runs |= {run.key: run for _, run in settlement.changed} | {run.key: run for run in settlement.new}
    return fold(runs.values())


def _next(settlement: ScheduleUpdate) -> int | None:
    """Return the next period (seconds) that has no row after the update; None if there is none."""
    return next_period(settlement.after, settlement.new)


def _reach(settlement: ScheduleUpdate) -> int:
    """Return the last scheduled period (seconds) that has a row after the update; the cursor if none is beyond it."""
    after = settlement.after.cursor
    return max((run.nominal for run in settlement.new if not run.trigger), default=after)
