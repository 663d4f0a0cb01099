"""What Kron asks of a store. Few methods, all batched, told the time; a write holds only if what was read still does.

The key decides who may record a period, compare-and-set who may move a schedule, the token of an attempt who may
speak of it. Leases on shards only decide who looks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kron.core.case import Case
from kron.core.job import Job
from kron.core.outcome import Gap
from kron.core.plan import Plan
from kron.core.policy import Policy
from kron.core.run import Run, State, exclusive, lawful
from kron.fleet import Fleet, Share

FIRST = (-(1 << 62), "")  # before all that is to be looked at


@dataclass(frozen=True, slots=True)
class Revision:
    """A complete definition, kept permanently: the job, its revision number, when it was made, by whom, and why."""

    job: Job
    number: int
    at: int  # milliseconds
    who: str = ""
    note: str = ""
    cursor: int = 0  # seconds: periods up to here were handled before this revision, or are not owed

    @property
    def identity(self) -> str:
        """Identity of the schedule."""
        return self.job.identity


class Deed(StrEnum):
    """What can be done to a schedule besides defining it."""

    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Act:
    """What was done to a schedule, for ever: what, when, by whom, and why. A pause may say when it ends by itself."""

    deed: Deed
    at: int
    until: int | None = None
    who: str = ""
    note: str = ""


class Settlement(NamedTuple):
    """A change to one schedule and its runs: written as a whole, or not at all.

    It holds if the schedule still has the revision, the cursor, the beginning (`since`), the pause with its end and the
    open runs with their leases that `before` shows (None: if nobody ever had the name), if no new key exists, if no run
    starts beside another where the policy forbids it, and if everything moves forward, as it lawfully can: the
    revision, the cursor, each run.
    """

    before: Case | None
    after: Case
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()
    gap: Gap | None = None
    revision: Revision | None = None
    act: Act | None = None


class Change(NamedTuple):
    """A run before and after its launcher or its target has spoken; and when its schedule is to be looked at."""

    before: Run
    after: Run
    wake: int | None
    run_id: str = ""  # what the target calls it, if it said so


class Maintained(NamedTuple):
    """What one call of `Store.maintain` has done."""

    removed: int = 0  # records older than the retention
    more: bool = False  # there is more to do: call again
    made: tuple[str, ...] = ()  # partitions, where the store has them
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # old partitions that are still needed: a run is open, or was written lately


def settlement(plan: Plan) -> Settlement:
    """What a plan asks a store to write."""
    after = plan.case._replace(cursor=plan.cursor, wake=plan.wake)
    return Settlement(plan.case, after, plan.new, plan.changed, plan.gap)


class Unreadable(NamedTuple):
    """A schedule that cannot be read here: its name, when it was to be looked at, and why it cannot."""

    identity: str
    wake: int
    reason: str


Found = Case | Unreadable


class Store(Protocol):
    """Keeps schedules, their revisions, acts, runs and gaps, durably and for several workers at once."""

    async def now(self) -> int:
        """The current instant in milliseconds: the store's clock decides."""

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Register `owner` for so many milliseconds, able to launch targets of those kinds. Returns all who live.

        With a length of 0 it leaves. The store reads its clock when it writes: a call that was long on its way says
        nothing about those who registered meanwhile. What was registered by a clock that has been set back since
        counts from now on: a crashed worker counts as living for at most the length of its lease.
        """

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """The current instant, and when the next schedule of those shares is to be looked at, in milliseconds."""

    async def look(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """The cases of a share that are to be looked at by `upto`, the longest waiting first, then by their names.

        Only those that come after `beyond` in that order: a time and a name.
        """

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Look at a schedule no earlier than `until`, because of that: it cannot be read, or not be committed."""

    def prepare(self, settlements: list[Settlement]) -> list[Settlement]:
        """The same settlements, in any order, with as much done as can be before the time comes to write them."""

    async def settle(self, settlements: Sequence[Settlement], now: int, *, together: bool = False) -> list[bool]:
        """Write each settlement that still holds; which did. `together`: all of them, or none is written."""

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token; which did."""

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities, deleted ones too."""

    async def get_now(self, identities: Sequence[str]) -> tuple[list[Case | None], int]:
        """The same, and the instant at which they were so, in milliseconds."""

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """The identities in order, from the first one after `after`; a page of them.

        Those that begin with `prefix`; only the paused or only the others, if that is asked; the deleted ones, or
        those that are not.
        """

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """The newest runs of a schedule, newest first; or those that follow the run of the key `before`."""

    async def dead(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """The runs that could not be started, of schedules whose names begin so, the last that was given up first.

        A page of them; or of those that follow the run of the key `before`.
        """

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """What the targets call the runs of those keys, where they said so."""

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule, oldest first."""

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule, oldest first."""

    async def acts(self, identity: str) -> list[Act]:
        """What was done to a schedule, in the order in which it was written."""

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of records that are older than `keep` milliseconds, and prepare for what is to come.

        Removed are runs that ended before `now - keep`, with what belongs to them, the keys of manual requests and gap
        records of that age, and schedules that were deleted before it. Nothing is removed if `keep` is None. Open
        runs, and everything about schedules that are not deleted, stay: a period whose row is gone cannot run again,
        because the cursor of its schedule lies behind it. Any number of processes can call this at once.
        """

    async def horizon(self) -> int:
        """Return the instant (milliseconds) before which `maintain` may have removed records; 0 if it never did."""


@runtime_checkable
class Transactional(Protocol):
    """What a store may offer besides: a run whose own writes are in the same database."""

    def transaction(self, run: Run, policy: Policy) -> AbstractAsyncContextManager[Any]:
        """A connection whose writes are committed with the success of that attempt, or not at all.

        FENCED is raised at its end, and nothing stays, if the run is another attempt's by then, or has ended.
        """


def fits(settlement: Settlement, stored: Case | None, taken: Collection[str]) -> bool:
    """Whether a settlement may be written. `stored` is its case as it is now, `taken` the keys that have a run."""
    before = {run.key: run for run in stored.open} if stored else {}
    return (
        holds(settlement.before, stored)
        and _forward(settlement, stored)
        and all(run.key not in taken and sound(run) for run in settlement.new)
        and all(stands(before.get(run.key), run, after) for run, after in settlement.changed)
        and not _crowded(settlement, before)
    )


def swift(settlement: Settlement) -> bool:
    """Whether it only adds a period of the calendar to a schedule without an open run, as nearly all do.

    Then `fits` comes to this: the schedule is still as it was read, and the key is new.
    """
    before, after, new, changed, gap, revision, act = settlement
    if before is None or changed or gap or revision or act or len(new) > 1 or any(run.trigger for run in new):
        return False
    if before.open or before.paused or before.deleted or after.paused or after.deleted:
        return False
    same = after.job is before.job and after.revision == before.revision and after.since == before.since
    return same and after.cursor >= before.cursor and all(map(sound, new))


def holds(before: Case | None, stored: Case | None) -> bool:
    """Whether a schedule is still as it was read. Its open runs count: who has not seen one would sleep past it."""
    if before is None or stored is None or before is stored:
        return before is stored
    return _seen(before) == _seen(stored)


def stands(stored: Run | None, before: Run, after: Run) -> bool:
    """Whether a run is still as it was read, and may become what it is to be."""
    return stored is not None and stored.token == before.token and lawful(stored, after) and sound(after)


def sound(run: Run) -> bool:
    """Whether a run can be: one that was sent had an attempt, and one that ran or has ended has its verdict."""
    if run.state in (State.PENDING, State.LAUNCHING, State.RETRY):
        return run.attempt > 0 or run.state is State.PENDING
    return run.verdict is not None and (run.attempt > 0 or not run.open)


def speaks(stored: Run | None, change: Change) -> bool:
    """Whether a change may be written. It speaks of an attempt; only a settlement can start one."""
    return stands(stored, change.before, change.after) and (change.before.active or not change.after.active)


def _seen(case: Case) -> tuple[object, ...]:
    runs = {run.key: run.token for run in case.open}
    return case.revision, case.cursor, case.since, case.owed, case.paused, case.until, case.deleted, runs


def _forward(settlement: Settlement, stored: Case | None) -> bool:
    """Whether the revision and the cursor grow, the definition changes with its revision only, and a gap is new."""
    after, gap = settlement.after, settlement.gap
    revision = settlement.revision
    if revision and (revision.number != after.revision or revision.job != after.job):
        return False
    if stored is None:
        return True
    same = after.job is stored.job or after.job == stored.job
    if after.revision == stored.revision and (not same or revision):
        return False
    if gap and not stored.cursor < gap.first <= gap.last <= after.cursor:
        return False
    return after.revision >= stored.revision and after.cursor >= stored.cursor


def _crowded(settlement: Settlement, before: dict[str, Run]) -> bool:
    """Whether a run would start beside another that may be running, and its overlap policy forbids it.

    Several that run already are no offence: the policy may have been another when they started. Nor is one that may
    start beside others, in the same write as one that may not.
    """
    if not (before or settlement.new[1:]):
        return False
    policy = settlement.after.policy
    written = {run.key: run for run in (*settlement.new, *(run for _, run in settlement.changed))}
    starts = {key for key, run in written.items() if run.active and not (key in before and before[key].active)}
    alone = sum(exclusive(written[key], policy) for key in starts)
    going = sum(run.active for key, run in (before | written).items() if key not in starts)
    return bool(alone) and alone + going > 1
