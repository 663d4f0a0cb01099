"""Edits: defining, redefining and deleting a schedule, including its periods that are due or open at that time."""

from __future__ import annotations

from functools import lru_cache

from kron.language.canonical import canonical
from kron.rules.handover import recorded, undue
from kron.rules.launch_result import failed_launch
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.plan import new_run
from kron.rules.run import Run, State, ended
from kron.rules.state import ScheduleState
from kron.rules.update import ActionKind, Revision, ScheduleAction, ScheduleUpdate
from kron.timing.due import Due, has_period, window_extent
from kron.timing.job import Job
from kron.timing.schedule.policy import FirstPeriod


def created(job: Job, tombstone: ScheduleState | None, now: int, actor: Actor) -> ScheduleUpdate:
    """Return the update that creates a schedule. If its name was used before, its handled periods stay handled."""
    cursor = _first_cursor(job.schedule.policy.first_period, *window_extent(job), now)
    number = tombstone.revision + 1 if tombstone else 1
    cursor = max(cursor, tombstone.cursor) if tombstone else cursor
    case = ScheduleState(job, number, cursor, now, next_check_at=now)
    return ScheduleUpdate(tombstone, case, revision=revision_of(case, now, actor))


@lru_cache(256)  # computed once for all schedules that are defined together
def _first_cursor(sight: FirstPeriod, before: int, after: int, now: int) -> int:
    return {
        FirstPeriod.CHOSEN: now // 1000 - after - 1,
        FirstPeriod.AFTER: now // 1000 - before - after - 1,
        FirstPeriod.CURRENT_MINUTE: now // 60_000 * 60 - 1,
    }[sight]


def defined(job: Job, case: ScheduleState | None, now: int, actor: Actor) -> ScheduleUpdate | None:
    """Return the update that gives a schedule the definition `job`; None if it has this definition already."""
    if case is None or case.deleted:
        return created(job, case, now, actor)
    return None if case.job.same_definition(job) else _redefined(job, case, now, actor)


def _redefined(job: Job, case: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate:
    """Return the update for a new revision. It takes over the open periods that its calendar has, and keeps a pause."""
    due = recorded(case, now, lifted=case.policy.suspend and not job.schedule.policy.suspend)
    left = undue(case, now, due)
    owed = frozenset(each.nominal for each in left if has_period(job, each.nominal))
    gone = [_superseded(case, each, now) for each in left if each.nominal not in owed]
    cursor = max(due.cursor, min(owed, default=now // 1000 + 1) - 1)  # no other period before now is owed
    after = case._replace(
        job=job, revision=case.revision + 1, cursor=cursor, effective_from=now, owed=owed, next_check_at=now
    )
    return ScheduleUpdate(case, after, (*due.new, *gone), due.changed, due.gap, revision_of(after, now, actor))


def _superseded(case: ScheduleState, due: Due, now: int) -> Run:
    """Return the skipped run of a period that was open when a calendar without this period replaced its own."""
    return ended(new_run(case, due, now), State.SKIPPED, now, Outcome.SKIPPED, Reason.SUPERSEDED)


def deleted(case: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate:
    """Return the update that deletes a schedule.

    Due periods are recorded. Runs that wait for their first attempt or for another one end.
    """
    due = recorded(case, now)
    new = tuple(withdrawn(run, now) for run in due.new)
    waiting = [run for run in case.open_runs if run.state in (State.PENDING, State.RETRY, State.WAITING)]
    changed = tuple((run, withdrawn(run, now)) for run in waiting)
    after = case._replace(deleted=True, cursor=due.cursor, next_check_at=now, paused_until=None)
    return ScheduleUpdate(
        case, after, new, changed, due.gap, action=ScheduleAction(ActionKind.DELETED, now, None, *actor)
    )


def withdrawn(run: Run, now: int) -> Run:
    """Return a waiting run as it ends because its schedule was deleted."""
    if run.state is State.WAITING:
        return ended(run, State.FAILED, now)
    if run.state is State.RETRY and run.outcome is not None:  # the run was executed, and was to run again
        return ended(run, State.LOST, now, reason=Reason.SILENT)
    if run.state is State.RETRY and (run.maybe_delivered or run.reason is Reason.LAUNCH_FAILED):
        return failed_launch(run, now)
    return ended(run, State.SKIPPED, now, Outcome.SKIPPED, Reason.DELETED) if run.open else run


def revision_of(case: ScheduleState, now: int, actor: Actor) -> Revision:
    """Return the revision that keeps the definition of a schedule.

    Raises:
        InvalidSchedule: No schedule text can express the definition, such as every 3 days.
    """
    canonical(case.job.schedule)  # raises for a schedule that no text can express, such as every 3 days
    return Revision(case.job, case.revision, now, actor.name, actor.note, case.cursor)
