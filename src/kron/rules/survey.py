"""Due scan: which periods of a schedule are due, and when the next one will be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile

from kron.rules.state import ScheduleState
from kron.timing.count import count_nominals
from kron.timing.due import Due, due_of, window_extent
from kron.timing.period import next_nominal, prev_nominal
from kron.timing.schedule.policy import FirstPeriod

MAX_PERIODS_PER_PASS = 10_000  # periods scanned in one pass


@dataclass(slots=True)
class DueScan:
    """Result of a scan after the cursor: due periods, periods that this revision does not owe, time of the next one."""

    due: list[Due] = field(default_factory=list)  # in the order of their nominal times
    not_responsible: list[int] = field(default_factory=list)  # seconds: before this revision took effect
    upcoming: int | None = None  # milliseconds: when the next period is due
    more: bool = False  # more periods are due than `most`
    truncated: bool = False  # not all periods were scanned


def scan_due(case: ScheduleState, cursor: int, now: int, most: int) -> DueScan:
    """Scan the periods after the cursor, until `most` are due or no later period can be due before the next one."""
    seen, (before, _), looked = DueScan(), window_extent(case.job), 0
    for looked, nominal in enumerate(islice(unhandled(case, cursor), MAX_PERIODS_PER_PASS), 1):  # noqa: B007
        opens = (nominal - before) * 1000
        if opens > now and seen.upcoming is not None and opens >= seen.upcoming:
            return seen
        due = due_of(case.job, nominal)
        if not responsible(case, due):
            seen.not_responsible.append(nominal)
        elif due.at > now:
            seen.upcoming = due.at if seen.upcoming is None else min(seen.upcoming, due.at)
        elif len(seen.due) == most:
            seen.more = True
            return seen
        else:
            seen.due.append(due)
    seen.truncated = looked == MAX_PERIODS_PER_PASS
    return seen


def count_owed(case: ScheduleState, first: int, last: int) -> int:
    """Return how many owed periods from `first` to `last` have no record yet.

    `handled_ahead` can have periods of an older calendar, which do not count.
    """
    schedule = case.job.schedule
    handled = (n for n in case.handled_ahead if first <= n <= last and prev_nominal(schedule, n) == n)
    foreign = sum(first <= n <= last for n in not_owed(case, first - 1, last))
    return count_nominals(schedule, first - 1, last) - sum(1 for _ in handled) - foreign


def not_owed(case: ScheduleState, after: int, upto: int) -> list[int]:
    """Return the unhandled periods in the interval that this revision does not owe. They are all near its beginning."""
    edge = min(upto, case.effective_from // 1000 + window_extent(case.job)[0])
    early = takewhile(lambda nominal: nominal <= edge, islice(unhandled(case, after), MAX_PERIODS_PER_PASS))
    return [nominal for nominal in early if not responsible(case, due_of(case.job, nominal))]


def unhandled(case: ScheduleState, cursor: int) -> Iterator[int]:
    """Yield the unhandled nominal times after the cursor, within the validity of the job."""
    start, end = case.job.start, case.job.end
    nominal = next_nominal(case.job.schedule, cursor if start is None else max(cursor, start))
    while nominal is not None and (end is None or nominal <= end):
        if nominal not in case.handled_ahead:
            yield nominal
        nominal = next_nominal(case.job.schedule, nominal)


def responsible(case: ScheduleState, due: Due) -> bool:
    """Return whether this revision is responsible for a period."""
    if case.owed is not None:
        return due.nominal * 1000 > case.effective_from or due.nominal in case.owed
    match case.policy.first_period:
        case FirstPeriod.CHOSEN:
            return due.at >= case.effective_from // 1000 * 1000
        case FirstPeriod.AFTER:
            return due.nominal * 1000 > case.effective_from
        case FirstPeriod.CURRENT_MINUTE:
            return due.nominal >= case.effective_from // 60_000 * 60
