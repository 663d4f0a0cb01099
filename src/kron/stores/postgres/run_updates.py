"""Run updates from launchers and targets, written under the row locks of their schedules."""

from __future__ import annotations

from collections.abc import Sequence

from kron.rules.update import RunUpdate, can_update_run
from kron.stores.codec import read_run
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import fold, key_bytes, moves, periods


async def change(talk: Session, changes: Sequence[RunUpdate]) -> list[bool]:
    """Write each change whose attempt still has its fencing token. Returns one bool per change."""
    await talk.execute("lock", schedules=texts({c.before.identity for c in changes}))
    found = [read_run(row) for row in await talk.rows("of_periods", **periods(c.before for c in changes))]
    before = {run.key: run for run in found}
    after, wakes, held, called = dict(before), dict[str, int](), list[bool](), dict[str, RunUpdate]()
    for one in changes:
        key, name = one.before.key, one.before.identity
        held.append(can_update_run(after.get(key), one))
        if held[-1]:
            after[key] = one.after
            if one.run_id:
                called[key] = one
            if one.next_check_at is not None:
                wakes[name] = min(one.next_check_at, wakes.get(name, one.next_check_at))
    moved = [run for key, run in after.items() if run is not before[key]]
    if moved:
        await talk.execute("move", **moves((run, False) for run in moved))  # a report never starts a run
        deltas = dict.fromkeys((run.identity for run in moved), 0)
        for run in moved:
            deltas[run.identity] ^= fold([before[run.key]]) ^ fold([run])
        await talk.execute(
            "stir",
            schedules=texts(deltas),
            deltas=numbers(deltas.values()),
            wakes=numbers(wakes.get(name) for name in deltas),
        )
    if called:
        await talk.execute(
            "call",
            keys=octets(key_bytes(key) for key in called),
            schedules=texts(one.after.identity for one in called.values()),
            run_ids=texts(one.run_id for one in called.values()),
        )
    return held
