"""Run updates from launchers and targets, written under the row locks of their schedules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kron.rules.tally import end_of
from kron.rules.update import RunUpdate, can_update_run
from kron.stores.codec import read_run
from kron.stores.postgres.arrays import numbers, octets, texts, truths
from kron.stores.postgres.attempts import write_attempts
from kron.stores.postgres.outcome_counts import count_ends
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import changed_run_columns, fold, key_bytes, period_columns


async def write_run_updates(session: Session, updates: Sequence[RunUpdate]) -> list[bool]:
    """Write each change whose attempt still has its fencing token. Returns one bool per change."""
    await session.execute("lock", schedules=texts({update.before.identity for update in updates}))
    runs = [
        read_run(row)
        for row in await session.rows("runs_by_period", **period_columns(update.before for update in updates))
    ]
    before = {run.key: run for run in runs}
    after, wakes, accepted, with_run_id = dict(before), dict[str, int](), list[bool](), dict[str, RunUpdate]()
    for update in updates:
        key, name = update.before.key, update.before.identity
        accepted.append(can_update_run(after.get(key), update))
        if accepted[-1]:
            after[key] = update.after
            if update.run_id:
                with_run_id[key] = update
            if update.next_check_at is not None:
                wakes[name] = min(update.next_check_at, wakes.get(name, update.next_check_at))
    changed_runs = [run for key, run in after.items() if run is not before[key]]
    if changed_runs:
        # No run is flagged as exclusive: a report never starts a run.
        await session.execute("update_runs", **changed_run_columns((run, False) for run in changed_runs))
        deltas = dict.fromkeys((run.identity for run in changed_runs), 0)
        for run in changed_runs:
            deltas[run.identity] ^= fold([before[run.key]]) ^ fold([run])
        ended_runs = [run for run in changed_runs if not run.open]
        lasts = {run.identity: run.state.value for run in sorted(ended_runs, key=lambda run: run.nominal)}
        ends = _counted_ends(update for update, is_accepted in zip(updates, accepted, strict=True) if is_accepted)
        await _write_schedules(session, {name: deltas[name] for name in deltas if name not in ends}, wakes, lasts)
        await _write_schedules(session, {name: deltas[name] for name in ends}, wakes, lasts, ends)
    await _write_run_ids(session, with_run_id)
    pairs = zip(updates, accepted, strict=True)
    attempts = [(update.after, update.attempt) for update, is_accepted in pairs if is_accepted and update.attempt]
    await write_attempts(session, attempts)
    await count_ends(session, [end_of(run) for run in changed_runs if not run.open])
    return accepted


class _Ends(NamedTuple):
    """Ends of runs that a schedule counts: those of the latest revision among them, in the order of their reports."""

    revision: int
    resets: bool = False  # one of the runs succeeded
    failures: int = 0  # since then

    def with_end(self, failed: bool) -> _Ends:
        """Return the ends and one more."""
        return _Ends(self.revision, self.resets, self.failures + 1) if failed else _Ends(self.revision, True)


def _counted_ends(updates: Iterable[RunUpdate]) -> dict[str, _Ends]:
    """Return the ends that count for `pause_on_failure`, by schedule. No other revision than the latest can count."""
    ends = dict[str, _Ends]()
    for update in updates:
        if update.failed is not None:
            name, revision = update.after.identity, update.after.revision
            known = ends.get(name, _Ends(revision))
            if revision >= known.revision:
                known = known if revision == known.revision else _Ends(revision)
                ends[name] = known.with_end(update.failed)
    return ends


async def _write_schedules(
    session: Session,
    deltas: Mapping[str, int],
    wakes: Mapping[str, int],
    lasts: Mapping[str, str],
    ends: Mapping[str, _Ends] | None = None,
) -> None:
    """Write the changes of schedules. Those that count the ends of their runs have another statement."""
    if not deltas:
        return
    columns: dict[str, Any] = {
        "schedules": texts(deltas),
        "deltas": numbers(deltas.values()),
        "wakes": numbers(wakes.get(name) for name in deltas),
        "lasts": texts(lasts.get(name) for name in deltas),
    }
    if ends is None:
        await session.execute("apply_run_updates", **columns)
        return
    columns |= {
        "revisions": numbers(ends[name].revision for name in deltas),
        "resets": truths(ends[name].resets for name in deltas),
        "failures": numbers(ends[name].failures for name in deltas),
    }
    await session.execute("apply_counted_run_updates", **columns)


async def _write_run_ids(session: Session, updates: Mapping[str, RunUpdate]) -> None:
    """Write the targets' own run ids of those updates, which are given by key."""
    if updates:
        await session.execute(
            "write_run_ids",
            keys=octets(key_bytes(key) for key in updates),
            schedules=texts(update.after.identity for update in updates.values()),
            run_ids=texts(update.run_id for update in updates.values()),
        )
