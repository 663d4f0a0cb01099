"""The ordinary pass: nothing is open, and at most one period is due, on time. It is what almost every pass is.

It gives what `plan` would give by the long way, or None where that must be gone. It decides nothing of its own.
"""

from __future__ import annotations

from kron.core.case import Case
from kron.core.due import Due, due_of, reach, responsible
from kron.core.period import next_nominal
from kron.core.policy import MILLISECOND
from kron.core.run import Run, State, key_of


def ordinary(case: Case, now: int, owner: str, lease: int) -> tuple[int, int, Run | None] | None:
    """The new cursor, when to wake, and the run that starts now, if one does."""
    job, cursor = case.job, case.cursor
    schedule, policy = job.schedule, job.schedule.policy
    if case.open or case.ahead or case.idle or job.start is not None or job.end is not None:
        return None
    nominal = next_nominal(schedule, cursor)
    following = None if nominal is None else next_nominal(schedule, nominal)
    if nominal is None or following is None:
        return None
    due = due_of(job, nominal)
    if due.at > now:
        return (cursor, due.at, None) if _is_next(case, due, following, now) else None
    if (now - due.at) * MILLISECOND >= policy.resolution or not due.schedulable or not responsible(case, due):
        return None
    upcoming = due_of(job, following)
    if upcoming.at <= now or not _is_next(case, upcoming, next_nominal(schedule, following), now):
        return None
    run = Run(key_of(job.identity, nominal), job.identity, nominal, case.revision, due.at, State.LAUNCHING,
              "", None, None, 1, owner, lease, 0, False, now, now)  # fmt: skip
    return nominal if nominal * 1000 <= now else cursor, min(lease, upcoming.at), run


def _is_next(case: Case, due: Due, following: int | None, now: int) -> bool:
    """Whether no later period can fall due before that one, and this revision is to answer for it."""
    if following is None or not responsible(case, due):
        return False
    opens = (following - reach(case.job)[0]) * 1000
    return opens >= due.at and opens > now
