"""Why: find what is recorded of one period or one run, and return the report on it."""

from __future__ import annotations

from dataclasses import replace

from kron.engine.period_report import PeriodReport
from kron.engine.schedule_record import ScheduleRecord, gap_of, schedule_record
from kron.engine.store import Store
from kron.errors import InvalidSchedule, NotFound
from kron.rules.run import Run
from kron.timing.key import key_of
from kron.timing.period import Period, next_nominal, prev_nominal

MAX_RECORDS = 10_000  # maximum records read
PAGE_SIZE = 500  # records in one read
MAX_REQUESTED = 3  # newest runs among which a report on a period without a record names the requested ones


async def why(store: Store, identity: str, at: int, *, run_key: str = "", shared: bool = True) -> PeriodReport:
    """Return the report on the last period up to `at` (milliseconds), or on the first one if there is none.

    If a run was requested exactly at `at`, and no period has this time, the report is on that run. The report on a
    period without a record names the newest runs that were requested up to `at`.

    Args:
        store: The store to read.
        identity: The schedule.
        at: Instant in milliseconds.
        run_key: Idempotency key: the report is on the run with this key, whatever `at` is.
        shared: Whether workers register in this store. A worker that has the store to itself does not.

    Raises:
        NotFound: The schedule does not exist, or has no run with this key.
        InvalidSchedule: The schedule has no period.
    """
    record = await schedule_record(store, identity, shared=shared)
    if run_key:
        run: Run | None = await _run_by_key(store, identity, run_key)
    else:
        run = await _run_at(store, record, at)
    period = Period(run.nominal) if run else _period(record, at)
    gap = None if run else gap_of(await store.gaps(identity), period.nominal)
    attempts = (await store.attempts([run.key]))[0] if run else ()
    report = record.report(period, at, run, gap, attempts)
    if run or gap:
        return report
    newest = await store.runs(identity, MAX_REQUESTED)
    earlier = (each for each in newest if each.trigger and each.created // 1000 <= at // 1000)
    return replace(report, requested=tuple(earlier))


async def _run_by_key(store: Store, identity: str, key: str) -> Run:
    (run,) = await store.runs_by_key([key])
    if run is None or run.identity != identity:
        message = f"schedule {identity!r} has no run with the key {key!r}"
        raise NotFound("NOT_FOUND", message, hint="use a key of 64 hexadecimal digits, as the list of its runs has it")
    return run


async def _run_at(store: Store, record: ScheduleRecord, at: int) -> Run | None:
    """Return the run that was requested at `at`, otherwise the run of the last period up to `at`.

    The run of the calendar comes first, otherwise the first requested run.
    """
    identity, nominal = record.state.identity, _period(record, at).nominal
    if nominal != at // 1000:
        requested_run = await _requested_run(store, identity, at // 1000)
        if requested_run is not None:
            return requested_run
    (run,) = await store.runs_by_key([key_of(identity, nominal)])
    return run or await _requested_run(store, identity, nominal)


async def _requested_run(store: Store, identity: str, nominal: int) -> Run | None:
    """Return the first requested run with this nominal time; None if there is none. Runs are read newest first."""
    found, last, read = list[Run](), "", 0
    while read < MAX_RECORDS:
        page = await store.runs(identity, PAGE_SIZE, last)
        found += [run for run in page if run.nominal == nominal]
        if len(page) < PAGE_SIZE or page[-1].nominal < nominal:
            break
        last, read = page[-1].key, read + len(page)
    return min(found, key=lambda run: run.trigger, default=None)


def _period(record: ScheduleRecord, at: int) -> Period:
    if at // 1000 in record.taken_over:
        return Period(at // 1000)
    schedule = record.revision_at(at).job.schedule
    nominal = prev_nominal(schedule, at // 1000)
    if nominal is None:
        nominal = next_nominal(schedule, at // 1000)
    if nominal is None:
        raise InvalidSchedule(
            "NEVER", "the schedule never runs: no month has such a day", hint="choose a day that exists"
        )
    return Period(nominal)
