"""Due times: when the engine handles a period."""

from __future__ import annotations

from typing import NamedTuple

from kron.timing.decision import choose, period_key
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.policy import MILLISECOND
from kron.timing.schedule.sampling import draw
from kron.timing.schedule.window import SECOND, Bounds


class Due(NamedTuple):
    """A period and its due time.

    Attributes:
        nominal: Nominal time, in seconds since 1970-01-01 UTC.
        at: Due time, in milliseconds since 1970-01-01 UTC.
        schedulable: False if no candidate satisfied the constraints; then `at` is the start of the window.
    """

    nominal: int
    at: int
    schedulable: bool = True


def due_of(job: Job, nominal: int) -> Due:
    """Return the due time of the period at `nominal`: the chosen time, or the nominal time plus jitter."""
    schedule = job.schedule
    if schedule.policy.jitter:
        return Due(nominal, _jittered_due_time(job, nominal))
    if not schedule.window.duration and schedule.constraints == UNCONSTRAINED:  # no decision is needed
        return Due(nominal, nominal * 1000)
    chosen, _ = choose(schedule, nominal, schedule.seed.hash(job.identity, period_key(schedule, nominal)))
    if chosen is None:
        return Due(nominal, -(-schedule.window.at(nominal).start // MILLISECOND), schedulable=False)
    return Due(nominal, chosen * 1000)


def window_extent(job: Job) -> tuple[int, int]:
    """Return how many seconds before and after its nominal time a period can be due."""
    if job.schedule.policy.jitter:
        seconds = -(-job.schedule.policy.jitter // (1000 * MILLISECOND))
        return seconds, seconds
    return -job.schedule.window.origin, job.schedule.window.last


def window_of(job: Job, nominal: int) -> Bounds:
    """Return the interval in which the period at `nominal` can be due: its window, or the range of its jitter."""
    jitter = job.schedule.policy.jitter // MILLISECOND * MILLISECOND
    if not jitter:
        return job.schedule.window.at(nominal)
    return Bounds(nominal * SECOND - jitter, nominal * SECOND + jitter)


def _jittered_due_time(job: Job, nominal: int) -> int:
    """Return the due time with jitter, within the validity of the job. Drawn from the key, so restarts keep it."""
    max_jitter = job.schedule.policy.jitter // MILLISECOND
    due_at = nominal * 1000 - max_jitter + int(draw(key_of(job.identity, nominal), 1) * (2 * max_jitter + 1))
    if job.start is not None:
        due_at = max(due_at, job.start * 1000)
    return due_at if job.end is None else min(due_at, job.end * 1000)


def has_period(job: Job, nominal: int) -> bool:
    """Return whether the job has a period with the nominal time `nominal`, within the validity of the job."""
    is_valid = (job.start is None or nominal > job.start) and (job.end is None or nominal <= job.end)
    return is_valid and next_nominal(job.schedule, nominal - 1) == nominal
