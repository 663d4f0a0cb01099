"""Maintenance: partitions of the ledger, made ahead of time, and dropped when nobody needs them any more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import psycopg

from kron.stores.postgres.connection import Connection, address, connect, translated

WEEK = 7 * 86_400
MONDAY = 4 * 86_400  # 1970-01-05
AHEAD = 4  # weeks
TRIES = 20  # for a lock

_HURRY = b"SET LOCAL lock_timeout = '200ms'"  # ticks wait behind who waits for a lock, so nobody waits for long
_NOW = b"SELECT kron_now() / 1000"
_PARTITIONS = b"SELECT name, start, stop FROM kron_partitions ORDER BY start"
_MAKE = b"SELECT kron_make_partition(%s)"
_DROP = b"SELECT kron_drop_partition(%s)"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What was done, partition by partition; or would be."""

    made: tuple[str, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...] = ()  # old, but something may still become of their runs


async def maintain(url: str, *, keep_days: int | None = None, ahead: int = AHEAD) -> Maintenance:
    """Make the partitions of this week and of those ahead; drop those that ended so many days ago."""
    with translated("the database"):
        async with await connect(address(url)) as connection:
            now = await _value(connection, _NOW)
            there = await (await connection.execute(_PARTITIONS)).fetchall()
            missing = set(weeks(now, ahead)) - {start for _, start, _ in there}
            made = [str(await _patiently(connection, _MAKE, start)) for start in sorted(missing)]
            if keep_days is None:
                return Maintenance(tuple(made), ())
            old = [name for name, _, stop in there if stop <= now - keep_days * 86_400]
            dropped = {name: bool(await _patiently(connection, _DROP, name)) for name in old}
            gone = tuple(name for name in old if dropped[name])
            return Maintenance(tuple(made), gone, tuple(name for name in old if not dropped[name]))


def weeks(now: int, ahead: int = AHEAD) -> list[int]:
    """The seconds at which this week and those ahead begin."""
    first = now - (now - MONDAY) % WEEK
    return [first + n * WEEK for n in range(ahead + 1)]


async def _patiently(connection: Connection, query: bytes, value: object) -> Any:
    for _ in range(TRIES):
        try:
            return await _hurriedly(connection, query, value)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            await asyncio.sleep(0.5)
    return await _hurriedly(connection, query, value)


async def _hurriedly(connection: Connection, query: bytes, value: object) -> Any:
    """In a transaction of its own: behind a pooler, what a session is told would stay for the next one in it."""
    async with connection.transaction():
        await connection.execute(_HURRY)
        return await _value(connection, query, value)


async def _value(connection: Connection, query: bytes, *values: object) -> Any:
    row = await (await connection.execute(query, values)).fetchone()
    return row[0] if row else None
