"""Store interface: few methods, all batched. A write is committed only if the data it is based on is unchanged.

Callers pass the time to a store. The key decides which worker may record a period, compare-and-set decides which worker
may change a schedule, and the token of an attempt decides which worker may report on it. Shard leases only decide which
worker reads which schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kron.engine.event_ring import EventRing
from kron.engine.fleet import Fleet, Share
from kron.engine.overview import Overview
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate
from kron.timing.schedule.policy import Policy

FIRST = (-(1 << 62), "")  # position before all schedules, for `fetch_due`


class Maintained(NamedTuple):
    """Result of one call of `Store.maintain`."""

    removed: int = 0  # records older than the retention
    more: bool = False  # there is more to do: call again
    made: tuple[str, ...] = ()  # partitions, where the store has them
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # old partitions that are still needed: a run is open or was written recently


class Unreadable(NamedTuple):
    """Schedule that cannot be read here: its identity, when it was to be checked, and the reason."""

    identity: str
    next_check_at: int
    reason: str


Found = ScheduleState | Unreadable


class Store(Protocol):
    """Durable storage of schedules, revisions, actions, runs and gap records, for several workers at once."""

    @property
    def overview(self) -> Overview:
        """Overview of many schedules at once, for people."""

    @property
    def events(self) -> EventRing:
        """Newest events of all processes that use the store, for people who watch."""

    async def now(self) -> int:
        """Return the current time in milliseconds. The store's clock decides."""

    async def lease(self, owner: str, kinds: frozenset[str], length: int, tz: str = "") -> Fleet:
        """Register a worker, and return the fleet of living workers.

        The store reads its clock when it writes: a call that was delayed says nothing about workers that registered
        meanwhile. A registration made by a clock that was set back since counts from now on: a crashed worker counts as
        living for at most the length of its lease.

        Args:
            owner: The worker.
            kinds: Kinds of target that it can launch.
            length: Length of the lease in milliseconds; 0: leave the fleet.
            tz: Version of its tz database.
        """

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of the shares must be checked, in milliseconds."""

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules of a share that must be checked by `upto`, ordered by check time, then identity.

        Args:
            share: Shards and kinds to read.
            upto: Latest check time, in milliseconds.
            limit: Maximum number of schedules.
            beyond: Check time and identity: only schedules after this position are returned.
        """

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Check a schedule no earlier than `until` (milliseconds), because it cannot be read or committed."""

    def prepare(self, updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the same updates, in any order, with as much work done as is possible before they are due."""

    async def commit(self, updates: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged.

        Args:
            updates: The updates.
            now: Current time in milliseconds.
            together: Commit all of the updates, or none.

        Returns:
            For each update, whether it was committed.
        """

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose run still has its token. Returns for each change whether it was written."""

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the states of the schedules, including deleted ones; None for those that do not exist."""

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the same, and the time at which the states were read, in milliseconds."""

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs with these keys; None for keys without a run."""

    async def identities(
        self,
        after: str,
        limit: int,
        prefix: str = "",
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
    ) -> list[str]:
        """Return a page of identities in order.

        Args:
            after: Only identities after this one.
            limit: Maximum number of identities.
            prefix: Only identities that begin with this text.
            paused: Only paused schedules (True), only others (False), or both (None).
            deleted: Only deleted schedules (True), or only others (False).
            labels: Only schedules that have all of these labels, each as `key=value`.
        """

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; with `before`, only those that follow the run with that key."""

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return a page of the dead letters of schedules whose identities begin with `prefix`, latest first.

        With `before`, only dead letters that follow the run with that key.
        """

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' names for the runs with these keys; None where a target reported none."""

    async def attempts(self, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
        """Return the recorded attempts of the runs with these keys, oldest first; empty for other keys.

        An attempt is written with the change of its run, under the same fencing token. Each run keeps its newest 50.
        """

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the actions that changed a schedule, in the order in which they were written.

        Requests for runs are left out: there can be many, and they change no schedule.
        """

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of records that are older than `keep` milliseconds, and prepare for upcoming ones.

        Removed are runs that ended before `now - keep` with their data, keys of manual requests and gap records of that
        age, and schedules that were deleted before it. Nothing is removed if `keep` is None. Open runs stay, and so
        does everything about schedules that are not deleted. A period whose record was removed cannot run again,
        because the cursor of its schedule is past it. Any number of processes can call this at once.
        """

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which `maintain` may have removed records; 0 if it never did."""


@runtime_checkable
class Transactional(Protocol):
    """Optional capability of a store: a run whose own writes are in the same database."""

    def transaction(self, run: Run, policy: Policy) -> AbstractAsyncContextManager[Any]:
        """Return a connection whose writes are committed with the success of the attempt, or not at all.

        Raises:
            Fenced: At the end of the block, another attempt has taken over the run or the run has ended. Nothing is
                written.
        """
