"""Fleet panel: the workers, which of them reads which shard, and why a schedule waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kron.apps.dashboard.time_text import duration_text
from kron.engine.fleet import FUNCTIONS, SHARDS, Member, kind_of, shard_of, shares
from kron.engine.overview import WorkerRecord
from kron.rules.state import ScheduleState

MAX_WORKERS = 12  # workers that the page lists
LETTERS = "abcdefghijkl"
TONES = ("a", "bb", "c")  # grounds of shards


class WorkerLine(NamedTuple):
    """Worker in the list."""

    letter: str
    owner: str
    shards: int
    renewed: int  # milliseconds
    is_overdue: bool  # the worker should have renewed its lease by now


class Shard(NamedTuple):
    """Shard in the picture."""

    number: int
    letter: str
    tone: str
    owner: str  # empty if no worker reads it


class FleetPanel(NamedTuple):
    """Workers and shards at one time."""

    workers: tuple[WorkerLine, ...]
    more: int  # workers beyond those listed
    kind: str  # kind of target whose shards are shown: the one that most workers can launch
    shards: tuple[Shard, ...]
    tz_versions: tuple[str, ...]
    records: tuple[WorkerRecord, ...]  # living workers
    now: int
    is_named: bool  # whether the viewer may know the names of workers, which contain their hosts

    @property
    def free(self) -> int:
        """Number of shards that no worker reads."""
        return sum(not shard.owner for shard in self.shards)

    def cause_of_wait(self, state: ScheduleState) -> str:
        """Return why a late schedule waits; empty if the workers do not tell."""
        kind = kind_of(state.job.target)
        owner = _owners(self.records, kind).get(shard_of(state.identity))
        if owner is None and kind.partition(":")[0].lower() == FUNCTIONS:
            return "The application that declares its function is not running."
        if owner is None:
            return f"No running worker can launch {kind} targets." if self.records else "No worker is running."
        record = next(record for record in self.records if record.owner == owner)
        if not _is_overdue(record, self.now):
            return ""
        silence = duration_text((self.now - record.renewed) // 1000)
        name = f" {owner}" if self.is_named else ""
        return f"Its worker{name} has not renewed its lease for {silence}."


def fleet_panel(records: Sequence[WorkerRecord], now: int, *, is_named: bool = True) -> FleetPanel:
    """Return the panel. Workers whose lease has ended are left out. A tenant of a service sees no names of workers."""
    living = tuple(record for record in records if record.until > now)
    kinds = Counter(kind for record in living for kind in record.kinds)
    kind = min(kinds, key=lambda name: (-kinds[name], name), default="")
    owners = _owners(living, kind)
    letters = {record.owner: letter for record, letter in zip(living, LETTERS, strict=False)}
    names = {record.owner: record.owner if is_named else "worker" for record in living}
    lines = tuple(
        WorkerLine(
            letters[record.owner],
            names[record.owner],
            len(_shards(record, living)),
            record.renewed,
            _is_overdue(record, now),
        )
        for record in living[:MAX_WORKERS]
    )
    tones = {record.owner: TONES[number % len(TONES)] for number, record in enumerate(living)}
    shards = tuple(
        Shard(number, letters.get(owner, "·"), tones[owner], owner if is_named else "worker")
        if owner
        else Shard(number, "!", "free", "")
        for number in range(SHARDS)
        for owner in [owners.get(number, "")]
    )
    versions = tuple(sorted({record.tz for record in living if record.tz}))
    return FleetPanel(lines, max(0, len(living) - MAX_WORKERS), kind, shards, versions, living, now, is_named)


def _is_overdue(record: WorkerRecord, now: int) -> bool:
    """Return whether a worker has missed a renewal: it renews its lease every third of the length."""
    return now - record.renewed > (record.until - record.renewed) // 2


@lru_cache(32)
def _owners(records: tuple[WorkerRecord, ...], kind: str) -> dict[int, str]:
    """Return the worker of each shard, for one kind of target."""
    members = _members(records)
    return {
        shard: record.owner
        for record in records
        for share in shares(record.owner, members)
        if kind in share.kinds
        for shard in share.shards
    }


def _shards(record: WorkerRecord, records: Sequence[WorkerRecord]) -> frozenset[int]:
    """Return the shards that a worker reads, for any kind of target."""
    return frozenset().union(*(share.shards for share in shares(record.owner, _members(records))))


def _members(records: Sequence[WorkerRecord]) -> list[Member]:
    return [Member(record.owner, record.joined, record.kinds, record.tz) for record in records]
