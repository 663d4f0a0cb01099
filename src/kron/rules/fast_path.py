"""Fast path: no run is open, and at most one period is due and not too late. This is almost every pass.

The fast path returns what `plan_full` would return, or None where the full plan is needed. It makes no decisions of its
own.
"""

from __future__ import annotations

from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.timing.due import due_of, window_extent
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.policy import MILLISECOND, Catchup

_LAUNCHING = State.LAUNCHING
_LATE_LAUNCH_POLICIES = (Catchup.LATEST, Catchup.ALL)  # a single late period is launched like any other


def plan_fast(state: ScheduleState, now: int, owner: str, lease: int) -> tuple[int, int, Run | None] | None:
    """Return the new cursor, the time of the next check, and the run to launch now, if any.

    Returns None if the full plan is needed.
    """
    job, _, cursor, effective_from, paused, deleted, _, open_runs, ahead, _, _, downtime, _, _, failure_count = state
    schedule, policy = job.schedule, job.schedule.policy
    is_limited = job.start is not None or job.end is not None or policy.max_runs is not None
    if open_runs or ahead or paused or deleted or failure_count or policy.suspend or is_limited:
        return None
    nominal = next_nominal(schedule, cursor)
    if nominal is None or (following := next_nominal(schedule, nominal)) is None:
        return None
    due_at, next_due_at = nominal * 1000, following * 1000  # no other period is due before `earliest_other`
    earliest_other = next_due_at
    if schedule.window.duration or policy.jitter or schedule.constraints is not UNCONSTRAINED:
        due_at, next_due_at, earliest_other = _due_times(job, nominal, following)
    if due_at <= effective_from or nominal * 1000 <= effective_from:
        return None  # an older revision may be responsible for the period
    if now < due_at <= min(next_due_at, earliest_other):
        return cursor, due_at, None
    on_time = (now - due_at) * MILLISECOND < policy.resolution or (
        policy.deadline is None
        and (
            policy.catchup in _LATE_LAUNCH_POLICIES
            or not downtime.covers(due_at)
            or downtime.after(due_at, now) * MILLISECOND < policy.grace
        )
    )
    if not (due_at <= now < next_due_at <= earliest_other and on_time):
        return None
    key = key_of(job.identity, nominal)
    run = Run(key, job.identity, nominal, state.revision, due_at, _LAUNCHING,
              "", None, None, 1, owner, lease, 0, False, now, now, now)  # fmt: skip
    return nominal if nominal * 1000 <= now else cursor, lease if lease < next_due_at else next_due_at, run


def _due_times(job: Job, nominal: int, following: int) -> tuple[int, int, int]:
    """Return the three times for a schedule whose periods need not be due at their nominal times.

    If one of the periods is unschedulable, the times are in an impossible order, so that the full plan is used.
    """
    first, second = due_of(job, nominal), due_of(job, following)
    third = next_nominal(job.schedule, following)
    if third is None or not first.schedulable or not second.schedulable:
        return 0, -1, -1  # an order that real times cannot have
    return first.at, second.at, (third - window_extent(job)[0]) * 1000
