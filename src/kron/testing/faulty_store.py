"""Store behind an unreliable network."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from kron.engine.fleet import Fleet, Share
from kron.engine.overview import Overview
from kron.engine.store import FIRST, Found, Store
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate
from kron.testing.network import Network

T = TypeVar("T")


class FaultyStore:
    """Store whose calls and responses pass through a network that can delay or lose them."""

    def __init__(self, store: Store, road: Network) -> None:
        self.store, self.road = store, road

    @property
    def overview(self) -> Overview:
        """Overview of the store. Its calls do not use the network: no worker needs them."""
        return self.store.overview

    async def now(self) -> int:
        """Return the store's time in milliseconds since 1970-01-01 UTC."""
        return await self._call("now", self.store.now())

    async def lease(self, owner: str, kinds: frozenset[str], length: int, tz: str = "") -> Fleet:
        """Renew the lease of worker `owner`, and return the fleet: all workers with a valid lease."""
        return await self._call("lease", self.store.lease(owner, kinds, length, tz))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the store's time, and the time at which the next schedule of the shards is due."""
        return await self._call("poll", self.store.poll(shares))

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules of a shard that are due."""
        return await self._call("fetch_due", self.store.fetch_due(share, upto, limit, beyond))

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Defer a schedule until a given time."""
        return await self._call("set_aside", self.store.set_aside(identity, until, reason))

    def prepare(self, updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the same updates, prepared for commit. This call is local: it does not use the network."""
        return self.store.prepare(updates)

    async def commit(self, updates: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        return await self._call("commit", self.store.commit(updates, now, together=together))

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token."""
        return await self._call("update_runs", self.store.update_runs(changes, now))

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the states of the schedules with these identities."""
        return await self._call("get", self.store.get(identities))

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the same states, and the time at which they were read."""
        return await self._call("get_with_time", self.store.get_with_time(identities))

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs with these keys."""
        return await self._call("runs_by_key", self.store.runs_by_key(keys))

    async def identities(
        self,
        after: str,
        limit: int,
        prefix: str = "",
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
    ) -> list[str]:
        """Return a page of identities."""
        return await self._call("identities", self.store.identities(after, limit, prefix, paused, deleted, labels))

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the newest runs of a schedule."""
        return await self._call("runs", self.store.runs(identity, limit, before))

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters: runs that could not be launched."""
        return await self._call("dead_letters", self.store.dead_letters(prefix, limit, before))

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the ids that the targets gave to the runs with these keys."""
        return await self._call("run_ids", self.store.run_ids(keys))

    async def attempts(self, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
        """Return the recorded attempts of the runs with these keys."""
        return await self._call("attempts", self.store.attempts(keys))

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule."""
        return await self._call("gaps", self.store.gaps(identity))

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule."""
        return await self._call("revisions", self.store.revisions(identity))

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded actions on a schedule."""
        return await self._call("actions", self.store.actions(identity))

    async def _call(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        try:
            await self.road.request(name)
        except BaseException:
            work.close()
            raise
        result = await work
        await self.road.response(name)
        return result
