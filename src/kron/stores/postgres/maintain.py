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

from kron.engine.store import Maintained
from kron.errors import KronError
from kron.stores.postgres.pool import Pool, Session

WEEK = 7 * 86_400
MONDAY = 4 * 86_400  # 1970-01-05
DAY_MS = 86_400_000
AHEAD_WEEKS = 4
BATCH = 5_000  # records of each kind that a transaction removes
STEPS = 20  # steps of each kind in one call
MOVED = 50_000  # rows that a worker moves out of the default partition in one step: about 0.5 s on 2 cores
DEADLINE_S = 90.0  # time limit of a step; the server's own limit is shorter
LONG_S = 4 * 3_600.0  # time limit of a step of `kron maintain`: moving rows can take hours
PAUSE_S = 0.5  # delay before a lock is requested again

DEFAULT = "default"  # tenant if none is given


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one step: attempts to get a lock, rows moved, and seconds spent while holding it."""

    tries: int = 4
    moved: int = MOVED
    seconds: int = 60


PATIENT = Limits(tries=20, moved=1 << 40, seconds=int(LONG_S) - 60)  # for `kron maintain`: its user chose the time


async def maintain(url: str, *, keep_days: int | None = None, tenant: str = DEFAULT) -> Maintained:
    """Run the complete maintenance for `kron maintain`, however many rows must be moved.

    Args:
        url: URL of the store.
        keep_days: Retention in days; None removes nothing.
        tenant: Tenant whose records are removed.
    """
    pool = Pool(url, tenant, size=1, deadline=LONG_S)
    try:
        ((now,),) = await pool.query("clock")
        keep = None if keep_days is None else keep_days * DAY_MS
        done = await maintained(pool, now, keep, PATIENT)
        while done.more:
            again = await maintained(pool, now, keep, PATIENT)
            done = again._replace(
                removed=done.removed + again.removed,
                made=(*done.made, *again.made),
                dropped=(*done.dropped, *again.dropped),
            )
        return done
    finally:
        await pool.close()


async def maintained(pool: Pool, now: int, keep: int | None, limits: Limits) -> Maintained:
    """Run a bounded part of the maintenance. `keep` is the retention in milliseconds; None removes nothing."""
    horizon = 0 if keep is None else now - keep
    made, more = await _names(pool, limits, "make_next", ahead=AHEAD_WEEKS, moved=limits.moved, horizon=horizon)
    if keep is None:
        return Maintained(made=made, more=more)
    dropped, further = await _names(pool, limits, "drop_next", horizon=horizon)
    removed, full = 0, True
    for _ in range(STEPS):
        count = await _patiently(pool, limits, "prune", horizon=horizon, most=BATCH) or 0
        removed, full = removed + count, count >= BATCH
        if not full:
            break
    kept = await pool.read(lambda talk: talk.rows("old_partitions", horizon=horizon))
    return Maintained(removed, more or further or full, made, dropped, tuple(name for (name,) in kept))


def weeks(now: int, ahead: int = AHEAD_WEEKS) -> list[int]:
    """Return the start (seconds) of this week and of the following `ahead` weeks."""
    first = now - (now - MONDAY) % WEEK
    return [first + n * WEEK for n in range(ahead + 1)]


async def _names(pool: Pool, limits: Limits, query: str, **values: Any) -> tuple[tuple[str, ...], bool]:
    """Repeat a step up to STEPS times. Returns the partitions that it handled, and whether there can be more."""
    names = list[str]()
    for _ in range(STEPS):
        name = await _patiently(pool, limits, query, **values)
        if not name:
            return tuple(names), False
        names.append(str(name))
    return tuple(names), True


async def _patiently(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """Return the result of a step. A step that does not get its lock gives up, lets workers pass, and retries."""
    for _ in range(limits.tries - 1):
        try:
            return await _step(pool, limits, query, **values)
        except KronError as error:
            if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
                raise
            await asyncio.sleep(PAUSE_S)
    return await _step(pool, limits, query, **values)


async def _step(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """Run a step in one transaction. Returns None if another process is doing maintenance."""

    async def work(talk: Session) -> Any:
        await talk.execute("unhurried", limit=f"{limits.seconds}s")
        await talk.execute("briefly")
        ((alone,),) = await talk.rows("alone_in_maintenance")
        return (await talk.rows(query, **values))[0][0] if alone else None

    return await pool.write(work)
