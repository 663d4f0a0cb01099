"""Which periods of a case have fallen due, and when the next one will."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import NamedTuple

from kron.core.case import Case
from kron.core.count import count_nominals
from kron.core.decision import choose, period_key
from kron.core.job import Job
from kron.core.period import next_nominal, prev_nominal
from kron.core.policy import MILLISECOND, FirstSight
from kron.core.run import key_of
from kron.core.schedule.chance import draw
from kron.core.schedule.constraint import FREE

MOST = 10_000  # periods looked at in one pass


class Due(NamedTuple):
    """A period with the millisecond at which it is to be handled: started, or found to be unschedulable."""

    nominal: int
    at: int
    schedulable: bool = True


@dataclass(slots=True)
class Survey:
    """What lies after the cursor: what is due, what is nobody's, and when to look again."""

    due: list[Due] = field(default_factory=list)  # in the order of their nominal times
    foreign: list[int] = field(default_factory=list)  # before this revision's time
    upcoming: int | None = None  # when the next period falls due
    more: bool = False  # there are more due than were asked for
    further: bool = False  # there are periods that nobody has looked at yet


def survey(case: Case, cursor: int, now: int, most: int) -> Survey:
    """Look at the periods after the cursor, until `most` are due or nothing before the next one can be."""
    seen, (before, _), looked = Survey(), reach(case.job), 0
    for looked, nominal in enumerate(islice(unhandled(case, cursor), MOST), 1):  # noqa: B007
        opens = (nominal - before) * 1000
        if opens > now and seen.upcoming is not None and opens >= seen.upcoming:
            return seen
        due = due_of(case.job, nominal)
        if not responsible(case, due):
            seen.foreign.append(nominal)
        elif due.at > now:
            seen.upcoming = due.at if seen.upcoming is None else min(seen.upcoming, due.at)
        elif len(seen.due) == most:
            seen.more = True
            return seen
        else:
            seen.due.append(due)
    seen.further = looked == MOST
    return seen


def count_owed(case: Case, first: int, last: int) -> int:
    """How many owed periods from one second to another have no record yet. An older calendar may have had others."""
    schedule = case.job.schedule
    handled = (n for n in case.ahead if first <= n <= last and prev_nominal(schedule, n) == n)
    foreign = sum(first <= n <= last for n in not_owed(case, first - 1, last))
    return count_nominals(schedule, first - 1, last) - sum(1 for _ in handled) - foreign


def not_owed(case: Case, after: int, upto: int) -> list[int]:
    """The unhandled periods between two seconds that are not this revision's: all of them lie around its beginning."""
    edge = min(upto, case.since // 1000 + reach(case.job)[0])
    early = takewhile(lambda nominal: nominal <= edge, islice(unhandled(case, after), MOST))
    return [nominal for nominal in early if not responsible(case, due_of(case.job, nominal))]


def due_of(job: Job, nominal: int) -> Due:
    """When a period is to be handled."""
    schedule = job.schedule
    if schedule.policy.jitter:
        return Due(nominal, _jittered(job, nominal))
    if not schedule.window.duration and schedule.constraints == FREE:  # there is nothing to decide
        return Due(nominal, nominal * 1000)
    at, _ = choose(schedule, nominal, schedule.seed.hash(job.identity, period_key(schedule, nominal)))
    if at is None:
        return Due(nominal, -(-schedule.window.at(nominal).start // MILLISECOND), schedulable=False)
    return Due(nominal, at * 1000)


def reach(job: Job) -> tuple[int, int]:
    """How many seconds before and after its nominal time a period may be due."""
    if job.schedule.policy.jitter:
        seconds = -(-job.schedule.policy.jitter // (1000 * MILLISECOND))
        return seconds, seconds
    return -job.schedule.window.origin, job.schedule.window.last


def _jittered(job: Job, nominal: int) -> int:
    """Up to the jitter before or after, drawn from the key: the same after any restart, inside the validity."""
    most = job.schedule.policy.jitter // MILLISECOND
    at = nominal * 1000 - most + int(draw(key_of(job.identity, nominal), 1) * (2 * most + 1))
    if job.start is not None:
        at = max(at, job.start * 1000)
    return at if job.end is None else min(at, job.end * 1000)


def has_period(job: Job, nominal: int) -> bool:
    """Whether the calendar of a job has a period at that second, within the job's validity."""
    valid = (job.start is None or nominal > job.start) and (job.end is None or nominal <= job.end)
    return valid and next_nominal(job.schedule, nominal - 1) == nominal


def unhandled(case: Case, cursor: int) -> Iterator[int]:
    """The unhandled nominal times after the cursor, within the validity of the job."""
    start, end = case.job.start, case.job.end
    nominal = next_nominal(case.job.schedule, cursor if start is None else max(cursor, start))
    while nominal is not None and (end is None or nominal <= end):
        if nominal not in case.ahead:
            yield nominal
        nominal = next_nominal(case.job.schedule, nominal)


def responsible(case: Case, due: Due) -> bool:
    """Whether this revision of a definition is the one that answers for a period."""
    if case.owed is not None:
        return due.nominal * 1000 > case.since or due.nominal in case.owed
    match case.policy.first_sight:
        case FirstSight.CHOSEN:
            return due.at >= case.since // 1000 * 1000
        case FirstSight.AFTER:
            return due.nominal * 1000 > case.since
        case FirstSight.CURRENT_MINUTE:
            return due.nominal >= case.since // 60_000 * 60
