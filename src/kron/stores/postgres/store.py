"""A store in PostgreSQL: the row is the lock, and the database's clock decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from kron.clock import Clock
from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.policy import Policy
from kron.core.run import Run
from kron.errors import KronError
from kron.fleet import SHARDS, Fleet, Share
from kron.store import FIRST, Act, Change, Found, Maintained, Revision, Settlement
from kron.stores.codec import read_act, read_gap, read_revision, read_run
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.cases import Jobs, readable, whole
from kron.stores.postgres.change import change
from kron.stores.postgres.fleet import downtimes_of, informed, lease
from kron.stores.postgres.hints import Bell, Listener, listening, urgent
from kron.stores.postgres.maintain import DEADLINE_S, DEFAULT, Limits, maintained
from kron.stores.postgres.pool import DEADLINE, Pool, Talk
from kron.stores.postgres.rows import key_bytes
from kron.stores.postgres.settle import Ready, advance, columns_of, plain, prepare, settle_exactly
from kron.stores.postgres.transaction import Transactions
from kron.stores.postgres.vitals import vitals
from kron.stores.postgres.workflows import WorkflowTable
from kron.stores.presets import BUILT_IN, Presets
from kron.within import within


class _Apart(Exception):
    """Of what is to be written together, something does not hold."""


class PostgresStore:
    """Everything of one tenant in one database. What a method wrote is durable when it returns."""

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
        """`clock` only for tests: without it, the database says what time it is."""
        self.clock, self.tenant = clock, tenant
        self.pool = Pool(url, tenant, size=size, deadline=deadline)
        self.upkeep = Pool(url, tenant, size=1, deadline=DEADLINE_S)
        self.jobs, self.bell = Jobs(presets), Bell(self.pool)
        self.transactions = Transactions(self.pool, self.now)

    async def close(self) -> None:
        """Let go of the database."""
        await self.bell.rest()
        await self.pool.close()

    def heeding(self, heard: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """While it lasts, `heard` is called when somebody asks for what is to be looked at now; or soon after."""
        return listening(Listener(self.pool.conninfo, self.pool.whose, heard))

    async def now(self) -> int:
        """The current instant in milliseconds."""
        if self.clock is not None:
            return int(self.clock.now() * 1000)
        ((now,),) = await self.pool.ask("clock")
        return int(now)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Register `owner` for so many milliseconds; all who live."""
        now = None if self.clock is None else await self.now()
        return await self.pool.write(lambda talk: lease(talk, owner, kinds, length, now))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """The current instant, and when the next schedule of those shares is to be looked at."""
        whose = {"tenant": self.tenant, "within": within()}
        found = [row for share in shares for row in await self.pool.ask("poll", **whose, **_share(share))]
        now = found[0][0] if found and self.clock is None else await self.now()
        return now, min((wake for _, wake in found if wake is not None), default=None)

    async def look(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""
        wanted = {"upto": upto, "limit": limit, "after": beyond[0], "name": beyond[1]}

        async def work(talk: Talk) -> list[Found]:
            if len(share.shards) == SHARDS:
                rows = await talk.rows("look_everywhere", kinds=texts(share.kinds), **wanted)
            else:
                rows = await talk.rows("look", **_share(share), **wanted)
            return await readable(talk, self.jobs, rows)

        return await self.pool.read(work)

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Look at a schedule no earlier than that."""
        await self.pool.write(lambda talk: talk.tell("set_aside", schedule=identity, until=until, reason=reason))

    def prepare(self, settlements: list[Settlement]) -> list[Settlement]:
        """The same settlements, ready to be sent if they are plain."""
        return prepare(settlements)

    async def settle(self, settlements: Sequence[Settlement], now: int, *, together: bool = False) -> list[bool]:
        """Write each settlement that still holds; or all of them, or none."""
        if together:
            return await self._together(settlements, now)
        if isinstance(settlements, Ready):
            names = await self._advance(settlements, settlements.columns, now)
            return [s.after.job.identity in names for s in settlements]
        held = [False] * len(settlements)
        waiting = list(range(len(settlements)))
        while waiting:  # those of one schedule one after the other
            first = {settlements[n].after.identity: n for n in reversed(waiting)}
            names = await self._settle({name: settlements[first[name]] for name in sorted(first)}, now)
            for name, n in first.items():
                held[n] = name in names
            waiting = [n for n in waiting if n != first[settlements[n].after.identity]]
        if any(won and urgent(s, now) for s, won in zip(settlements, held, strict=True)):
            self.bell.ring()
        return held

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token."""
        return await self.pool.write(lambda talk: change(talk, changes)) if changes else []

    def transaction(self, run: Run, policy: Policy) -> AbstractAsyncContextManager[Any]:
        """A connection whose writes are committed with the success of that attempt, or not at all."""
        return self.transactions.of(run, policy)

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities."""
        return (await self.get_now(identities))[0] if identities else []

    async def get_now(self, identities: Sequence[str]) -> tuple[list[Case | None], int]:
        """The same, and the instant at which they were so."""

        async def work(talk: Talk) -> tuple[dict[str, Case], int]:
            (there, *_), *_ = rows = await talk.rows("standing", schedules=texts(set(identities)))
            now = there if self.clock is None else int(self.clock.now() * 1000)
            cases = await whole(talk, self.jobs, [row[1:] for row in rows if row[1] is not None])
            downtimes = await downtimes_of(talk, now) if cases else {}
            return {case.identity: informed(case, downtimes) for case in cases}, now

        found, now = await self.pool.read(work)
        return [found.get(identity) for identity in identities], now

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""
        wanted = octets({key_bytes(key) for key in keys if _is_key(key)})
        rows = await self.pool.read(lambda talk: talk.rows("of_keys", keys=wanted)) if keys else []
        found = {run.key: run for run in map(read_run, rows)}
        return [found.get(key) for key in keys]

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """A page of the identities, in order."""
        wanted = {"after": after, "limit": limit, "prefix": prefix, "paused": paused, "deleted": deleted}
        rows = await self.pool.read(lambda talk: talk.rows("identities", **wanted))
        return [identity for (identity,) in rows]

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """The newest runs of a schedule."""
        wanted: dict[str, Any] = {"schedule": identity, "limit": limit}
        query = "runs_before" if before else "runs"
        if before:
            if not _is_key(before):
                return []
            wanted["before"] = key_bytes(before)
        rows = await self.pool.read(lambda talk: talk.rows(query, **wanted))
        return [read_run(row) for row in rows]

    async def dead(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """The runs that could not be started, the last that was given up first."""
        wanted: dict[str, Any] = {"prefix": prefix, "limit": limit}
        if before and not _is_key(before):
            return []
        wanted |= {"before": key_bytes(before)} if before else {}
        rows = await self.pool.read(lambda talk: talk.rows("dead_before" if before else "dead", **wanted))
        return [read_run(row) for row in rows]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """What the targets call the runs of those keys."""
        wanted = octets({key_bytes(key) for key in keys if _is_key(key)})
        found = dict(await self.pool.read(lambda talk: talk.rows("called", keys=wanted))) if keys else {}
        return [found.get(key) for key in keys]

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Make partitions ahead of time, and remove a bounded number of old records."""
        try:
            return await maintained(self.upkeep, now, keep, Limits())
        finally:
            await self.upkeep.close()  # it is needed once an hour

    async def horizon(self) -> int:
        """Up to when old records may have been removed."""
        ((horizon,),) = await self.pool.read(lambda talk: talk.rows("horizon"))
        return int(horizon)

    def workflows(self) -> WorkflowTable:
        """A workflow store in the same database."""
        return WorkflowTable(self.pool)

    async def vitals(self) -> dict[str, int]:
        """How it goes with the whole, in numbers."""
        return await self.pool.read(vitals)

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule."""
        rows = await self.pool.read(lambda talk: talk.rows("gaps", schedule=identity))
        return [read_gap(identity, row) for row in rows]

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule."""
        rows = await self.pool.read(lambda talk: talk.rows("revisions", schedule=identity))
        return [read_revision(row, self.jobs.presets) for row in rows]

    async def acts(self, identity: str) -> list[Act]:
        """What was done to a schedule."""
        rows = await self.pool.read(lambda talk: talk.rows("acts", schedule=identity))
        return [read_act(identity, row) for row in rows]

    async def _settle(self, settlements: dict[str, Settlement], now: int) -> set[str]:
        """Write those that hold, each of another schedule, in the order of their names; whose those were."""
        easy = [s for s in settlements.values() if plain(s)]
        held = await self._advance(easy, columns_of(easy), now) if easy else set()
        names = {s.after.identity for s in easy}
        return held | await self._exactly([s for name, s in settlements.items() if name not in names], now)

    async def _together(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        in_order = sorted(settlements, key=lambda s: s.after.identity)

        async def work(talk: Talk) -> None:
            if not all(await settle_exactly(talk, self.jobs, in_order, now)):
                raise _Apart  # and what was written is undone

        try:
            if settlements:
                await self.pool.write(work)
        except _Apart:
            return [False] * len(settlements)
        return [True] * len(settlements)

    async def _advance(self, settlements: list[Settlement], columns: dict[str, Any], now: int) -> set[str]:
        try:
            return await self.pool.write(lambda talk: advance(talk, settlements, columns))
        except KronError as error:
            if error.code != "STORE_REFUSED":
                raise
            return await self._exactly(settlements, now)

    async def _exactly(self, settlements: list[Settlement], now: int) -> set[str]:
        if not settlements:
            return set()
        held = await self.pool.write(lambda talk: settle_exactly(talk, self.jobs, settlements, now))
        return {s.after.identity for s, won in zip(settlements, held, strict=True) if won}


def _share(share: Share) -> dict[str, Any]:
    return {"shards": numbers(share.shards), "kinds": texts(share.kinds)}


def _is_key(key: str) -> bool:
    return len(key) == 64 and key.isascii() and not key.strip("0123456789abcdef")
