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
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.scope import scope_of
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate, is_simple_insert
from kron.stores.codec import read_action, read_gap, read_revision, read_run
from kron.stores.postgres.arrays import octets, texts
from kron.stores.postgres.attempts import read_attempts
from kron.stores.postgres.cases import Jobs, read_states, read_states_or_unreadable
from kron.stores.postgres.commit import PreparedUpdates, advance, columns_of, commit_locked, prepare
from kron.stores.postgres.event_ring import PostgresEventRing
from kron.stores.postgres.fleet import downtimes_of, lease
from kron.stores.postgres.health import vitals
from kron.stores.postgres.maintain import DEADLINE_S, DEFAULT_TENANT, Limits, maintain_step
from kron.stores.postgres.notifications import Listener, Notifier, listening, urgent
from kron.stores.postgres.overview import PostgresOverview, runs_in_trouble
from kron.stores.postgres.pool import DEADLINE_SECONDS, Pool, Session
from kron.stores.postgres.rows import is_key, key_bytes, share_columns
from kron.stores.postgres.run_updates import write_run_updates
from kron.stores.postgres.transaction import Transactions
from kron.stores.postgres.workflows import WorkflowTable
from kron.stores.presets import BUILT_IN, Presets
from kron.timing.schedule.policy import Policy


class _PartlyRejected(Exception):
    """Error: an update of a `together` commit was rejected, so that all of them are rolled back."""


