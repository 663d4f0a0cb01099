"""A store in one SQLite file: durable, and shared by the processes of one host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kron.clock import Clock
from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.run import Run, exclusive
from kron.fleet import Fleet, Share, kind_of, shard_of
from kron.store import FIRST, Act, Change, Found, Maintained, Revision, Settlement, fits, speaks, swift
from kron.stores.codec import (
    ACT,
    DEFINITION,
    GAP,
    RUN,
    STANDING,
    next_at,
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

PATIENCE = 10.0  # seconds to wait for other processes that write


class _Apart(Exception):
    """Of what is to be written together, something does not hold."""


class SqliteStore:
    """Everything in one file. Each method is done as a whole, and what it wrote is on the disk when it returns."""

    def __init__(
        self, path: str | Path, clock: Clock, *, patience: float = PATIENCE, presets: Presets = BUILT_IN
    ) -> None:
        self.clock = clock
        self.file = File(Path(path), patience)
        self.rows = self.file.rows
        self.cases = Cases(self.rows, presets)
        self.retention = Retention(self.file)

    async def close(self) -> None:
        """Finish what has begun, and let go of the file."""
        await self.file.close()

    async def now(self) -> int:
        """The current instant in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Register `owner` for so many milliseconds; all who live."""
        return await self.file.write(lambda: lease(self.rows, owner, kinds, int(self.clock.now() * 1000), length))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """The current instant, and when the next schedule of those shares is to be looked at."""
        found = await self.file.read(lambda: [row for share in shares for row in self.rows("wake", **_share(share))])
        return await self.now(), min((wake for (wake,) in found), default=None)

    async def look(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""
        wanted = {**_share(share), "upto": upto, "limit": limit, "after": beyond[0], "identity": beyond[1]}
        return await self.file.read(lambda: self.cases.readable("look", **wanted))

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Look at a schedule no earlier than that."""
        await self.file.write(lambda: self.rows("set_aside", schedule_id=identity, until=until, reason=reason))

    def prepare(self, settlements: list[Settlement]) -> list[Settlement]:
        """There is nothing to do before the time comes."""
        return settlements

    async def settle(self, settlements: Sequence[Settlement], now: int, *, together: bool = False) -> list[bool]:
        """Write each settlement that still holds; or all of them, or none."""
        try:
            return await self.file.write(lambda: self._settle_all(settlements, together))
        except _Apart:
            return [False] * len(settlements)

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token."""
        return await self.file.write(lambda: [self._change(change) for change in changes])

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities."""

        def work() -> tuple[list[Case], Register]:
            return self.cases.of("schedules", names=json.dumps(identities)), read_register(self.rows)

        (cases, register), now = await self.file.read(work), await self.now()
        found = {c.identity: c._replace(downtime=register.downtime(kind_of(c.job.target), now)) for c in cases}
        return [found.get(identity) for identity in identities]

    async def get_now(self, identities: Sequence[str]) -> tuple[list[Case | None], int]:
        """The same, and the instant at which they were so."""
        return await self.get(identities), await self.now()

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""
        return await self.file.read(lambda: self._runs(keys))

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """A page of the identities, in order."""
        wanted = {"prefix": prefix, "beyond": _beyond(prefix), "paused": paused, "deleted": deleted}
        found = await self.file.read(lambda: self.rows("identities", after=after, limit=limit, **wanted))
        return [identity for (identity,) in found]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """The newest runs of a schedule."""
        query = "runs_before" if before else "runs"
        found = await self.file.read(lambda: self.rows(query, schedule_id=identity, limit=limit, before=before))
        return [read_run(row) for row in found]

    async def dead(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """The runs that could not be started, the last that was given up first."""
        wanted = {"prefix": prefix, "beyond": _beyond(prefix), "limit": limit, "before": before}
        found = await self.file.read(lambda: self.rows("dead_before" if before else "dead", **wanted))
        return [read_run(row) for row in found]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """What the targets call the runs of those keys."""
        return await self.file.read(lambda: [self._called(key) for key in keys])

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule."""
        found = await self.file.read(lambda: self.rows("gaps", schedule_id=identity))
        return [read_gap(identity, row) for row in found]

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule."""
        found = await self.file.read(lambda: self.rows("revisions", schedule_id=identity))
        return [read_revision(row, self.cases.presets) for row in found]

    async def acts(self, identity: str) -> list[Act]:
        """What was done to a schedule."""
        found = await self.file.read(lambda: self.rows("acts", schedule_id=identity))
        return [read_act(identity, row) for row in found]

    # What follows is work: it runs in the thread of the file.

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records. The file does not shrink: new records take their place in it."""
        return Maintained() if keep is None else await self.file.write(lambda: self.retention.prune(now - keep))

    async def horizon(self) -> int:
        """Up to when old records may have been removed."""
        ((horizon,),) = await self.file.read(lambda: self.rows("horizon"))
        return int(horizon)

    def _runs(self, keys: Sequence[str]) -> list[Run | None]:
        found = {row[0]: read_run(row) for row in self.rows("of_keys", keys=json.dumps(keys))}
        return [found.get(key) for key in keys]

    def _called(self, key: str) -> str | None:
        found = self.rows("called", key=key)
        return str(found[0][0]) if found else None

    def _settle_all(self, settlements: Sequence[Settlement], together: bool) -> list[bool]:
        keys, written = [run.key for settlement in settlements for run in settlement.new], list[bool]()
        taken = {key for (key,) in self.rows("taken", keys=json.dumps(keys))}
        new = list[dict[str, Any]]()
        for settlement in settlements:
            if swift(settlement) and self._go_on(settlement, taken):
                new.extend(_rows(settlement))
                written.append(True)
            else:
                self._record(new)  # what the next one finds is what those before it have left
                written.append(self._settle(settlement, taken))
            taken.update(run.key for run in settlement.new if written[-1])
        self._record(new)
        if together and not all(written):
            raise _Apart  # and what was written is undone
        return written

    def _settle(self, settlement: Settlement, taken: set[str]) -> bool:
        after = settlement.after
        stored = self.cases.get(after.identity)
        if not fits(settlement, stored, taken):
            return False
        self._keep(stored, after, next_at(after, settlement.new))
        for _, run in sorted(settlement.changed, key=lambda pair: pair[1].active):  # one ends before another starts
            self.rows("move", **RUN.row(run), alone=exclusive(run, after.policy))
        if settlement.gap:
            self.rows("drop", schedule_id=after.identity, **GAP.row(settlement.gap))
        self._record(_rows(settlement))
        if settlement.revision:
            self.rows("revise", **write_revision(settlement.revision))
        if settlement.act:
            self.rows("act", schedule_id=after.identity, **ACT.row(settlement.act))
        return True

    def _go_on(self, settlement: Settlement, taken: set[str]) -> bool:
        """What `fits` comes to where only a period of the calendar is added; if it does not, it must be asked."""
        before, after = settlement.before, settlement.after
        assert before is not None  # noqa: S101  it is swift
        if any(run.key in taken for run in settlement.new):
            return False
        moved = {
            "cursor": after.cursor,
            "wake": after.wake,
            "revision": before.revision,
            "next_at": next_at(after, settlement.new),
        }
        read = {"schedule_id": after.identity, "old_cursor": before.cursor, "old_since": before.since}
        return self.file.count("go_on", **moved, **read) == 1

    def _record(self, rows: list[dict[str, Any]]) -> None:
        self.file.put("record", rows)
        rows.clear()

    def _keep(self, stored: Case | None, after: Case, following: int | None) -> None:
        standing = {**STANDING.row(write_standing(after)), "next_at": following}
        if stored is not None and stored.revision == after.revision:
            self.rows("advance", schedule_id=after.identity, **standing)
            return
        query = "define" if stored is None else "redefine"
        definition = DEFINITION.row(write_job(after.job))
        place = {"shard": shard_of(after.identity), "kind": kind_of(after.job.target)}
        self.rows(query, schedule_id=after.identity, **place, **definition, **standing)

    def _change(self, change: Change) -> bool:
        before, after = change.before, change.after
        state, attempt, owner, lease = before.token
        token = {"old_state": str(state), "old_attempt": attempt, "old_owner": owner, "old_lease": lease}
        if not speaks(before, change) or not self.file.count("speak", **RUN.row(after), **token):
            self._runs([after.key])  # which says so, if it cannot be read
            return False
        if change.run_id:
            self.rows("call", key=after.key, run_id=change.run_id)
        if change.wake is not None:
            self.rows("wake_earlier", schedule_id=after.identity, wake=change.wake)
        return True


def _rows(settlement: Settlement) -> list[dict[str, Any]]:
    """Its new runs."""
    policy = settlement.after.policy
    return [{**RUN.row(run), "alone": exclusive(run, policy)} for run in settlement.new]


def _beyond(prefix: str) -> str | bytes:
    """What comes after every text that begins so. A blob comes after all texts."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return b""
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)


def _share(share: Share) -> dict[str, str]:
    return {"shards": as_list(share.shards), "kinds": as_list(share.kinds)}
