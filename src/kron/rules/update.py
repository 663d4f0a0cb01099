"""Updates of a schedule and its runs: what a store writes atomically, and when it may.

A write is committed only if the data that it is based on is unchanged. The key decides which worker may record a
period, compare-and-set decides which worker may change a schedule, and the token of an attempt decides which worker may
report on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.counters import counted_runs, with_end, with_ends
from kron.rules.gap_record import GapRecord
from kron.rules.plan import Plan
from kron.rules.run import Run, exclusive, is_valid_transition
from kron.rules.run_state import State
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


class ScheduleUpdate(NamedTuple):
    """Change to one schedule and its runs: written completely, or not at all.

    The store commits an update only if all of these are true:

    - The schedule still has the revision, cursor, `effective_from`, pause with its end, counters, and open runs with
      their leases that `before` shows. If `before` is None, the name has never been used.
    - No new key exists already.
    - No run starts while another is active where the policy forbids it.
    - The revision, the cursor and each run move forward in a valid way.
    - The number of scheduled runs grows by those that are recorded, and not beyond `max_runs`.
    """

    before: ScheduleState | None
    after: ScheduleState
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()
    gap: GapRecord | None = None
    revision: Revision | None = None
    action: ScheduleAction | None = None
    attempts: tuple[tuple[Run, Attempt], ...] = ()  # attempts that were lost, with their runs


class RunUpdate(NamedTuple):
    """Change of a run after its launcher or its target has reported, and when the schedule must be checked next."""

    before: Run
    after: Run
    next_check_at: int | None
    run_id: str = ""  # the target's name for the run, if reported
    attempt: Attempt | None = None  # record of the attempt, if it is worth one
    failed: bool | None = None  # how the end counts, as `failed_end` returns it; the schedule is then checked, too


def update_of(plan: Plan) -> ScheduleUpdate:
    """Return the update that commits a plan."""
    state, after = plan.state, plan.state._replace(cursor=plan.cursor, next_check_at=plan.next_check_at)
    if state.policy.has_counters:
        run_count = state.run_count + counted_runs(state.policy, plan.new)
        after = with_ends(after, plan.changed)._replace(run_count=run_count)
    if plan.action is not None:
        kind = plan.action.kind
        after = after._replace(paused=kind is ActionKind.PAUSED or after.paused, deleted=kind is ActionKind.DELETED)
    return ScheduleUpdate(state, after, plan.new, plan.changed, plan.gap, action=plan.action, attempts=plan.attempts)


def state_after(state: ScheduleState, change: RunUpdate) -> ScheduleState:
    """Return the state of a schedule after a run update: its next check is not later, and an end may count."""
    wake, check_at = change.next_check_at, state.next_check_at
    if wake is not None and (check_at is None or wake < check_at):
        state = state._replace(next_check_at=wake)
    return state if change.failed is None else with_end(state, change.after, change.failed)


def can_commit(update: ScheduleUpdate, stored: ScheduleState | None, existing_keys: Collection[str]) -> bool:
    """Return whether an update may be written.

    Args:
        update: The update.
        stored: State of the schedule as it is stored now; None if it does not exist.
        existing_keys: Keys that have a run already.
    """
    before = {run.key: run for run in stored.open_runs} if stored else {}
    return (
        is_unchanged(update.before, stored)
        and _moves_forward(update, stored)
        and all(run.key not in existing_keys and is_consistent(run) for run in update.new)
        and all(run_is_unchanged(before.get(run.key), run, after) for run, after in update.changed)
        and not _violates_overlap(update, before)
        and _counts_runs(update, stored)
    )


def is_simple_insert(update: ScheduleUpdate) -> bool:
    """Return whether an update only adds scheduled periods, as nearly all do.

    Then a store needs two checks only: the schedule is unchanged since it was read, and the keys are new. The update of
    a schedule with counters is not simple: they are compared and written, too.
    """
    before, after, new, changed, gap, revision, action, _ = update
    if before is None or changed or gap or revision or action or any(run.trigger for run in new):
        return False
    if before.paused or before.deleted or after.paused or after.deleted:
        return False
    if after.effective_from != before.effective_from or after.job.schedule.policy.has_counters:
        return False
    if before.open_runs or len(new) > 1:  # the overlap policy may forbid a run to start
        return can_commit(update, before, ())
    same_definition = after.job is before.job and after.revision == before.revision
    return same_definition and after.cursor >= before.cursor and all(map(is_consistent, new))


def is_creation(update: ScheduleUpdate) -> bool:
    """Return whether an update only creates a schedule and its first runs."""
    before, _, _, changed, gap, revision, action, attempts = update
    return before is None and revision is not None and not (changed or gap or action or attempts)


def is_unchanged(before: ScheduleState | None, stored: ScheduleState | None) -> bool:
    """Return whether a schedule is unchanged since it was read.

    Open runs count: a worker that has not seen one would set a next check that is too late for it.
    """
    if before is None or stored is None or before is stored:
        return before is stored
    return _compared_fields(before) == _compared_fields(stored)


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


def _compared_fields(state: ScheduleState) -> tuple[object, ...]:
    runs = {run.key: run.token for run in state.open_runs}
    return (
        state.revision,
        state.cursor,
        state.effective_from,
        state.owed,
        state.paused,
        state.paused_until,
        state.deleted,
        runs,
        state.run_count,
        state.failure_count,
    )


def _moves_forward(update: ScheduleUpdate, stored: ScheduleState | None) -> bool:
    """Return whether revision and cursor do not decrease, the job changes only with the revision, and a gap is new."""
    after, gap = update.after, update.gap
    revision = update.revision
    if revision and (revision.number != after.revision or revision.job != after.job):
        return False
    if stored is None:
        return True
    same_job = after.job is stored.job or after.job == stored.job
    if after.revision == stored.revision and (not same_job or revision):
        return False
    if gap and not stored.cursor < gap.first <= gap.last <= after.cursor:
        return False
    return after.revision >= stored.revision and after.cursor >= stored.cursor


def _counts_runs(update: ScheduleUpdate, stored: ScheduleState | None) -> bool:
    """Return whether the number of scheduled runs is right. A new schedule, and one defined again, starts at 0."""
    run_count = update.after.run_count
    if stored is None or (stored.deleted and not update.after.deleted):
        return run_count == 0
    count, limit = counted_runs(stored.policy, update.new), stored.policy.max_runs
    return run_count == stored.run_count + count and (not count or limit is None or run_count <= limit)


def _violates_overlap(update: ScheduleUpdate, before: dict[str, Run]) -> bool:
    """Return whether a run would start while another may be active, and its overlap policy forbids it.

    Several runs that are active already are no violation: the policy may have been different when they started. A run
    that may overlap is no violation either, in the same write as one that may not.
    """
    if not (before or update.new[1:]):
        return False
    policy = update.after.policy
    written = {run.key: run for run in (*update.new, *(run for _, run in update.changed))}
    started_keys = {key for key, run in written.items() if run.active and not (key in before and before[key].active)}
    exclusive_count = sum(exclusive(written[key], policy) for key in started_keys)
    active_count = sum(run.active for key, run in (before | written).items() if key not in started_keys)
    return bool(exclusive_count) and exclusive_count + active_count > 1
