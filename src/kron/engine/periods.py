"""Periods of one schedule, as lines of a list: what was decided, and what became of it or why there is no record.

The lines say the same as `why` says of each period. All of them are read in a constant number of store calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, groupby, islice

from kron.engine.period_report import Absence, PeriodReport
from kron.engine.schedule_record import ScheduleRecord, gap_of, schedule_record
from kron.engine.store import Store
from kron.errors import InvalidInput
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.update import Revision
from kron.timing.due import window_of
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import Period, nominals, prev_nominal
from kron.timing.schedule.window import Bounds
from kron.timing.zone import EARLIEST, LATEST

MAX_PERIODS = 100  # periods in one call
MAX_RUNS = 300  # runs that are read in search of those that were requested; the newest count


@dataclass(frozen=True, slots=True)
class PeriodLine:
    """One period of a schedule, or one run outside of its calendar, such as a run that was requested.

    A period whose scheduled run does not exist shows the first run that was requested for it, as `why` does.
    """

    report: PeriodReport
    gap: GapRecord | None  # gap record of the period, also if a run was requested for the period later

    @property
    def period(self) -> Period:
        """The period, or the time of the request."""
        return self.report.period

    @property
    def revision(self) -> Revision:
        """Revision that decided the period."""
        return self.report.revision

    @property
    def run(self) -> Run | None:
        """Run of the period; None if it has none."""
        return self.report.run

    @property
    def requested(self) -> bool:
        """Whether the line is about a run that was requested."""
        return self.run is not None and self.run.trigger != ""

    @property
    def window(self) -> Bounds | None:
        """Interval in which the period can be due, in nanoseconds; None if the calendar has no such period."""
        return window_of(self.revision.job, self.period.nominal) if self.report.decided else None

    @property
    def chosen(self) -> int | None:
        """Chosen time with its jitter, in milliseconds; None if no second satisfies the constraints, or on request."""
        due = self.report.due
        return due.at if self.report.decided and due.schedulable else None

    @property
    def due(self) -> int:
        """Due time in milliseconds: of the run if there is one. For an unschedulable period the start of its window."""
        return self.run.due if self.run is not None else self.report.due.at

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the run or of the gap record; None if there is no outcome yet."""
        record = self.run or self.report.gap
        return record.outcome if record else None

    @property
    def reason(self) -> Reason | None:
        """Reason of the outcome, or of an unsuccessful run; None if there is none."""
        record = self.run or self.report.gap
        return record.reason if record else None

    @property
    def absence(self) -> Absence | None:
        """Why the period has no record; None if it has one."""
        return self.report.absence

    @property
    def paused_until(self) -> int | None:
        """End of the pause for which the period has no record, in milliseconds; None without a pause or its end."""
        return self.report.state.paused_until if self.absence is Absence.PAUSED else None

    @property
    def text(self) -> str:
        """Outcome and reason in words, or why there is no record."""
        return self.report.summary()


async def periods(
    store: Store, identity: str, first: int, last: int, limit: int = MAX_PERIODS, *, shared: bool = True
) -> list[PeriodLine]:
    """Return the earliest periods from `first` to `last` (seconds, both included), and the requested runs among them.

    Args:
        store: The store to read.
        identity: The schedule, which can be deleted.
        first: Earliest nominal time.
        last: Latest nominal time.
        limit: Maximum number of periods, 1 to 100.
        shared: Whether workers register in this store.

    Returns:
        Lines in the order of their nominal times. Requested runs are lines of their own: if there are more periods than
        `limit`, up to the last line, and at most 300.

    Raises:
        NotFound: The schedule does not exist.
        InvalidInput: The limit is out of range.
    """
    limit = _checked(limit)
    record = await schedule_record(store, identity, shared=shared)
    found = list(islice(_nominals_from(record, first - 1, last), limit))
    return await _lines(store, record, found, first, found[-1] if len(found) == limit else last)


async def periods_around(
    store: Store,
    identity: str,
    at: int,
    before: int,
    after: int,
    *,
    shared: bool = True,
    record: ScheduleRecord | None = None,
) -> list[PeriodLine]:
    """Return the last periods up to `at` (milliseconds), the first ones after it, and the requested runs among them.

    To read further into the past, `at` is one millisecond before the first line. To read further into the future, `at`
    is the time of the last line.

    Args:
        store: The store to read.
        identity: The schedule, which can be deleted.
        at: The instant. The nominal time of a period decides on which side the period is.
        before: Maximum number of periods up to `at`.
        after: Maximum number of periods after it; at most 100 with those before.
        shared: Whether workers register in this store.
        record: Record of the schedule, if the caller has read it already.

    Raises:
        NotFound: The schedule does not exist.
        InvalidInput: The number of periods is out of range.
    """
    _checked(before + after)
    record, second = record or await schedule_record(store, identity, shared=shared), at // 1000
    past = list(islice(_nominals_upto(record, second), before))[::-1]
    coming = list(islice(_nominals_from(record, second, LATEST), after))
    first = (past[0] if len(past) == before else EARLIEST) if before else second + 1
    last = (coming[-1] if len(coming) == after else LATEST) if after else second
    return await _lines(store, record, [*past, *coming], first, last)


