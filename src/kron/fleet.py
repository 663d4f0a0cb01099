"""The fleet: the workers that live, what each of them can launch, and who looks at which shard.

Shards follow from the living workers alone: each worker computes its own. Two workers may look at one shard for a
moment after somebody joined or left; the compare-and-set of the store decides who records a period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

from kron.core.downtime import Downtime

SHARDS = 64
ALL_SHARDS = frozenset(range(SHARDS))
FUNCTIONS = "python"  # the scheme whose targets are launched by some processes and not by others


class Member(NamedTuple):
    """A living worker: since when it has been heard of without a break, and the kinds of target it can launch."""

    owner: str
    joined: int
    kinds: frozenset[str]


class Share(NamedTuple):
    """The shards in which a worker looks for schedules of some kinds."""

    shards: frozenset[int]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fleet:
    """All who live, and for each kind that was asked about when last none of them could launch it."""

    members: tuple[Member, ...] = ()
    downtimes: Mapping[str, Downtime] = field(default_factory=dict)


def kind_of(target: str) -> str:
    """The kind of a target: its scheme; for a function of an application, the function itself."""
    if target.startswith(f"{FUNCTIONS}:"):
        return target
    scheme = target.partition(":")[0].lower()
    return target if scheme == FUNCTIONS else scheme


def shard_of(identity: str) -> int:
    """The shard of a schedule: the same for ever, on every machine."""
    return crc32(identity.encode()) % SHARDS


def shares(owner: str, members: Iterable[Member]) -> tuple[Share, ...]:
    """Where a worker looks: for each kind, its share among the living workers that can launch it."""
    able: dict[str, list[str]] = {}
    own = frozenset[str]()
    for member in members:
        own = member.kinds if member.owner == owner else own
        for kind in member.kinds:
            able.setdefault(kind, []).append(member.owner)
    alike: dict[tuple[str, ...], set[str]] = {}
    for kind in own:
        alike.setdefault(tuple(sorted(able[kind])), set()).add(kind)
    found = (Share(share_of(owner, group), frozenset(kinds)) for group, kinds in alike.items())
    return tuple(sorted((s for s in found if s.shards), key=lambda s: (-len(s.kinds), *sorted(s.kinds))))


def leader(members: Iterable[Member], kinds: frozenset[str]) -> str:
    """Who leads among those that can launch the same: the one that has lived for longest."""
    able = [member for member in members if member.kinds == kinds]
    return min(able, key=lambda member: (member.joined, member.owner)).owner if able else ""


@lru_cache(256)
def share_of(owner: str, members: tuple[str, ...]) -> frozenset[int]:
    """The shards of one of the members. Each has as many as any other, or one more or less."""
    least, extra = divmod(SHARDS, len(members))
    held, larger, own = dict.fromkeys(members, 0), 0, set[int]()
    for shard in range(SHARDS):
        for member in sorted(members, key=lambda member: _rank(member, shard), reverse=True):
            if held[member] < least or (held[member] == least and larger < extra):
                held[member] += 1
                larger += held[member] > least
                if member == owner:
                    own.add(shard)
                break
    return frozenset(own)


@lru_cache(65_536)
def _rank(member: str, shard: int) -> bytes:
    """How high a member ranks for a shard."""
    return sha256(f"{member}:{shard}".encode()).digest()
