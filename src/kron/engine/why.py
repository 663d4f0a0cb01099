"""Why: find what is recorded of one period or one run, and return the report on it."""

from __future__ import annotations

from kron.engine.period_report import PeriodReport
from kron.engine.store import Store
from kron.errors import InvalidSchedule, NotFound
from kron.language.record import record_of
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.launch_result import has_retry
from kron.rules.outcome import GapRecord, Reason
from kron.rules.run import RESERVED_PREFIXES, Run, State
from kron.rules.state import ScheduleState
from kron.rules.update import Revision
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import Period, next_nominal, prev_nominal
from kron.timing.schedule.policy import Policy

MAX_RECORDS = 10_000  # maximum records read
PAGE_SIZE = 500  # records in one read


async def why(store: Store, identity: str, at: int, *, run_key: str = "", shared: bool = True) -> PeriodReport:
    """Return the report on the last period up to `at` (milliseconds), or on the first one if there is none.

    If a run was requested exactly at `at`, and no period has this time, the report is on that run.

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
    (state,), now = await store.get_with_time([identity])
    if state is None:
        raise NotFound(
            "NOT_FOUND", f"schedule {identity!r} does not exist", hint="use the identity of a schedule in this store"
        )
    history = await store.revisions(identity)
    if run_key:
        run: Run | None = await _run_by_key(store, identity, run_key)
    else:
        run = await _run_at(store, identity, history, at)
    period = Period(run.nominal) if run else _period(_revision(history, None, at).job, at)
    gap = None if run else await _gap(store, identity, period.nominal)
    revision = _deciding_revision(state, history, run, period.nominal, at)
    due, attempts = due_of(revision.job, period.nominal), (await store.attempts([run.key]))[0] if run else ()
    actions, due_at = await store.actions(identity), run.due if run and run.trigger else due.at
    action = _action_in_force(actions, history, due_at)
    dropped_retry = _dropped_retry(run, revision.job.schedule.policy, actions) if run else ""
    decision = record_of(revision.job, period) if _is_decided(revision.job, period, run) else None
    return PeriodReport(
        *(identity, period, revision, decision, due, run, gap, state, action, now, history[0].at, shared),
        attempts,
        dropped_retry,
    )


def _dropped_retry(run: Run, policy: Policy, actions: list[ScheduleAction]) -> str:
    """Return why a failed run was not run again, although its policy allows a retry; empty for other runs.

    Such a run waits. It ends when a newer period starts, or when the schedule is deleted.
    """
    is_failed = run.state is State.FAILED and run.reason in (Reason.FAILED, Reason.TIMEOUT)
    if not is_failed or not has_retry(run, policy):
        return ""
    is_deleted = any(action.kind is ActionKind.DELETED and action.at == run.finished for action in actions)
    return "the schedule was deleted" if is_deleted else "a newer period started first"


def _is_decided(job: Job, period: Period, run: Run | None) -> bool:
    """Return whether the calendar decided the period. A run that was requested can have a time of its own."""
    if run is None or not run.trigger:
        return True
    return run.trigger.startswith(RESERVED_PREFIXES) and prev_nominal(job.schedule, period.nominal) == period.nominal


async def _run_by_key(store: Store, identity: str, key: str) -> Run:
    (run,) = await store.runs_by_key([key])
    if run is None or run.identity != identity:
        message = f"schedule {identity!r} has no run with the key {key!r}"
        raise NotFound("NOT_FOUND", message, hint="use a key of 64 hexadecimal digits, as the list of its runs has it")
    return run


async def _run_at(store: Store, identity: str, history: list[Revision], at: int) -> Run | None:
    """Return the run that was requested at `at`, otherwise the run of the last period up to `at`.

    The run of the calendar comes first, otherwise the first requested run.
    """
    nominal = _period(_revision(history, None, at).job, at).nominal
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


async def _gap(store: Store, identity: str, nominal: int) -> GapRecord | None:
    return next((gap for gap in await store.gaps(identity) if gap.first <= nominal <= gap.last), None)


def _period(job: Job, at: int) -> Period:
    schedule = job.schedule
    nominal = prev_nominal(schedule, at // 1000)
    if nominal is None:
        nominal = next_nominal(schedule, at // 1000)
    if nominal is None:
        raise InvalidSchedule(
            "NEVER", "the schedule never runs: no month has such a day", hint="choose a day that exists"
        )
    return Period(nominal)


def _revision(history: list[Revision], run: Run | None, at: int) -> Revision:
    """Return the revision under which the run was recorded, otherwise the one in force at `at`."""
    if run is not None:
        return next(r for r in history if r.number == run.revision)
    return next((r for r in reversed(history) if r.at <= at), history[0])


def _deciding_revision(
    state: ScheduleState, history: list[Revision], run: Run | None, nominal: int, at: int
) -> Revision:
    """Return the revision that decided a period: the last one, if an edit has handed the period over to it."""
    is_handed_over = run is None and nominal in (state.owed or ()) and nominal > state.cursor
    return history[-1] if is_handed_over else _revision(history, run, at)


def _action_in_force(actions: list[ScheduleAction], history: list[Revision], at: int) -> ScheduleAction | None:
    """Return the pause or the deletion that was in force at `at`."""
    last = next((action for action in reversed(actions) if action.at <= at), None)
    if last is None or last.kind is ActionKind.RESUMED or (last.until is not None and last.until <= at):
        return None
    defined_again = last.kind is ActionKind.DELETED and any(last.at < revision.at <= at for revision in history)
    return None if defined_again else last
