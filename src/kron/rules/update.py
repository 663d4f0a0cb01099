"""Updates of a schedule and its runs: what a store writes atomically, and when it may.

A write is committed only if the data that it is based on is unchanged. The key decides which worker may record a
period, compare-and-set decides which worker may change a schedule, and the token of an attempt decides which worker may
report on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kron.rules.outcome import GapRecord
from kron.rules.plan import Plan
from kron.rules.run import Run, State, exclusive, is_valid_transition
from kron.rules.state import ScheduleState
from kron.timing.job import Job


@dataclass(frozen=True, slots=True)
class Revision:
    """Immutable version of a definition: job, revision number, time, actor and note. Kept permanently."""

    job: Job
    number: int
    at: int  # milliseconds
    actor: str = ""
    note: str = ""
    cursor: int = 0  # seconds: periods up to here were handled before this revision, or are not owed

    @property
    def identity(self) -> str:
        """Identity of the schedule."""
        return self.job.identity


class ActionKind(StrEnum):
    """Kind of action on a schedule, apart from defining it."""

    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ScheduleAction:
    """Recorded action on a schedule: kind, time, actor and note. Kept permanently. `until` is when a pause expires."""

    kind: ActionKind
    at: int
    until: int | None = None
    actor: str = ""
    note: str = ""


class ScheduleUpdate(NamedTuple):
    """Change to one schedule and its runs: written completely, or not at all.

    The store commits an update only if all of these are true:

    - The schedule still has the revision, cursor, `effective_from`, pause with its end, and open runs with their leases
      that `before` shows. If `before` is None, the name has never been used.
    - No new key exists already.
    - No run starts while another is active where the policy forbids it.
    - The revision, the cursor and each run move forward in a valid way.
    """

    before: ScheduleState | None
    after: ScheduleState
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()
    gap: GapRecord | None = None
    revision: Revision | None = None
    action: ScheduleAction | None = None


class RunUpdate(NamedTuple):
    """Change of a run after its launcher or its target has reported, and when the schedule must be checked next."""

    before: Run
    after: Run
    next_check_at: int | None
    run_id: str = ""  # the target's name for the run, if reported


def update_of(plan: Plan) -> ScheduleUpdate:
    """Return the update that commits a plan."""
    after = plan.state._replace(cursor=plan.cursor, next_check_at=plan.next_check_at)
    return ScheduleUpdate(plan.state, after, plan.new, plan.changed, plan.gap)


def can_commit(settlement: ScheduleUpdate, stored: ScheduleState | None, taken: Collection[str]) -> bool:
    """Return whether an update may be written.

    Args:
        settlement: The update.
        stored: State of the schedule as it is stored now; None if it does not exist.
        taken: Keys that have a run already.
    """
    before = {run.key: run for run in stored.open_runs} if stored else {}
    return (
        is_unchanged(settlement.before, stored)
        and _forward(settlement, stored)
        and all(run.key not in taken and is_consistent(run) for run in settlement.new)
        and all(run_is_unchanged(before.get(run.key), run, after) for run, after in settlement.changed)
        and not _crowded(settlement, before)
    )


def is_simple_insert(settlement: ScheduleUpdate) -> bool:
    """Return whether an update only adds scheduled periods, as nearly all do.

    Then a store needs two checks only: the schedule is unchanged since it was read, and the keys are new.
    """
    before, after, new, changed, gap, revision, act = settlement
    if before is None or changed or gap or revision or act or any(run.trigger for run in new):
        return False
    if before.paused or before.deleted or after.paused or after.deleted:
        return False
    if after.effective_from != before.effective_from:
        return False
    if before.open_runs or len(new) > 1:  # the overlap policy may forbid a run to start
        return can_commit(settlement, before, ())
    same = after.job is before.job and after.revision == before.revision
    return same and after.cursor >= before.cursor and all(map(is_consistent, new))


def is_unchanged(before: ScheduleState | None, stored: ScheduleState | None) -> bool:
    """Return whether a schedule is unchanged since it was read.

    Open runs count: a worker that has not seen one would set a next check that is too late for it.
    """
    if before is None or stored is None or before is stored:
        return before is stored
    return _seen(before) == _seen(stored)


def run_is_unchanged(stored: Run | None, before: Run, after: Run) -> bool:
    """Return whether a run is unchanged since it was read, and the transition to `after` is valid."""
    return (
        stored is not None
        and stored.token == before.token
        and is_valid_transition(stored, after)
        and is_consistent(after)
    )


def is_consistent(run: Run) -> bool:
    """Return whether a run is possible: a sent run has an attempt, and an executed or finished run has an outcome."""
    if run.state in (State.PENDING, State.LAUNCHING, State.RETRY):
        return run.attempt > 0 or run.state is State.PENDING
    return run.outcome is not None and (run.attempt > 0 or not run.open)


def can_update_run(stored: Run | None, change: RunUpdate) -> bool:
    """Return whether a run update may be written.

    It is about an existing attempt; only a `ScheduleUpdate` can start one.
    """
    return run_is_unchanged(stored, change.before, change.after) and (change.before.active or not change.after.active)


def _seen(case: ScheduleState) -> tuple[object, ...]:
    runs = {run.key: run.token for run in case.open_runs}
    return (
        case.revision,
        case.cursor,
        case.effective_from,
        case.owed,
        case.paused,
        case.paused_until,
        case.deleted,
        runs,
    )


def _forward(settlement: ScheduleUpdate, stored: ScheduleState | None) -> bool:
    """Return whether revision and cursor do not decrease, the job changes only with the revision, and a gap is new."""
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


def _crowded(settlement: ScheduleUpdate, before: dict[str, Run]) -> bool:
    """Return whether a run would start while another may be active, and its overlap policy forbids it.

    Several runs that are active already are no violation: the policy may have been different when they started. A run
    that may overlap is no violation either, in the same write as one that may not.
    """
    if not (before or settlement.new[1:]):
        return False
    policy = settlement.after.policy
    written = {run.key: run for run in (*settlement.new, *(run for _, run in settlement.changed))}
    starts = {key for key, run in written.items() if run.active and not (key in before and before[key].active)}
    alone = sum(exclusive(written[key], policy) for key in starts)
    going = sum(run.active for key, run in (before | written).items() if key not in starts)
    return bool(alone) and alone + going > 1
