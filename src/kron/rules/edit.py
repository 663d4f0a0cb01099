"""Edits: defining, redefining and deleting a schedule, including its periods that are due or open at that time."""

from __future__ import annotations

from functools import lru_cache

from kron.language.canonical import canonical
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.counters import counted_runs, without_max_runs
from kron.rules.handover import not_yet_due, recorded
from kron.rules.launch_result import failed_launch
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.plan import skipped_run
from kron.rules.run import Run, ended
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, ScheduleUpdate
from kron.timing.due import has_period, window_extent
from kron.timing.job import Job
from kron.timing.schedule.policy import FirstPeriod


def created(
    job: Job, tombstone: ScheduleState | None, now: int, actor: Actor, after: int | None = None
) -> ScheduleUpdate:
    """Return the update that creates a schedule. If its name was used before, its handled periods stay handled.

    `after` is the last period (seconds) that another store has handled: this one does not owe the periods up to it.
    """
    cursor = _first_cursor(job.schedule.policy.first_period, *window_extent(job), now)
    number = tombstone.revision + 1 if tombstone else 1
    cursor = max(cursor, tombstone.cursor) if tombstone else cursor
    cursor = cursor if after is None else max(cursor, after)
    state = ScheduleState(job, number, cursor, now, next_check_at=now)
    return ScheduleUpdate(tombstone, state, revision=revision_of(state, now, actor))


@lru_cache(256)  # computed once for all schedules that are defined together
def _first_cursor(first_period: FirstPeriod, before: int, after: int, now: int) -> int:
    return {
        FirstPeriod.CHOSEN: now // 1000 - after - 1,
        FirstPeriod.AFTER: now // 1000 - before - after - 1,
        FirstPeriod.CURRENT_MINUTE: now // 60_000 * 60 - 1,
    }[first_period]


def defined(
    job: Job,
    state: ScheduleState | None,
    now: int,
    actor: Actor,
    as_of: int | None = None,
    after: int | None = None,
) -> ScheduleUpdate | None:
    """Return the update that gives a schedule the definition `job`; None if it has this definition already.

    Args:
        job: The definition.
        state: State of the schedule; None if there is none.
        now: Current time in milliseconds.
        actor: Who requests the change.
        as_of: When the definition was changed, if that was earlier and is read only now: the update is the one of that
            time. What fell due since then falls to the new definition, unless it is handled already.
        after: Last period (seconds) that another store has handled, for a schedule that this store does not have. A
            period that cannot be due yet is ignored.
    """
    at = now if as_of is None else _dated(as_of, state, now)
    if state is None or state.deleted:
        latest = now // 1000 + window_extent(job)[0]
        return created(job, state, at, actor, None if after is None else min(after, latest))
    return None if state.job.same_definition(job) else _redefined(job, state, at, actor)


def _dated(as_of: int, state: ScheduleState | None, now: int) -> int:
    """Return the time of an earlier change: not before the present definition, and now if the schedule is paused."""
    if state is None:
        return min(as_of, now)
    return now if state.paused else min(max(as_of, state.effective_from), now)


def _redefined(job: Job, state: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate:
    """Return the update for a new revision.

    It takes over the open periods that its calendar has. It keeps a pause and the number of runs, and starts to count
    failures again.
    """
    plan = recorded(state, now, lifted=state.policy.suspend and not job.schedule.policy.suspend)
    run_count = state.run_count + counted_runs(state.policy, plan.new)
    open_dues = not_yet_due(state._replace(run_count=run_count), now, plan)
    owed = frozenset(due.nominal for due in open_dues if has_period(job, due.nominal))
    lost_dues = [due for due in open_dues if due.nominal not in owed]  # the new calendar does not have these periods
    superseded = [skipped_run(state, due, now, Reason.SUPERSEDED) for due in lost_dues]
    cursor = max(plan.cursor, min(owed, default=now // 1000 + 1) - 1)  # no other period before now is owed
    after = state._replace(
        job=job, revision=state.revision + 1, cursor=cursor, effective_from=now, owed=owed, next_check_at=now
    )
    after = after._replace(run_count=run_count, failure_count=0)
    return ScheduleUpdate(
        state, after, (*plan.new, *superseded), plan.changed, plan.gap, revision_of(after, now, actor)
    )


def deleted(state: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate:
    """Return the update that deletes a schedule.

    Due periods are recorded, all of them: none is launched and uses up `max_runs`. Runs that wait for their first
    attempt or for another one end.
    """
    plan = recorded(without_max_runs(state) if state.runs_left else state, now)
    new_runs = tuple(withdrawn(run, now) for run in plan.new)
    waiting_runs = [run for run in state.open_runs if run.state in (State.PENDING, State.RETRY, State.WAITING)]
    changed = tuple((run, withdrawn(run, now)) for run in waiting_runs)
    after = state._replace(deleted=True, cursor=plan.cursor, next_check_at=now, paused_until=None)
    return ScheduleUpdate(
        state, after, new_runs, changed, plan.gap, action=ScheduleAction(ActionKind.DELETED, now, None, *actor)
    )


def withdrawn(run: Run, now: int) -> Run:
    """Return a waiting run as it ends because its schedule was deleted."""
    if run.state is State.WAITING:
        return ended(run, State.FAILED, now)
    if run.state is State.RETRY and run.outcome is not None:  # the run was executed, and was to run again
        return _not_run_again(run, now)
    if run.state is State.RETRY and (run.maybe_delivered or run.reason is Reason.LAUNCH_FAILED):
        return failed_launch(run, now)
    return ended(run, State.SKIPPED, now, Outcome.SKIPPED, Reason.DELETED) if run.open else run


def _not_run_again(run: Run, now: int) -> Run:
    """Return the end of an executed run that is not launched again: as its last execution ended, as far as is known."""
    if not run.maybe_delivered:
        return ended(run, State.FAILED, now)
    if run.launch_tries == 0:  # the target accepted it, did not report, and received no further attempt
        return ended(run, State.LOST, now, reason=Reason.SILENT)
    return failed_launch(run, now)


def revision_of(state: ScheduleState, now: int, actor: Actor) -> Revision:
    """Return the revision that keeps the definition of a schedule.

    Raises:
        InvalidSchedule: No schedule text can express the definition, such as every 3 days.
    """
    canonical(state.job.schedule)  # raises for a schedule that no text can express, such as every 3 days
    return Revision(state.job, state.revision, now, actor.name, actor.note, state.cursor)
