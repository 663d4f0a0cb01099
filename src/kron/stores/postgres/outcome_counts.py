"""Counters of outcomes in PostgreSQL, and how the last period of each schedule ended. Written with the ends."""

from __future__ import annotations

from collections.abc import Sequence

from kron.rules.tally import End, tally
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Session


async def write_ends(session: Session, ends: Sequence[End]) -> None:
    """Write how the last periods of schedules ended, and count the ends."""
    lasts = {end.identity: end.state.value for end in ends}
    if lasts:
        await session.execute("write_last_states", schedules=texts(lasts), lasts=texts(lasts.values()))
    await count_ends(session, ends)


async def count_ends(session: Session, ends: Sequence[End]) -> None:
    """Count ends: the last statement of a transaction, because the row of a counter can be shared with another one."""
    if not ends:
        return
    counters = sorted(tally(ends).items())
    await session.execute(
        "count_outcomes",
        scopes=texts(key.scope for key, _ in counters),
        minutes=numbers(key.minute for key, _ in counters),
        statuses=texts(key.state.value for key, _ in counters),
        reasons=texts(key.reason for key, _ in counters),
        counts=numbers(count for _, count in counters),
    )