def _checked(limit: int) -> int:
    if not 1 <= limit <= MAX_PERIODS:
        message = f"number of periods {limit} is out of range (1-{MAX_PERIODS})"
        raise InvalidInput("LIMIT", message, hint="request several pages")
    return limit


async def _lines(store: Store, record: ScheduleRecord, found: Sequence[int], first: int, last: int) -> list[PeriodLine]:
    """Return the lines of those periods, and of the other runs from `first` to `last` (seconds)."""
    identity = record.state.identity
    gaps = await store.gaps(identity)
    others = await store.overview.runs_between(identity, first, last, MAX_RUNS)
    is_cut = len(others) == MAX_RUNS  # otherwise, the runs of these periods are among them
    scheduled_runs = await store.runs_by_key([key_of(identity, nominal) for nominal in found]) if is_cut else ()
    runs = _runs_by_time(scheduled_runs, others)
    pairs = list[tuple[int, Run | None]]()
    for nominal in sorted({*found, *runs}):
        own_runs: list[Run | None] = list(runs.get(nominal, ()))
        pairs += [(nominal, run) for run in own_runs or [None]]
    keys = [run.key for _, run in pairs if run]
    attempts = dict(zip(keys, await store.attempts(keys), strict=True))
    lines = list[PeriodLine]()
    for nominal, run in pairs:
        gap = gap_of(gaps, nominal) if not run or nominal in found else None
        own_attempts = attempts[run.key] if run else ()
        report = record.report(Period(nominal), nominal * 1000, run, None if run else gap, own_attempts)
        lines.append(PeriodLine(report, gap))
    return lines


def _runs_by_time(scheduled_runs: Sequence[Run | None], others: Sequence[Run]) -> dict[int, list[Run]]:
    """Return runs by nominal time: the scheduled run first, then requested runs in the order of their names."""
    runs = {run.key: run for run in (*scheduled_runs, *others) if run}
    runs_by_time = defaultdict[int, list[Run]](list)
    for run in sorted(runs.values(), key=lambda run: (run.nominal, run.trigger)):
        runs_by_time[run.nominal].append(run)
    return runs_by_time


def _nominals_from(record: ScheduleRecord, after: int, upto: int) -> Iterator[int]:
    """Yield the nominal times after `after` up to `upto` in order, each of the revision that is responsible for it."""
    spans = [(max(after, first - 1), min(upto, last), job) for first, last, job in _spans(record)]
    in_force = chain.from_iterable(nominals(job.schedule, start, end) for start, end, job in spans if start < end)
    taken_over = sorted(nominal for nominal in record.taken_over if after < nominal <= upto)
    return (nominal for nominal, _ in groupby(merge(in_force, taken_over)))


def _nominals_upto(record: ScheduleRecord, upto: int) -> Iterator[int]:
    """Yield the same nominal times up to `upto`, latest first."""
    taken_over = sorted((nominal for nominal in record.taken_over if nominal <= upto), reverse=True)
    return (nominal for nominal, _ in groupby(merge(_in_force_upto(record, upto), taken_over, reverse=True)))


def _in_force_upto(record: ScheduleRecord, upto: int) -> Iterator[int]:
    for first, last, job in reversed(_spans(record)):
        nominal = prev_nominal(job.schedule, min(upto, last)) if first <= upto else None
        while nominal is not None and nominal >= first:
            yield nominal
            nominal = prev_nominal(job.schedule, nominal - 1)


def _spans(record: ScheduleRecord) -> list[tuple[int, int, Job]]:
    """Return the seconds from first to last in which each job was in force and valid, oldest first."""
    spans, end = list[tuple[int, int, Job]](), (LATEST + 1) * 1000
    for revision in reversed(record.revisions):
        if revision.at < end:
            spans.append((-(-revision.at // 1000), (end - 1) // 1000, revision.job))
            end = revision.at
    spans.append((EARLIEST, (end - 1) // 1000, record.revisions[0].job))
    return [
        (
            first if job.start is None else max(first, job.start + 1),
            last if job.end is None else min(last, job.end),
            job,
        )
        for first, last, job in reversed(spans)
    ]
