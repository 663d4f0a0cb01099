"""Maintenance of the ledger: partitions made ahead of time, and old records removed.

The work is done by functions of the database that have the rights of its owner, so a worker's role can call them. Each
step is a short transaction, and one process at a time does them. A step waits 200 ms for a lock: ticks wait behind it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import psycopg

from kron.errors import KronError
from kron.store import Maintained
from kron.stores.postgres.pool import Pool, Talk

WEEK = 7 * 86_400
MONDAY = 4 * 86_400  # 1970-01-05
DAY_MS = 86_400_000
AHEAD_WEEKS = 4
BATCH = 5_000  # records of each kind that a transaction removes
STEPS = 20  # of each kind, in one call
MOVED = 50_000  # rows that a worker moves out of the default partition in one step; about half a second on two cores
DEADLINE_S = 90.0  # for a step; the server's own limit is shorter
LONG_S = 4 * 3_600.0  # for a step that somebody asked for: rows may have to be moved for hours
PAUSE_S = 0.5  # until a lock is tried for again

DEFAULT = "default"  # the tenant where nobody says


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a caller may ask: tries for a lock, and rows moved and seconds spent under it in one step."""

    tries: int = 4
    moved: int = MOVED
    seconds: int = 60


PATIENT = Limits(tries=20, moved=1 << 40, seconds=int(LONG_S) - 60)  # for people, who chose the time


async def maintain(url: str, *, keep_days: int | None = None, tenant: str = DEFAULT) -> Maintained:
    """Do all that is to be done, for a person: to the end, however many rows are to be moved."""
    pool = Pool(url, tenant, size=1, deadline=LONG_S)
    try:
        ((now,),) = await pool.ask("clock")
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
    """Do a bounded part of what is to be done. `keep` in milliseconds; None removes nothing."""
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
    """The seconds at which this week and those ahead begin."""
    first = now - (now - MONDAY) % WEEK
    return [first + n * WEEK for n in range(ahead + 1)]


async def _names(pool: Pool, limits: Limits, query: str, **values: Any) -> tuple[tuple[str, ...], bool]:
    """What a step has done, again and again; and whether there may be more to do."""
    names = list[str]()
    for _ in range(STEPS):
        name = await _patiently(pool, limits, query, **values)
        if not name:
            return tuple(names), False
        names.append(str(name))
    return tuple(names), True


async def _patiently(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """The result of a step. Who does not get a lock gives up, lets ticks pass, and tries again."""
    for _ in range(limits.tries - 1):
        try:
            return await _step(pool, limits, query, **values)
        except KronError as error:
            if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
                raise
            await asyncio.sleep(PAUSE_S)
    return await _step(pool, limits, query, **values)


async def _step(pool: Pool, limits: Limits, query: str, **values: Any) -> Any:
    """One transaction; None if another process is at it."""

    async def work(talk: Talk) -> Any:
        await talk.tell("unhurried", limit=f"{limits.seconds}s")
        await talk.tell("briefly")
        ((alone,),) = await talk.rows("alone_in_maintenance")
        return (await talk.rows(query, **values))[0][0] if alone else None

    return await pool.write(work)
