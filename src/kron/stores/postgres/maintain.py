"""Ledger maintenance: creates partitions ahead of time and removes old records.

Database functions with the owner's privileges do the work, so that a worker's role can call them. Each step is a short
transaction, and one process at a time runs them. A step waits at most 200 ms for a lock, because the passes of workers
queue behind it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import psycopg

from kron.engine.overview import merged_before
from kron.engine.store import Maintained
from kron.errors import KronError
from kron.stores.postgres.pool import Pool, Session

WEEK = 7 * 86_400
FIRST_MONDAY = 4 * 86_400  # 1970-01-05
DAY_MS = 86_400_000
AHEAD_WEEKS = 4
MAX_REMOVED_PER_STEP = 5_000  # records of each kind that a transaction removes
MAX_STEPS = 20  # steps of each kind in one call
MAX_MOVED_PER_STEP = 50_000  # rows that a worker moves out of the default partition in one step: about 0.5 s on 2 cores
DEADLINE_S = 90.0  # time limit of a step; the server's own limit is shorter
CLI_DEADLINE_S = 4 * 3_600.0  # time limit of a step of `kron maintain`: moving rows can take hours
LOCK_RETRY_S = 0.5  # delay before a lock is requested again

DEFAULT_TENANT = "default"  # tenant if none is given


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one step: attempts to get a lock, rows moved, and seconds spent while holding it."""

    attempts: int = 4
    moved: int = MAX_MOVED_PER_STEP
    seconds: int = 60


# For `kron maintain`: its user chose the time.
CLI_LIMITS = Limits(attempts=20, moved=1 << 40, seconds=int(CLI_DEADLINE_S) - 60)


async def maintain(url: str, *, keep_days: int | None = None, tenant: str = DEFAULT_TENANT) -> Maintained:
    """Run the complete maintenance for `kron maintain`, however many rows must be moved.

    Args:
        url: URL of the store.
        keep_days: Retention in days; None removes nothing.
        tenant: Tenant whose records are removed.
    """
    pool = Pool(url, tenant, size=1, deadline=CLI_DEADLINE_S)
    try:
        ((now,),) = await pool.query("clock")
        keep = None if keep_days is None else keep_days * DAY_MS
        done = await maintain_step(pool, now, keep, CLI_LIMITS)
        while done.more:
            next_step = await maintain_step(pool, now, keep, CLI_LIMITS)
            done = next_step._replace(
                removed=done.removed + next_step.removed,
                made=(*done.made, *next_step.made),
                dropped=(*done.dropped, *next_step.dropped),
            )
        return done
    finally:
        await pool.close()


async def maintain_step(pool: Pool, now: int, keep: int | None, limits: Limits) -> Maintained:
    """Run a bounded part of the maintenance. `keep` is the retention in milliseconds; None removes nothing."""
    horizon = 0 if keep is None else now - keep
    made, more = await _repeat_step(
        pool, limits, "create_partition", ahead=AHEAD_WEEKS, moved=limits.moved, horizon=horizon
    )
    for _ in range(MAX_STEPS):
        upto, most = merged_before(now), MAX_REMOVED_PER_STEP
        if (await _retry_step(pool, limits, "merge_outcomes", upto=upto, most=most) or 0) < most:
            break
    if keep is None:
        return Maintained(made=made, more=more)
    dropped, more_to_drop = await _repeat_step(pool, limits, "drop_partition", horizon=horizon)
    removed, full = 0, True
    for _ in range(MAX_STEPS):
        count = await _retry_step(pool, limits, "prune", horizon=horizon, most=MAX_REMOVED_PER_STEP) or 0
        removed, full = removed + count, count >= MAX_REMOVED_PER_STEP
        if not full:
            break
    kept_rows = await pool.read(lambda session: session.rows("old_partitions", horizon=horizon))
    return Maintained(removed, more or more_to_drop or full, made, dropped, tuple(name for (name,) in kept_rows))


def weeks(now: int, ahead: int = AHEAD_WEEKS) -> list[int]:
    """Return the start (seconds) of this week and of the following `ahead` weeks."""
    first = now - (now - FIRST_MONDAY) % WEEK
    return [first + n * WEEK for n in range(ahead + 1)]


async def _repeat_step(pool: Pool, limits: Limits, query: str, **values: Any) -> tuple[tuple[str, ...], bool]:
    """Repeat a step up to STEPS times. Returns the partitions that it handled, and whether there can be more."""
    names = list[str]()
    for _ in range(MAX_STEPS):
        name = await _retry_step(pool, limits, query, **values)
        if not name:
            return tuple(names), False
        names.append(str(name))
    return tuple(names), True


async def _retry_step(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """Return the result of a step. A step that does not get its lock gives up, lets workers pass, and retries."""
    for _ in range(limits.attempts - 1):
        try:
            return await _run_step(pool, limits, query, **values)
        except KronError as error:
            if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
                raise
            await asyncio.sleep(LOCK_RETRY_S)
    return await _run_step(pool, limits, query, **values)


async def _run_step(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """Run a step in one transaction. Returns None if another process is doing maintenance."""

    async def work(session: Session) -> Any:
        await session.execute("allow_long_maintenance", limit=f"{limits.seconds}s")
        await session.execute("limit_lock_wait")
        ((alone,),) = await session.rows("lock_maintenance")
        return (await session.rows(query, **values))[0][0] if alone else None

    return await pool.write(work)