class PostgresStore:
    """Store of one tenant in one PostgreSQL database. The writes of a method are durable when it returns."""

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        size: int = 4,
        deadline: float = DEADLINE_SECONDS,
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
        self.maintenance_pool = Pool(url, tenant, size=1, deadline=DEADLINE_S)
        self.jobs, self.notifier = Jobs(presets), Notifier(self.pool)
        self.transactions = Transactions(self.pool, self.now)
        self.overview, self.events = PostgresOverview(self.pool, presets), PostgresEventRing(self.pool, self.now)

    async def close(self) -> None:
        """Send pending notifications, then close all connections."""
        await self.notifier.rest()
        await self.pool.close()

    def with_notifications(self, on_notification: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Call `on_notification` for each wake-up notification while the context is active, at once or soon after."""
        return listening(Listener(self.pool.conninfo, self.pool.payload, on_notification))

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        if self.clock is not None:
            return int(self.clock.now() * 1000)
        ((now,),) = await self.pool.query("clock")
        return int(now)

    async def lease(self, owner: str, kinds: frozenset[str], length: int, tz: str = "") -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        now = None if self.clock is None else await self.now()
        return await self.pool.write(lambda session: lease(session, owner, kinds, length, now, tz))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        scope = {"tenant": self.tenant, "within": tenant_scope()}
        rows = [row for share in shares for row in await self.pool.query("poll", **scope, **share_columns(share))]
        now = rows[0][0] if rows and self.clock is None else await self.now()
        return now, min((wake for _, wake in rows if wake is not None), default=None)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        parameters = {"upto": upto, "limit": limit, "after": beyond[0], "name": beyond[1]}

        async def work(session: Session) -> list[Found]:
            if len(share.shards) == SHARDS:
                rows = await session.rows("due_schedules_of_all_shards", kinds=texts(share.kinds), **parameters)
            else:
                rows = await session.rows("due_schedules", **share_columns(share), **parameters)
            return await read_states_or_unreadable(session, self.jobs, rows)

        return await self.pool.read(work)

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        await self.pool.write(
            lambda session: session.execute("set_aside", schedule=identity, until=until, reason=reason)
        )

    def prepare(self, updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates, with their columns built if they are simple inserts."""
        return prepare(updates)

    async def commit(self, updates: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        if together:
            return await self._commit_together(updates, now)
        if isinstance(updates, PreparedUpdates):
            names = await self._commit_simple(updates, updates.columns, now)
            return [update.after.job.identity in names for update in updates]
        written = [False] * len(updates)
        waiting = list(range(len(updates)))
        while waiting:  # updates of one schedule are committed one after another
            first = {updates[index].after.identity: index for index in reversed(waiting)}
            names = await self._commit_distinct({name: updates[first[name]] for name in sorted(first)}, now)
            for name, index in first.items():
                written[index] = name in names
            waiting = [index for index in waiting if index != first[updates[index].after.identity]]
        if any(is_written and urgent(update, now) for update, is_written in zip(updates, written, strict=True)):
            self.notifier.notify()
        return written

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return await self.pool.write(lambda session: write_run_updates(session, changes)) if changes else []

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

        async def work(session: Session) -> tuple[dict[str, ScheduleState], int]:
            (database_now, *_), *_ = rows = await session.rows("schedules_with_time", schedules=texts(set(identities)))
            now = database_now if self.clock is None else int(self.clock.now() * 1000)
            found = [row[1:] for row in rows if row[1] is not None]
            downtimes = await downtimes_of(session, now) if found else {}
            return {state.identity: state for state in await read_states(session, self.jobs, found, downtimes)}, now

        states_by_identity, now = await self.pool.read(work)
        return [states_by_identity.get(identity) for identity in identities], now

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        stored_keys = octets({key_bytes(key) for key in keys if is_key(key)})
        rows = await self.pool.read(lambda session: session.rows("runs_by_key", keys=stored_keys)) if keys else []
        runs_by_key = {run.key: run for run in map(read_run, rows)}
        return [runs_by_key.get(key) for key in keys]

    async def identities(
        self,
        after: str,
        limit: int,
        prefix: str = "",
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
    ) -> list[str]:
        """Return a page of the identities, in order."""
        parameters: dict[str, Any] = {"after": after, "limit": limit, "prefix": prefix}
        parameters |= {"paused": paused, "deleted": deleted}
        query = "identities"
        if labels:
            query, parameters = "labelled_identities", parameters | {"label": labels[0], "others": texts(labels[1:])}
        rows = await self.pool.read(lambda session: session.rows(query, **parameters))
        return [identity for (identity,) in rows]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        parameters: dict[str, Any] = {"schedule": identity, "limit": limit}
        query = "runs_before" if before else "runs"
        if before:
            if not is_key(before):
                return []
            parameters["before"] = key_bytes(before)
        rows = await self.pool.read(lambda session: session.rows(query, **parameters))
        return [read_run(row) for row in rows]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        position = None
        if before:
            (run,) = await self.runs_by_key([before])
            if run is None or not run.dead or not run.identity.startswith(prefix):
                return []
            position = run.changed, run.key
        return await runs_in_trouble(self.pool, scope_of(prefix), prefix, ["dead"], limit, position)

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        stored_keys = octets({key_bytes(key) for key in keys if is_key(key)})
        run_ids_by_key = (
            dict(await self.pool.read(lambda session: session.rows("run_ids", keys=stored_keys))) if keys else {}
        )
        return [run_ids_by_key.get(key) for key in keys]

    async def attempts(self, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
        """Return the recorded attempts of those runs, oldest first."""
        known_keys = [key for key in dict.fromkeys(keys) if is_key(key)]
        attempts_by_key = await self.pool.read(lambda session: read_attempts(session, known_keys)) if keys else {}
        return [attempts_by_key.get(key, ()) for key in keys]

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Create partitions ahead of time, and remove a bounded number of old records."""
        try:
            return await maintain_step(self.maintenance_pool, now, keep, Limits())
        finally:
            await self.maintenance_pool.close_idle()  # the connection is needed only once an hour

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        ((horizon,),) = await self.pool.read(lambda session: session.rows("horizon"))
        return int(horizon)

    def workflows(self) -> WorkflowTable:
        """Return a workflow store in the same database."""
        return WorkflowTable(self.pool)

    async def health(self) -> dict[str, int]:
        """Return the health metrics of the database by name (see `vitals`)."""
        return await self.pool.read(vitals)

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        rows = await self.pool.read(lambda session: session.rows("gaps", schedule=identity))
        return [read_gap(identity, row) for row in rows]

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        rows = await self.pool.read(lambda session: session.rows("revisions", schedule=identity))
        return [read_revision(row, self.jobs.presets) for row in rows]

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded changes of a schedule, in the order in which they were written."""
        rows = await self.pool.read(lambda session: session.rows("actions", schedule=identity))
        return [read_action(identity, row) for row in rows]

    async def _commit_distinct(self, updates: dict[str, ScheduleUpdate], now: int) -> set[str]:
        """Commit updates of different schedules in the order of their identities. Returns the committed identities."""
        simple = [update for update in updates.values() if is_simple_insert(update)]
        committed = await self._commit_simple(simple, columns_of(simple), now) if simple else set()
        names = {update.after.identity for update in simple}
        others = [update for name, update in updates.items() if name not in names]
        return committed | await self._commit_locked(others, now)

    async def _commit_together(self, updates: Sequence[ScheduleUpdate], now: int) -> list[bool]:
        sorted_updates = sorted(updates, key=lambda update: update.after.identity)

        async def work(session: Session) -> None:
            if not all(await commit_locked(session, self.jobs, sorted_updates, now)):
                raise _PartlyRejected  # rolls back what was written

        try:
            if updates:
                await self.pool.write(work)
        except _PartlyRejected:
            return [False] * len(updates)
        return [True] * len(updates)

    async def _commit_simple(self, updates: list[ScheduleUpdate], columns: dict[str, Any], now: int) -> set[str]:
        try:
            return await self.pool.write(lambda session: advance(session, updates, columns))
        except WriteRejected:
            return await self._commit_locked(updates, now)

    async def _commit_locked(self, updates: list[ScheduleUpdate], now: int) -> set[str]:
        if not updates:
            return set()
        written = await self.pool.write(lambda session: commit_locked(session, self.jobs, updates, now))
        return {update.after.identity for update, is_written in zip(updates, written, strict=True) if is_written}
