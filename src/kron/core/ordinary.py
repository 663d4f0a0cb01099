"""The ordinary pass: nothing is open, and at most one period is due, and not too late. It is what almost every pass is.

It gives what `plan` would give by the long way, or None where that must be gone. It decides nothing of its own.
"""

from __future__ import annotations

from kron.core.case import Case
from kron.core.due import due_of, reach
from kron.core.job import Job
from kron.core.period import next_nominal
from kron.core.policy import MILLISECOND, Catchup
from kron.core.run import Run, State, key_of
from kron.core.schedule.constraint import FREE

_LAUNCHING = State.LAUNCHING
_CAUGHT_UP = (Catchup.LATEST, Catchup.ALL)  # a period that is late, and the only one, is started as others are


def ordinary(case: Case, now: int, owner: str, lease: int) -> tuple[int, int, Run | None] | None:
    """The new cursor, when to wake, and the run that starts now, if one does."""
    job, _, cursor, since, paused, deleted, _, opened, ahead, _, _, downtime, _ = case
    schedule, policy = job.schedule, job.schedule.policy
    if opened or ahead or paused or deleted or policy.suspend or job.start is not None or job.end is not None:
        return None
    nominal = next_nominal(schedule, cursor)
    if nominal is None or (following := next_nominal(schedule, nominal)) is None:
        return None
    at, upcoming = nominal * 1000, following * 1000  # and no other period falls due before `others`
    others = upcoming
    if schedule.window.duration or policy.jitter or schedule.constraints is not FREE:
        at, upcoming, others = _placed(job, nominal, following)
    if at <= since or nominal * 1000 <= since:  # it may be an older definition's business
        return None
    if now < at <= min(upcoming, others):
        return cursor, at, None
    on_time = (now - at) * MILLISECOND < policy.resolution or (
        policy.deadline is None
        and (
            policy.catchup in _CAUGHT_UP
            or not downtime.covers(at)
            or downtime.after(at, now) * MILLISECOND < policy.grace
        )
    )
    if not (at <= now < upcoming <= others and on_time):
        return None
    key = key_of(job.identity, nominal)
    run = Run(key, job.identity, nominal, case.revision, at, _LAUNCHING,
              "", None, None, 1, owner, lease, 0, False, now, now, now)  # fmt: skip
    return nominal if nominal * 1000 <= now else cursor, lease if lease < upcoming else upcoming, run


def _placed(job: Job, nominal: int, following: int) -> tuple[int, int, int]:
    """The three times where a period need not fall due at its nominal one; never, if one cannot be placed at all."""
    first, second = due_of(job, nominal), due_of(job, following)
    third = next_nominal(job.schedule, following)
    if third is None or not first.schedulable or not second.schedulable:
        return 0, -1, -1  # which is no order that the times can have
    return first.at, second.at, (third - reach(job)[0]) * 1000
