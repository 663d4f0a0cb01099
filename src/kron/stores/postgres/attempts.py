"""Attempts in PostgreSQL: at most 50 for each run."""

from __future__ import annotations

from collections.abc import Sequence

from kron.rules.attempt import Attempt
from kron.rules.run import Run
from kron.stores.codec import read_attempt
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import key_bytes


async def write_attempts(session: Session, attempts: Sequence[tuple[Run, Attempt]]) -> None:
    """Write attempts, under the row locks of their schedules. Without attempts there is no statement.

    The last result of an attempt replaces an earlier one, also within the batch.
    """
    if not attempts:
        return
    latest = {(run.key, attempt.slot): (run, attempt) for run, attempt in attempts}.values()
    await session.execute(
        "write_attempts",
        keys=octets(key_bytes(run.key) for run, _ in latest),
        slots=numbers(attempt.slot for _, attempt in latest),
        schedules=texts(run.identity for run, _ in latest),
        nominals=numbers(run.nominal for run, _ in latest),
        numbers=numbers(attempt.number for _, attempt in latest),
        ats=numbers(attempt.at for _, attempt in latest),
        durations=numbers(attempt.duration for _, attempt in latest),
        results=texts(attempt.result.value for _, attempt in latest),
        codes=numbers(attempt.code for _, attempt in latest),
        excerpts=texts(attempt.excerpt for _, attempt in latest),
    )


async def read_attempts(session: Session, keys: Sequence[str]) -> dict[str, tuple[Attempt, ...]]:
    """Return the attempts of runs by key, oldest first. Runs without attempts are left out."""
    attempts: dict[str, tuple[Attempt, ...]] = {}
    for key, *row in await session.rows("attempts", keys=octets(key_bytes(key) for key in keys)):
        attempts[key] = (*attempts.get(key, ()), read_attempt(key, row))
    return attempts
