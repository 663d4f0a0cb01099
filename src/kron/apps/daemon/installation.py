"""Installation: the jobs of tables, as schedules of the store."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress

from kron.apps.host.tables import Table
from kron.engine.registrar import Actor, Registrar
from kron.errors import NotFound

ACTOR = Actor("krond")
BATCH_SIZE = 1_000  # schedules in one write or page
CONCURRENT_DELETIONS = 100


class Installation:
    """Schedules of the store that tables define, by the path of their table.

    Schedules that another program has defined in the store stay as they are: their identities do not begin with `/`.
    """

    def __init__(self, registrar: Registrar) -> None:
        self.registrar, self.identities = registrar, dict[str, frozenset[str]]()
        self.notifying: dict[str, frozenset[str]] = {}  # identities of the jobs that notify, of each table that is used

    @property
    def count(self) -> int:
        """How many jobs are in force."""
        return sum(map(len, self.identities.values()))

    def count_in(self, path: str) -> int:
        """Return how many jobs of a table are in force."""
        return len(self.identities.get(path, ()))

    @property
    def notifying_jobs(self) -> frozenset[str]:
        """Identities of the jobs that notify, of all tables that are used as they are."""
        return frozenset().union(*self.notifying.values())

    def may_notify(self, identity: str) -> bool:
        """Return whether a job may have notifications. Of a table that is refused, only the store knows."""
        notifying = self.notifying.get(identity.rpartition(":")[0])
        return notifying is None or identity in notifying

    async def restore(self) -> None:
        """Read which jobs an earlier daemon has installed."""
        identities, last = defaultdict[str, set[str]](set), ""
        while page := await self.registrar.store.identities(last, BATCH_SIZE, "/"):
            last = page[-1]
            for identity in page:
                identities[identity.rpartition(":")[0]].add(identity)
        self.identities = {path: frozenset(names) for path, names in identities.items()}

    async def install(self, table: Table, looked: int | None = None) -> int:
        """Define the jobs of a table, and delete those that it no longer has. Returns how many were deleted.

        Both can be repeated after a crash: a job that has its definition already stays as it is.

        Args:
            table: The table.
            looked: When a daemon looked at the tables before (milliseconds); None if none did. A change since then is
                in force from the moment at which it was made.
        """
        as_of = None if looked is None else max(looked, table.changed)
        for first in range(0, len(table.jobs), BATCH_SIZE):
            batch = [(job, ACTOR) for job in table.jobs[first : first + BATCH_SIZE]]
            await self.registrar.upsert_all(batch, as_of=as_of)
        new_identities = frozenset(job.identity for job in table.jobs)
        surplus = self.identities.get(table.path, frozenset()) - new_identities
        self.identities[table.path] = new_identities | surplus
        await self._delete(surplus)
        self.identities[table.path] = new_identities
        self.notifying[table.path] = frozenset(job.identity for job in table.jobs if job.command and job.command.notify)
        return len(surplus)

    async def remove(self, path: str) -> int:
        """Delete the jobs of a table that has vanished. Returns how many were deleted."""
        surplus = self.identities.get(path, frozenset())
        await self._delete(surplus)
        self.identities.pop(path, None)
        self.notifying.pop(path, None)
        return len(surplus)

    async def _delete(self, identities: Collection[str]) -> None:
        """Delete schedules. Their history stays, so that no period runs twice if the job comes back."""
        names = sorted(identities)
        for first in range(0, len(names), CONCURRENT_DELETIONS):
            await asyncio.gather(*map(self._delete_one, names[first : first + CONCURRENT_DELETIONS]))

    async def _delete_one(self, identity: str) -> None:
        with suppress(NotFound):  # another program has deleted it
            await self.registrar.delete(identity, ACTOR)
