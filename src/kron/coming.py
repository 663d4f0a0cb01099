"""What is to come: the next runs of a schedule, if nothing changes."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from itertools import islice
from operator import attrgetter

from kron.core.case import Case
from kron.core.due import Due, due_of, reach
from kron.core.period import periods
from kron.core.zone import moment

CENTURY = 36_525 * 86_400


def coming(case: Case, now: int, count: int, enough: Callable[[], bool] = lambda: False) -> list[Due]:
    """The next runs of a schedule, in the order of their times: of the coming hundred years.

    `enough` is asked before each period, and ends the search: constraints that admit nothing make it long.
    """
    job, (before, after), found = case.job, reach(case.job), list[Due]()
    now = now if case.until is None else max(now, case.until - 1)  # it runs again at that instant
    begin = max(case.cursor, now // 1000 - after - 1, case.cursor if job.start is None else job.start)
    last = max(begin, now // 1000) + CENTURY if job.end is None else job.end
    for period in islice(periods(job.schedule, moment(begin)), count * 4 + 1_000):
        full = len(found) >= count and (period.nominal - before) * 1000 > found[count - 1].at
        if full or period.nominal > last or enough():
            break
        due = due_of(job, period.nominal)
        if due.schedulable and due.at > now:
            insort(found, due, key=attrgetter("at"))
    return found[:count]
