"""PostgreSQL store: the schedule's row is the lock, and the database clock is the only clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from kron.engine.clock import Clock
from kron.engine.fleet import SHARDS, Fleet, Share
from kron.engine.store import FIRST, Found, Maintained
from kron.engine.tenant_scope import tenant_scope
from kron.errors import WriteRejected
from kron.rules.outcome import GapRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleAction, ScheduleUpdate, is_simple_insert
from kron.stores.codec import read_act, read_gap, read_revision, read_run
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.cases import Jobs, readable, whole
from kron.stores.postgres.commit import Ready, advance, columns_of, prepare, settle_exactly
from kron.stores.postgres.fleet import downtimes_of, informed, lease
from kron.stores.postgres.health import vitals
from kron.stores.postgres.maintain import DEADLINE_S, DEFAULT, Limits, maintained
from kron.stores.postgres.notifications import Listener, Notifier, listening, urgent
from kron.stores.postgres.pool import DEADLINE, Pool, Session
from kron.stores.postgres.rows import key_bytes
from kron.stores.postgres.run_updates import change
from kron.stores.postgres.transaction import Transactions
from kron.stores.postgres.workflows import WorkflowTable
from kron.stores.presets import BUILT_IN, Presets
from kron.timing.schedule.policy import Policy


class _Apart(Exception):
    """Error: an update of a `together` commit was rejected, so that all of them are rolled back."""


class PostgresStore:
    """Store of one tenant in one PostgreSQL database. The writes of a method are durable when it returns."""

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        *,
        tenant: str = DEFAULT,
        size: int = 4,
        deadline: float = DEADLINE,
        presets: Presets = BUILT_IN,
    ) -> None:
        """Create a store. Connections are opened on first use.

        Args:
            url: URL of the database, such as `postgresql://host/name?schema=kron`.
            clock: Clock for tests; None uses the database clock.
            tenant: Tenant whose rows the store reads and writes.
            size: Maximum number of connections.
            deadline: Seconds for a whole transaction.
            presets: Policies that fill in what the authors of stored schedules left open.
        """
        self.clock, self.tenant = clock, tenant
        self.pool = Pool(url, tenant, size=size, deadline=deadline)
        self.upkeep = Pool(url, tenant, size=1, deadline=DEADLINE_S)
        self.jobs, self.bell = Jobs(presets), Notifier(self.pool)
        self.transactions = Transactions(self.pool, self.now)

    async def close(self) -> None:
        """Send pending notifications, then close all connections."""
        await self.bell.rest()
        await self.pool.close()

    def with_notifications(self, heard: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Call `heard` for each wake-up notification while the context is active, at once or soon after."""
        return listening(Listener(self.pool.conninfo, self.pool.whose, heard))

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        if self.clock is not None:
            return int(self.clock.now() * 1000)
        ((now,),) = await self.pool.query("clock")
        return int(now)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        now = None if self.clock is None else await self.now()
        return await self.pool.write(lambda talk: lease(talk, owner, kinds, length, now))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        whose = {"tenant": self.tenant, "within": tenant_scope()}
        found = [row for share in shares for row in await self.pool.query("poll", **whose, **_share(share))]
        now = found[0][0] if found and self.clock is None else await self.now()
        return now, min((wake for _, wake in found if wake is not None), default=None)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        wanted = {"upto": upto, "limit": limit, "after": beyond[0], "name": beyond[1]}

        async def work(talk: Session) -> list[Found]:
            if len(share.shards) == SHARDS:
                rows = await talk.rows("look_everywhere", kinds=texts(share.kinds), **wanted)
            else:
                rows = await talk.rows("look", **_share(share), **wanted)
            return await readable(talk, self.jobs, rows)

        return await self.pool.read(work)

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        await self.pool.write(lambda talk: talk.execute("set_aside", schedule=identity, until=until, reason=reason))

    def prepare(self, settlements: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates, with their columns built if they are simple inserts."""
        return prepare(settlements)

    async def commit(self, settlements: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        if together:
            return await self._together(settlements, now)
        if isinstance(settlements, Ready):
            names = await self._advance(settlements, settlements.columns, now)
            return [s.after.job.identity in names for s in settlements]
        held = [False] * len(settlements)
        waiting = list(range(len(settlements)))
        while waiting:  # updates of one schedule are committed one after another
            first = {settlements[n].after.identity: n for n in reversed(waiting)}
            names = await self._settle({name: settlements[first[name]] for name in sorted(first)}, now)
            for name, n in first.items():
                held[n] = name in names
            waiting = [n for n in waiting if n != first[settlements[n].after.identity]]
        if any(won and urgent(s, now) for s, won in zip(settlements, held, strict=True)):
            self.bell.notify()
        return held

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return await self.pool.write(lambda talk: change(talk, changes)) if changes else []

    def transaction(self, run: Run, policy: Policy) -> AbstractAsyncContextManager[Any]:
        """Return a connection context whose writes are committed with the success of that attempt, or not at all.

        Raises FENCED at its end if the run belongs to another attempt by then, or has ended.
        """
        return self.transactions.of(run, policy)

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the schedules of those identities; None for each that does not exist."""
        return (await self.get_with_time(identities))[0] if identities else []

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the schedules of those identities, and the time (milliseconds) at which they were read."""

        async def work(talk: Session) -> tuple[dict[str, ScheduleState], int]:
            (there, *_), *_ = rows = await talk.rows("standing", schedules=texts(set(identities)))
            now = there if self.clock is None else int(self.clock.now() * 1000)
            cases = await whole(talk, self.jobs, [row[1:] for row in rows if row[1] is not None])
            downtimes = await downtimes_of(talk, now) if cases else {}
            return {case.identity: informed(case, downtimes) for case in cases}, now

        found, now = await self.pool.read(work)
        return [found.get(identity) for identity in identities], now

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        wanted = octets({key_bytes(key) for key in keys if _is_key(key)})
        rows = await self.pool.read(lambda talk: talk.rows("of_keys", keys=wanted)) if keys else []
        found = {run.key: run for run in map(read_run, rows)}
        return [found.get(key) for key in keys]

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """Return a page of the identities, in order."""
        wanted = {"after": after, "limit": limit, "prefix": prefix, "paused": paused, "deleted": deleted}
        rows = await self.pool.read(lambda talk: talk.rows("identities", **wanted))
        return [identity for (identity,) in rows]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        wanted: dict[str, Any] = {"schedule": identity, "limit": limit}
        query = "runs_before" if before else "runs"
        if before:
            if not _is_key(before):
                return []
            wanted["before"] = key_bytes(before)
        rows = await self.pool.read(lambda talk: talk.rows(query, **wanted))
        return [read_run(row) for row in rows]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        wanted: dict[str, Any] = {"prefix": prefix, "limit": limit}
        if before and not _is_key(before):
            return []
        wanted |= {"before": key_bytes(before)} if before else {}
        rows = await self.pool.read(lambda talk: talk.rows("dead_before" if before else "dead", **wanted))
        return [read_run(row) for row in rows]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        wanted = octets({key_bytes(key) for key in keys if _is_key(key)})
        found = dict(await self.pool.read(lambda talk: talk.rows("called", keys=wanted))) if keys else {}
        return [found.get(key) for key in keys]

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Create partitions ahead of time, and remove a bounded number of old records."""
        try:
            return await maintained(self.upkeep, now, keep, Limits())
        finally:
            await self.upkeep.close()  # the connection is needed only once an hour

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        ((horizon,),) = await self.pool.read(lambda talk: talk.rows("horizon"))
        return int(horizon)

    def workflows(self) -> WorkflowTable:
        """Return a workflow store in the same database."""
        return WorkflowTable(self.pool)

    async def health(self) -> dict[str, int]:
        """Return the health metrics of the database by name (see `vitals`)."""
        return await self.pool.read(vitals)

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        rows = await self.pool.read(lambda talk: talk.rows("gaps", schedule=identity))
        return [read_gap(identity, row) for row in rows]

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        rows = await self.pool.read(lambda talk: talk.rows("revisions", schedule=identity))
        return [read_revision(row, self.jobs.presets) for row in rows]

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded actions of a schedule, in the order in which they were written."""
        rows = await self.pool.read(lambda talk: talk.rows("acts", schedule=identity))
        return [read_act(identity, row) for row in rows]

    async def _settle(self, settlements: dict[str, ScheduleUpdate], now: int) -> set[str]:
        """Commit updates of different schedules in the order of their identities. Returns the committed identities."""
        easy = [s for s in settlements.values() if is_simple_insert(s)]
        held = await self._advance(easy, columns_of(easy), now) if easy else set()
        names = {s.after.identity for s in easy}
        return held | await self._exactly([s for name, s in settlements.items() if name not in names], now)

    async def _together(self, settlements: Sequence[ScheduleUpdate], now: int) -> list[bool]:
        in_order = sorted(settlements, key=lambda s: s.after.identity)

        async def work(talk: Session) -> None:
            if not all(await settle_exactly(talk, self.jobs, in_order, now)):
                raise _Apart  # rolls back what was written

        try:
            if settlements:
                await self.pool.write(work)
        except _Apart:
            return [False] * len(settlements)
        return [True] * len(settlements)

    async def _advance(self, settlements: list[ScheduleUpdate], columns: dict[str, Any], now: int) -> set[str]:
        try:
            return await self.pool.write(lambda talk: advance(talk, settlements, columns))
        except WriteRejected:
            return await self._exactly(settlements, now)

    async def _exactly(self, settlements: list[ScheduleUpdate], now: int) -> set[str]:
        if not settlements:
            return set()
        held = await self.pool.write(lambda talk: settle_exactly(talk, self.jobs, settlements, now))
        return {s.after.identity for s, won in zip(settlements, held, strict=True) if won}


def _share(share: Share) -> dict[str, Any]:
    return {"shards": numbers(share.shards), "kinds": texts(share.kinds)}


def _is_key(key: str) -> bool:
    return len(key) == 64 and key.isascii() and not key.strip("0123456789abcdef")
