"""SQLite store: one file, durable, shared by the processes of one host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kron.engine.clock import Clock
from kron.engine.fleet import Fleet, Share, kind_of, shard_of
from kron.engine.store import FIRST, Found, Maintained
from kron.rules.outcome import GapRecord
from kron.rules.run import Run, exclusive
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period
from kron.rules.update import (
    Revision,
    RunUpdate,
    ScheduleAction,
    ScheduleUpdate,
    can_commit,
    can_update_run,
    is_simple_insert,
)
from kron.stores.codec import (
    ACT,
    GAP,
    JOB,
    RUN,
    STANDING,
    JobRow,
    read_act,
    read_gap,
    read_revision,
    read_run,
    write_job,
    write_revision,
    write_standing,
)
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.register import Register
from kron.stores.sqlite.cases import Cases
from kron.stores.sqlite.file import File
from kron.stores.sqlite.fleet import as_list, lease, read_register
from kron.stores.sqlite.retention import Retention

PATIENCE = 10.0  # seconds to wait for the write lock of other processes


class _Apart(Exception):
    """Error: an update of a `together` commit was rejected, so that all of them are rolled back."""


class SqliteStore:
    """Store in one SQLite file. Each method is atomic, and its writes are on disk when it returns.

    Args:
        path: The file. It is created if it does not exist.
        clock: Clock of the store.
        patience: Seconds to wait for the write lock of other processes.
        presets: Policies that fill in what the authors of stored schedules left open.
    """

    def __init__(
        self, path: str | Path, clock: Clock, *, patience: float = PATIENCE, presets: Presets = BUILT_IN
    ) -> None:
        self.clock = clock
        self.file = File(Path(path), patience)
        self.rows = self.file.rows
        self.cases = Cases(self.rows, presets)
        self.retention = Retention(self.file)

    async def close(self) -> None:
        """Finish the work that has begun, then close the file."""
        await self.file.close()

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        return await self.file.write(lambda: lease(self.rows, owner, kinds, int(self.clock.now() * 1000), length))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        found = await self.file.read(lambda: [row for share in shares for row in self.rows("wake", **_share(share))])
        return await self.now(), min((wake for (wake,) in found), default=None)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        wanted = {**_share(share), "upto": upto, "limit": limit, "after": beyond[0], "identity": beyond[1]}
        return await self.file.read(lambda: self.cases.readable("look", **wanted))

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        await self.file.write(lambda: self.rows("set_aside", schedule_id=identity, until=until, reason=reason))

    def prepare(self, settlements: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates unchanged: this store has nothing to prepare."""
        return settlements

    async def commit(self, settlements: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        try:
            return await self.file.write(lambda: self._settle_all(settlements, together))
        except _Apart:
            return [False] * len(settlements)

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return await self.file.write(lambda: [self._change(change) for change in changes])

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the schedules of those identities; None for each that does not exist."""

        def work() -> tuple[list[ScheduleState], Register]:
            return self.cases.of("schedules", names=json.dumps(identities)), read_register(self.rows)

        (cases, register), now = await self.file.read(work), await self.now()
        found = {c.identity: c._replace(downtime=register.downtime(kind_of(c.job.target), now)) for c in cases}
        return [found.get(identity) for identity in identities]

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the schedules of those identities, and the time (milliseconds) at which they were read."""
        return await self.get(identities), await self.now()

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        return await self.file.read(lambda: self._runs(keys))

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """Return a page of the identities, in order."""
        wanted = {"prefix": prefix, "beyond": _beyond(prefix), "paused": paused, "deleted": deleted}
        found = await self.file.read(lambda: self.rows("identities", after=after, limit=limit, **wanted))
        return [identity for (identity,) in found]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        query = "runs_before" if before else "runs"
        found = await self.file.read(lambda: self.rows(query, schedule_id=identity, limit=limit, before=before))
        return [read_run(row) for row in found]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        wanted = {"prefix": prefix, "beyond": _beyond(prefix), "limit": limit, "before": before}
        found = await self.file.read(lambda: self.rows("dead_before" if before else "dead", **wanted))
        return [read_run(row) for row in found]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        return await self.file.read(lambda: [self._called(key) for key in keys])

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        found = await self.file.read(lambda: self.rows("gaps", schedule_id=identity))
        return [read_gap(identity, row) for row in found]

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        found = await self.file.read(lambda: self.rows("revisions", schedule_id=identity))
        return [read_revision(row, self.cases.presets) for row in found]

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded actions of a schedule, in the order in which they were written."""
        found = await self.file.read(lambda: self.rows("acts", schedule_id=identity))
        return [read_act(identity, row) for row in found]

    # The private methods that follow run in the file's thread.

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records. The file does not shrink: new records reuse the space."""
        return Maintained() if keep is None else await self.file.write(lambda: self.retention.prune(now - keep))

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        ((horizon,),) = await self.file.read(lambda: self.rows("horizon"))
        return int(horizon)

    def _runs(self, keys: Sequence[str]) -> list[Run | None]:
        found = {row[0]: read_run(row) for row in self.rows("of_keys", keys=json.dumps(keys))}
        return [found.get(key) for key in keys]

    def _called(self, key: str) -> str | None:
        found = self.rows("called", key=key)
        return str(found[0][0]) if found else None

    def _settle_all(self, settlements: Sequence[ScheduleUpdate], together: bool) -> list[bool]:
        keys, written = [run.key for settlement in settlements for run in settlement.new], list[bool]()
        taken = {key for (key,) in self.rows("taken", keys=json.dumps(keys))}
        new = list[dict[str, Any]]()
        for settlement in settlements:
            if is_simple_insert(settlement) and self._go_on(settlement, taken):
                new.extend(_rows(settlement))
                written.append(True)
            else:
                self._record(new)  # the next update must see the writes before it
                written.append(self._settle(settlement, taken))
            taken.update(run.key for run in settlement.new if written[-1])
        self._record(new)
        if together and not all(written):
            raise _Apart  # rolls back what was written
        return written

    def _settle(self, settlement: ScheduleUpdate, taken: set[str]) -> bool:
        after = settlement.after
        stored = self.cases.get(after.identity)
        if not can_commit(settlement, stored, taken):
            return False
        unchanged = stored is not None and stored.revision == after.revision
        row = None if unchanged else write_job(after.job)
        self._keep(stored, after, next_period(after, settlement.new), row)
        for _, run in sorted(settlement.changed, key=lambda pair: pair[1].active):  # end runs before others start
            self.rows("move", **RUN.row(run), exclusive=exclusive(run, after.policy))
        if settlement.gap:
            self.rows("drop", schedule_id=after.identity, **GAP.row(settlement.gap))
        self._record(_rows(settlement))
        if settlement.revision and row:
            self.rows("revise", **write_revision(settlement.revision, row))
        if settlement.action:
            self.rows("act", schedule_id=after.identity, **ACT.row(settlement.action))
        return True

    def _go_on(self, settlement: ScheduleUpdate, taken: set[str]) -> bool:
        """Commit an update that only adds scheduled periods, by compare-and-set. If it fails, `can_commit` decides."""
        before, after = settlement.before, settlement.after
        assert before is not None  # noqa: S101  the update is a simple insert
        if before.open_runs or any(run.key in taken for run in settlement.new):  # open runs are not compared
            return False
        moved = {
            "cursor": after.cursor,
            "wake": after.next_check_at,
            "revision": before.revision,
            "next_at": next_period(after, settlement.new),
        }
        read = {"schedule_id": after.identity, "old_cursor": before.cursor, "old_since": before.effective_from}
        return self.file.count("go_on", **moved, **read) == 1

    def _record(self, rows: list[dict[str, Any]]) -> None:
        self.file.put("record", rows)
        rows.clear()

    def _keep(
        self, stored: ScheduleState | None, after: ScheduleState, following: int | None, row: JobRow | None
    ) -> None:
        """Write a schedule: its definition, which is None if it is unchanged, and its progress."""
        standing = {**STANDING.row(write_standing(after)), "next_at": following}
        if row is None:
            self.rows("advance", schedule_id=after.identity, **standing)
            return
        query = "define" if stored is None else "redefine"
        place = {"shard": shard_of(after.identity), "kind": kind_of(after.job.target)}
        self.rows(query, schedule_id=after.identity, **place, **JOB.row(row), **standing)

    def _change(self, change: RunUpdate) -> bool:
        before, after = change.before, change.after
        state, attempt, owner, lease = before.token
        token = {"old_state": str(state), "old_attempt": attempt, "old_owner": owner, "old_lease": lease}
        if not can_update_run(before, change) or not self.file.count("speak", **RUN.row(after), **token):
            self._runs([after.key])  # raises if the row cannot be read
            return False
        if change.run_id:
            self.rows("call", key=after.key, run_id=change.run_id)
        if change.next_check_at is not None:
            self.rows("wake_earlier", schedule_id=after.identity, wake=change.next_check_at)
        return True


def _rows(settlement: ScheduleUpdate) -> list[dict[str, Any]]:
    """Return the rows of an update's new runs."""
    policy = settlement.after.policy
    return [{**RUN.row(run), "exclusive": exclusive(run, policy)} for run in settlement.new]


def _beyond(prefix: str) -> str | bytes:
    """Return the first value after all texts that start with `prefix`. SQLite sorts a blob after all texts."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return b""
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)


def _share(share: Share) -> dict[str, str]:
    return {"shards": as_list(share.shards), "kinds": as_list(share.kinds)}
