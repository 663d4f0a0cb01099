"""Due scan: which periods of a schedule are due, and when the next one will be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile

from kron.rules.state import ScheduleState
from kron.timing.due import Due, due_of, window_extent
from kron.timing.period import count_nominals, next_nominal, prev_nominal
from kron.timing.schedule.policy import FirstPeriod

MAX_PERIODS_PER_PASS = 10_000  # periods scanned in one pass


@dataclass(slots=True)
class DueScan:
    """Result of a scan after the cursor: due periods, periods that this revision does not owe, time of the next one."""

    due: list[Due] = field(default_factory=list)  # in the order of their nominal times
    not_responsible: list[int] = field(default_factory=list)  # seconds: before this revision took effect
    upcoming: int | None = None  # milliseconds: when the next period is due
    more: bool = False  # more periods are due than `limit`
    truncated: bool = False  # not all periods were scanned


def scan_due(state: ScheduleState, cursor: int, now: int, limit: int) -> DueScan:
    """Scan the periods after the cursor, until `limit` are due or no later period can be due before the next one."""
    scan, (before, _), scanned_count = DueScan(), window_extent(state.job), 0
    for scanned_count, nominal in enumerate(islice(unhandled(state, cursor), MAX_PERIODS_PER_PASS), 1):  # noqa: B007
        earliest_due_at = (nominal - before) * 1000
        if earliest_due_at > now and scan.upcoming is not None and earliest_due_at >= scan.upcoming:
            return scan
        due = due_of(state.job, nominal)
        if not responsible(state, due):
            scan.not_responsible.append(nominal)
        elif due.at > now:
            scan.upcoming = due.at if scan.upcoming is None else min(scan.upcoming, due.at)
        elif len(scan.due) == limit:
            scan.more = True
            return scan
        else:
            scan.due.append(due)
    scan.truncated = scanned_count == MAX_PERIODS_PER_PASS
    return scan


def count_owed(state: ScheduleState, first: int, last: int) -> int:
    """Return how many owed periods from `first` to `last` have no record yet.

    `handled_ahead` can have periods of an older calendar, which do not count.
    """
    schedule = state.job.schedule
    handled = (n for n in state.handled_ahead if first <= n <= last and prev_nominal(schedule, n) == n)
    not_owed_count = sum(first <= n <= last for n in not_owed(state, first - 1, last))
    return count_nominals(schedule, first - 1, last) - sum(1 for _ in handled) - not_owed_count


def not_owed(state: ScheduleState, after: int, upto: int) -> list[int]:
    """Return the unhandled periods in the interval that this revision does not owe. They are all near its beginning."""
    last_possible = min(upto, state.effective_from // 1000 + window_extent(state.job)[0])
    early = takewhile(lambda nominal: nominal <= last_possible, islice(unhandled(state, after), MAX_PERIODS_PER_PASS))
    return [nominal for nominal in early if not responsible(state, due_of(state.job, nominal))]


def unhandled(state: ScheduleState, cursor: int) -> Iterator[int]:
    """Yield the unhandled nominal times after the cursor, within the validity of the job and its maximum of runs."""
    if state.runs_left == 0:
        return
    start, end = state.job.start, state.job.end
    nominal = next_nominal(state.job.schedule, cursor if start is None else max(cursor, start))
    while nominal is not None and (end is None or nominal <= end):
        if nominal not in state.handled_ahead:
            yield nominal
        nominal = next_nominal(state.job.schedule, nominal)


def responsible(state: ScheduleState, due: Due) -> bool:
    """Return whether this revision is responsible for a period."""
    if due.nominal * 1000 > state.effective_from <= due.at:  # by every rule: this is the usual case
        return True
    if state.owed is not None:
        return due.nominal * 1000 > state.effective_from or due.nominal in state.owed
    match state.policy.first_period:
        case FirstPeriod.CHOSEN:
            return due.at >= state.effective_from // 1000 * 1000
        case FirstPeriod.AFTER:
            return due.nominal * 1000 > state.effective_from
        case FirstPeriod.CURRENT_MINUTE:
            return due.nominal >= state.effective_from // 60_000 * 60
