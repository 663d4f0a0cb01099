"""What Kron asks of a store. Few methods, all batched, told the time; a write holds only if what was read still does.

The key decides who may record a period, compare-and-set who may move a schedule, the token of an attempt who may
speak of it. Leases on shards only decide who looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Protocol
from zlib import crc32

from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.plan import Plan
from kron.core.run import Run

SHARDS = 64


@dataclass(frozen=True, slots=True)
class Revision:
    """A definition as it once was, for ever: who made it, when, and why."""

    identity: str
    number: int
    schedule: str
    dialect: str
    zone: str
    at: int
    who: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A change to one schedule and its runs: written as a whole, or not at all.

    It holds if the schedule still has the revision, the cursor and the pause that `before` shows (None: if there is
    no such schedule), if every changed run still has its token, if no new key exists, and if at most one run
    is active where the policy allows no more.
    """

    before: Case | None
    after: Case
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()
    gap: Gap | None = None
    revision: Revision | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A run before and after its launcher or its target has spoken; and when its schedule is to be looked at."""

    before: Run
    after: Run
    wake: int | None


def settlement(plan: Plan) -> Settlement:
    """What a plan asks a store to write."""
    after = replace(plan.case, cursor=plan.cursor, wake=plan.wake)
    return Settlement(plan.case, after, plan.new, plan.changed, plan.gap)


class Store(Protocol):
    """Keeps schedules, their revisions, runs and gaps, durably and for several workers at once."""

    async def now(self) -> int:
        """The current instant in milliseconds: the store's clock decides."""

    async def lease(self, owner: str, now: int, until: int) -> frozenset[int]:
        """Say that `owner` lives until then; the shards that it may look at, which nobody else now does."""

    async def look(self, shards: frozenset[int], upto: int, limit: int) -> list[Case]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""

    async def wake(self, shards: frozenset[int]) -> int | None:
        """When the next case of those shards is to be looked at."""

    async def settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        """Write each settlement that still holds; which did."""

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token; which did."""

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities, deleted ones too."""

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""

    async def identities(self, after: str, limit: int) -> list[str]:
        """The identities in order, from the first one after `after`; a page of them."""

    async def runs(self, identity: str, limit: int) -> list[Run]:
        """The newest runs of a schedule, newest first."""

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule, oldest first."""

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule, oldest first."""


def shard_of(identity: str) -> int:
    """The shard of a schedule: the same for ever, on every machine."""
    return crc32(identity.encode()) % SHARDS


@lru_cache(256)
def share_of(owner: str, members: tuple[str, ...]) -> frozenset[int]:
    """The shards that fall to one of the living members: each to the one that ranks highest for it."""

    def rank(shard: int, member: str) -> bytes:
        return sha256(f"{member}:{shard}".encode()).digest()

    return frozenset(s for s in range(SHARDS) if max(members, key=lambda member: rank(s, member)) == owner)


def holds(before: Case | None, stored: Case | None) -> bool:
    """Whether a schedule is still as it was read."""
    if before is None or stored is None:
        return before is None and (stored is None or stored.deleted)
    seen = (before.revision, before.cursor, before.paused, before.deleted)
    return seen == (stored.revision, stored.cursor, stored.paused, stored.deleted)
