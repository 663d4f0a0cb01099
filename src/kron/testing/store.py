"""A store at the far end of a road."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.run import Run
from kron.fleet import Fleet, Share
from kron.store import FIRST, Act, Change, Found, Revision, Settlement, Store
from kron.testing.road import Road

T = TypeVar("T")


class FaultyStore:
    """The store, with every call and every answer on a road where they may be late or lost."""

    def __init__(self, store: Store, road: Road) -> None:
        self.store, self.road = store, road

    async def now(self) -> int:
        """The current instant in milliseconds."""
        return await self._call("now", self.store.now())

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """All who live, with `owner`."""
        return await self._call("lease", self.store.lease(owner, kinds, length))

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """The current instant, and when the next case is to be looked at."""
        return await self._call("poll", self.store.poll(shares))

    async def look(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """The cases that are to be looked at."""
        return await self._call("look", self.store.look(share, upto, limit, beyond))

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Look at a schedule no earlier than that."""
        return await self._call("set_aside", self.store.set_aside(identity, until, reason))

    def prepare(self, settlements: list[Settlement]) -> list[Settlement]:
        """The same settlements, prepared; nothing goes over the road."""
        return self.store.prepare(settlements)

    async def settle(self, settlements: Sequence[Settlement], now: int, *, together: bool = False) -> list[bool]:
        """Write each settlement that still holds; or all of them, or none."""
        return await self._call("settle", self.store.settle(settlements, now, together=together))

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token."""
        return await self._call("change", self.store.change(changes, now))

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities."""
        return await self._call("get", self.store.get(identities))

    async def get_now(self, identities: Sequence[str]) -> tuple[list[Case | None], int]:
        """The same, and the instant at which they were so."""
        return await self._call("get_now", self.store.get_now(identities))

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""
        return await self._call("find", self.store.find(keys))

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """A page of the identities."""
        return await self._call("identities", self.store.identities(after, limit, prefix, paused, deleted))

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """The newest runs of a schedule."""
        return await self._call("runs", self.store.runs(identity, limit, before))

    async def dead(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """The runs that could not be started."""
        return await self._call("dead", self.store.dead(prefix, limit, before))

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """What the targets call the runs of those keys."""
        return await self._call("run_ids", self.store.run_ids(keys))

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule."""
        return await self._call("gaps", self.store.gaps(identity))

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule."""
        return await self._call("revisions", self.store.revisions(identity))

    async def acts(self, identity: str) -> list[Act]:
        """What was done to a schedule."""
        return await self._call("acts", self.store.acts(identity))

    async def _call(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        try:
            await self.road.there(name)
        except BaseException:
            work.close()
            raise
        result = await work
        await self.road.back(name)
        return result
