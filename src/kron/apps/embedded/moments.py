"""Moments of jobs that are created at run time: none of them is lost silently."""

from __future__ import annotations

from dataclasses import replace

from kron.errors import InvalidInput
from kron.rules.upcoming import next_period
from kron.rules.update import ScheduleUpdate
from kron.timing.period import prev_nominal
from kron.timing.recurrence import is_limited
from kron.timing.schedule import Schedule
from kron.timing.schedule.head import Moments
from kron.timing.schedule.policy import Overlap, Policy
from kron.timing.zone import rfc3339, rfc3339_ms

_LATER = "use a later moment, such as at=datetime.now(UTC) + timedelta(seconds=5)"


def check_not_past(update: ScheduleUpdate, now: int, alternative: str = "") -> None:
    """Reject a new definition that never runs, because its last moment or its validity has passed.

    A job that has the same schedule already is accepted: an application defines its jobs again when it starts.

    Args:
        update: The update that defines the job.
        now: Current time in milliseconds.
        alternative: What the caller can do instead of giving a later moment.

    Raises:
        InvalidInput: No moment is left.
    """
    before, after = update.before, update.after
    schedule = after.job.schedule
    if not is_limited(schedule) or schedule.policy.suspend:
        return
    if before is not None and not before.deleted and _same_times(before.job.schedule, schedule):
        return
    if next_period(after._replace(paused=False, paused_until=None, run_count=0)) is not None:
        return
    last = prev_nominal(schedule, now // 1000)
    what = f"its last moment was {rfc3339(last)}" if last is not None else "it has no moment"
    message = f"job {after.identity!r} would never run: {what}, and the current time is {rfc3339_ms(now)}"
    raise InvalidInput("PAST", message, hint=f"{_LATER}, or {alternative}" if alternative else _LATER)


def rescheduled_policy(old: Schedule, new: Schedule) -> Policy:
    """Return the policy of a job that is rescheduled: its own, with the default overlap of its new kind of schedule.

    The store does not tell a default from a given value: an overlap that is the default of the old kind counts as one.
    """
    was_listed, is_listed = isinstance(old.cron, Moments), isinstance(new.cron, Moments)
    if was_listed is not is_listed and old.policy.overlap is _default_overlap(was_listed):
        return replace(old.policy, overlap=_default_overlap(is_listed))
    return old.policy


def _default_overlap(is_listed: bool) -> Overlap:
    return Overlap.QUEUE if is_listed else Overlap.SKIP


def _same_times(old: Schedule, new: Schedule) -> bool:
    return replace(old, policy=new.policy) == new
