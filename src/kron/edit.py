"""Edits: what becomes of a schedule that is defined, defined anew or deleted, and of what was due until then."""

from __future__ import annotations

from functools import lru_cache

from kron.core.answer import failed_launch
from kron.core.case import Case
from kron.core.due import Due, has_period, reach
from kron.core.job import Job
from kron.core.outcome import Reason, Verdict
from kron.core.plan import new_run
from kron.core.policy import FirstSight
from kron.core.run import Run, State, ended
from kron.handover import recorded, undue
from kron.language.explain import write_cron
from kron.pause import Asker
from kron.store import Act, Deed, Revision, Settlement


def created(job: Job, tombstone: Case | None, now: int, asker: Asker) -> Settlement:
    """A new schedule, or one whose name was used before, whose handled periods stay handled."""
    cursor = _first_cursor(job.schedule.policy.first_sight, *reach(job), now)
    number = tombstone.revision + 1 if tombstone else 1
    cursor = max(cursor, tombstone.cursor) if tombstone else cursor
    case = Case(job, number, cursor, now, wake=now)
    return Settlement(tombstone, case, revision=revision_of(case, now, asker))


@lru_cache(256)  # one number for all that are defined together
def _first_cursor(sight: FirstSight, before: int, after: int, now: int) -> int:
    return {
        FirstSight.CHOSEN: now // 1000 - after - 1,
        FirstSight.AFTER: now // 1000 - before - after - 1,
        FirstSight.CURRENT_MINUTE: now // 60_000 * 60 - 1,
    }[sight]


def defined(job: Job, case: Case | None, now: int, asker: Asker) -> Settlement | None:
    """A schedule as it is to be from now on; None if it is so already."""
    if case is None or case.deleted:
        return created(job, case, now, asker)
    return None if case.job == job else _redefined(job, case, now, asker)


def _redefined(job: Job, case: Case, now: int, asker: Asker) -> Settlement:
    """A new revision. It takes over the open periods that its calendar has; its pause stays."""
    due = recorded(case, now, lifted=case.policy.suspend and not job.schedule.policy.suspend)
    left = undue(case, now, due)
    owed = frozenset(each.nominal for each in left if has_period(job, each.nominal))
    gone = [_superseded(case, each, now) for each in left if each.nominal not in owed]
    cursor = max(due.cursor, min(owed, default=now // 1000 + 1) - 1)  # nothing else before now is owed
    after = case._replace(job=job, revision=case.revision + 1, cursor=cursor, since=now, owed=owed, wake=now)
    return Settlement(case, after, (*due.new, *gone), due.changed, due.gap, revision_of(after, now, asker))


def _superseded(case: Case, due: Due, now: int) -> Run:
    """A period that was open when its calendar was replaced by one that does not have it."""
    return ended(new_run(case, due, now), State.SKIPPED, now, Verdict.SKIPPED, Reason.SUPERSEDED)


def deleted(case: Case, now: int, asker: Asker) -> Settlement:
    """A schedule that is no more. What fell due is recorded; what waits, for the first attempt or another, ends."""
    due = recorded(case, now)
    new = tuple(withdrawn(run, now) for run in due.new)
    waiting = [run for run in case.open if run.state in (State.PENDING, State.RETRY, State.WAITING)]
    changed = tuple((run, withdrawn(run, now)) for run in waiting)
    after = case._replace(deleted=True, cursor=due.cursor, wake=now, until=None)
    return Settlement(case, after, new, changed, due.gap, act=Act(Deed.DELETED, now, None, *asker))


def withdrawn(run: Run, now: int) -> Run:
    """A run that waited, at its end: its schedule is no more."""
    if run.state is State.WAITING:
        return ended(run, State.FAILED, now)
    if run.state is State.RETRY and run.verdict is not None:  # it ran, and was to run again
        return ended(run, State.LOST, now, reason=Reason.SILENT)
    if run.state is State.RETRY and (run.doubt or run.reason is Reason.LAUNCH_FAILED):
        return failed_launch(run, now)
    return ended(run, State.SKIPPED, now, Verdict.SKIPPED, Reason.DELETED) if run.open else run


def revision_of(case: Case, now: int, asker: Asker) -> Revision:
    """Return the revision that keeps the definition of a case."""
    write_cron(case.job.schedule.cron)  # refuses a schedule that no text can state, such as every 3 days
    return Revision(case.job, case.revision, now, asker.who, asker.note, case.cursor)
