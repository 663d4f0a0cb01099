"""Audit: whether every period that a schedule owed has exactly one outcome.

The audit reads a store and recomputes the owed periods. Each revision keeps its whole definition, so that the audit
knows what each one owed. A new schedule owes the periods that its policy's first period selects. An edited schedule
owes every period after the edit, and the periods that were open at the edit. A revision that ended and had `max_runs`
owes the periods up to the last one that has a record, because its runs may have been used up. The audit goes back as
far as records are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kron.engine.store import Store
from kron.errors import NotFound
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.counters import over_reason
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.rules.update import Revision
from kron.timing.due import due_of, has_period, window_extent
from kron.timing.key import key_of
from kron.timing.period import nominals

PAGE_SIZE = 500
MAX_RECORDS = 1_000_000  # maximum records read per schedule


@dataclass(frozen=True, slots=True)
class Audit:
    """Audit result of one schedule. Periods are given by their nominal times, in seconds."""

    identity: str
    revision: int
    since: int  # milliseconds: the present revision is responsible for periods due from here
    cursor: int
    periods: int  # periods that must have an outcome, of all revisions
    open: int  # runs that are not finished
    outcomes: dict[str, int] = field(default_factory=dict)  # number of records by text, such as `skipped: overlap`
    gaps: tuple[GapRecord, ...] = ()
    unexplained: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()  # recorded more than once, or in two gap records
    taken: tuple[int, ...] = ()  # due, but the key belongs to another run
    failed: int = 0  # runs that ended in this state
    lost: int = 0
    unknown: int = 0
    over: str = ""  # why the schedule owes no further period: it has had its maximum number of runs

    @property
    def sound(self) -> bool:
        """Whether every period has exactly one outcome."""
        return not self.unexplained and not self.twice and not self.taken


async def audit(store: Store, identities: Sequence[str] | None = None) -> AsyncIterator[Audit]:
    """Yield an audit of each schedule.

    Args:
        store: The store to read.
        identities: Schedules to audit; None: all schedules.

    Raises:
        NotFound: A schedule is not visible in this store.
    """
    if identities is not None:
        for identity in identities:
            yield await _audit(store, identity)
        return
    page = await store.identities("", PAGE_SIZE)
    while page:
        for identity in page:
            yield await _audit(store, identity)
        page = await store.identities(page[-1], PAGE_SIZE)


async def _audit(store: Store, identity: str) -> Audit:
    (state,), now = await store.get_with_time([identity])
    if state is None:
        raise NotFound(
            "NOT_FOUND",
            f"schedule {identity!r} is not visible here",
            hint="use the identity of a schedule in this store",
        )
    runs, gaps = await store.runs(identity, MAX_RECORDS), await store.gaps(identity)
    revisions, actions = await store.revisions(identity), await store.actions(identity)
    kept_since = -(-await store.horizon() // 1000)  # older records may have been removed
    record_counts = Counter(run.nominal for run in runs if not run.trigger)
    if len(runs) == MAX_RECORDS:  # older records were not read
        kept_since = max(kept_since, min(record_counts, default=0))
    last_runs = _last_runs(runs)
    owed = sorted({n for n in _owed_periods(state, revisions, actions, last_runs) if n >= kept_since})
    unexplained = [n for n in owed if n not in record_counts and not _is_in_gap(n, gaps)]
    twice = [n for n, times in record_counts.items() if times > 1]
    twice += [n for n in owed if n not in record_counts and sum(gap.first <= n <= gap.last for gap in gaps) > 1]
    state_counts = Counter(run.state for run in runs)
    return Audit(
        *(identity, state.revision, state.effective_from, state.cursor, len(owed), sum(run.open for run in runs)),
        dict(sorted(Counter(_outcome_text(run) for run in runs if run.outcome).items())),
        tuple(gaps),
        tuple(unexplained),
        tuple(sorted(twice)),
        await _taken_periods(store, state, now),
        *(state_counts[State.FAILED], state_counts[State.LOST], state_counts[State.UNKNOWN], over_reason(state)),
    )


async def _taken_periods(store: Store, state: ScheduleState, now: int) -> tuple[int, ...]:
    """Return the next period if it is due and its key belongs to another run: then it can never be recorded."""
    nominal = next(unhandled(state, state.cursor), None)
    if nominal is None or due_of(state.job, nominal).at > now:
        return ()
    (run,) = await store.runs_by_key([key_of(state.identity, nominal)])
    return (nominal,) if run and (run.identity, run.nominal, run.trigger) != (state.identity, nominal, "") else ()


def _last_runs(runs: Sequence[Run]) -> dict[int, tuple[int, int]]:
    """Return due time and period of the last scheduled run of each revision that has one."""
    last_runs = dict[int, tuple[int, int]]()
    for run in runs:
        if not run.trigger:
            last_runs[run.revision] = max(last_runs.get(run.revision, (0, 0)), (run.due, run.nominal))
    return last_runs


def _owed_periods(
    state: ScheduleState,
    revisions: Sequence[Revision],
    actions: Sequence[ScheduleAction],
    last_runs: Mapping[int, tuple[int, int]],
) -> Iterator[int]:
    """Yield the periods that must have an outcome by now, revision by revision."""
    carried, created = frozenset[int](), True
    for index, revision in enumerate(revisions):
        successor = revisions[index + 1] if index + 1 < len(revisions) else None
        deleted_at = _deletion_time(actions, revision.at, successor)
        end = deleted_at if deleted_at is not None else successor.at if successor else None
        open_at_end, is_limited = set[int](), end is not None and revision.job.schedule.policy.max_runs is not None
        for nominal in _periods_of_revision(state, revision, end, created, carried):
            due = due_of(revision.job, nominal).at
            last_due, last_nominal = last_runs.get(revision.number, (0, 0))
            if is_limited and (nominal > last_nominal or (due, nominal) > (last_due, last_nominal)):
                continue
            if end is None or due <= end:
                yield nominal
            elif deleted_at is None and successor and has_period(successor.job, nominal):
                open_at_end.add(nominal)
            elif deleted_at is None:
                yield nominal  # superseded
        carried, created = frozenset(open_at_end), deleted_at is not None


def _periods_of_revision(
    state: ScheduleState, revision: Revision, end: int | None, created: bool, carried: frozenset[int]
) -> Iterator[int]:
    """Yield the periods that a revision owed, up to its end; for the present revision, up to the cursor."""
    job, owed = revision.job, None if created else carried
    past_state = ScheduleState(job, revision.number, revision.cursor, revision.at, owed=owed)
    begin = min(carried, default=revision.at // 1000 + 1) - 1
    if created:
        begin = max(revision.cursor, revision.at // 1000 - max(window_extent(job)[1], 60) - 1)
    last = state.cursor if end is None else end // 1000
    last = last if job.end is None else min(last, job.end)
    for nominal in nominals(job.schedule, begin if job.start is None else max(begin, job.start), last):
        if responsible(past_state, due_of(job, nominal)):
            yield nominal


def _deletion_time(actions: Sequence[ScheduleAction], since: int, successor: Revision | None) -> int | None:
    """Return when the schedule was deleted under this revision; None if it was not."""
    return next(
        (
            action.at
            for action in actions
            if action.kind is ActionKind.DELETED
            and action.at >= since
            and (successor is None or action.at <= successor.at)
        ),
        None,
    )


def _outcome_text(run: Run) -> str:
    return f"{run.outcome}: {run.reason}" if run.reason else str(run.outcome)


def _is_in_gap(nominal: int, gaps: Sequence[GapRecord]) -> bool:
    return any(gap.first <= nominal <= gap.last for gap in gaps)
