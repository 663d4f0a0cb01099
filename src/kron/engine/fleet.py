"""Fleet: the living workers, what each of them can launch, and which shards each of them reads.

The assignment of shards follows from the set of living workers alone: each worker computes its own. Two workers can
read the same shard for a moment after a worker joined or left. The compare-and-set of the store decides which of them
records a period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

from kron.rules.downtime import Downtime

SHARDS = 64
ALL_SHARDS = frozenset(range(SHARDS))
FUNCTIONS = "python"  # scheme whose targets only some processes can launch


class Member(NamedTuple):
    """Living worker: since when it has been registered without a break, what it can launch, and its tz database."""

    owner: str
    joined: int
    kinds: frozenset[str]
    tz: str = ""  # version of its tz database, such as 2026f, or `unknown`; empty if it registered none


class Share(NamedTuple):
    """Shards in which a worker reads schedules of some kinds."""

    shards: frozenset[int]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fleet:
    """All living workers, and for each requested kind the latest downtime in which none of them could launch it."""

    members: tuple[Member, ...] = ()
    downtimes: Mapping[str, Downtime] = field(default_factory=dict)


def kind_of(target: str) -> str:
    """Return the kind of a target: its scheme, or for a function of an application the whole target."""
    if target.startswith(f"{FUNCTIONS}:"):
        return target
    scheme = target.partition(":")[0].lower()
    return target if scheme == FUNCTIONS else scheme


def shard_of(identity: str) -> int:
    """Return the shard of a schedule. It never changes, and is the same on every machine."""
    return crc32(identity.encode()) % SHARDS


def shares(owner: str, members: Iterable[Member]) -> tuple[Share, ...]:
    """Return the shares of a worker: for each kind, its shards among the living workers that can launch the kind."""
    owners_by_kind: dict[str, list[str]] = {}
    own_kinds = frozenset[str]()
    for member in members:
        own_kinds = member.kinds if member.owner == owner else own_kinds
        for kind in member.kinds:
            owners_by_kind.setdefault(kind, []).append(member.owner)
    kinds_by_owners: dict[tuple[str, ...], set[str]] = {}
    for kind in own_kinds:
        kinds_by_owners.setdefault(tuple(sorted(owners_by_kind[kind])), set()).add(kind)
    candidates = (Share(shards_for(owner, owners), frozenset(kinds)) for owners, kinds in kinds_by_owners.items())
    return tuple(sorted((s for s in candidates if s.shards), key=lambda s: (-len(s.kinds), *sorted(s.kinds))))


def leader(members: Iterable[Member], kinds: frozenset[str]) -> str:
    """Return the leader among the workers with the same kinds: the one that has been alive for longest."""
    candidates = [member for member in members if member.kinds == kinds]
    return min(candidates, key=lambda member: (member.joined, member.owner)).owner if candidates else ""


@lru_cache(256)
def shards_for(owner: str, members: tuple[str, ...]) -> frozenset[int]:
    """Return the shards of one member. The numbers of shards of any two members differ by at most 1."""
    min_count, extra = divmod(SHARDS, len(members))
    shard_counts, larger_count, own_shards = dict.fromkeys(members, 0), 0, set[int]()
    for shard in range(SHARDS):
        for member in sorted(members, key=lambda member: _rank(member, shard), reverse=True):
            if shard_counts[member] < min_count or (shard_counts[member] == min_count and larger_count < extra):
                shard_counts[member] += 1
                larger_count += shard_counts[member] > min_count
                if member == owner:
                    own_shards.add(shard)
                break
    return frozenset(own_shards)


@lru_cache(65_536)
def _rank(member: str, shard: int) -> bytes:
    """Return the rank of a member for a shard."""
    return sha256(f"{member}:{shard}".encode()).digest()
