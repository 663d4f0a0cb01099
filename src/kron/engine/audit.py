"""Audit: whether every period that a schedule owed has exactly one outcome.

The audit reads a store and recomputes the owed periods. Each revision keeps its whole definition, so that the audit
knows what each one owed. A new schedule owes the periods that its policy's first period selects. An edited schedule
owes every period after the edit, and the periods that were open at the edit. The audit goes back as far as records are
kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from kron.engine.store import Store
from kron.errors import NotFound
from kron.rules.outcome import GapRecord
from kron.rules.run import Run, State
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.rules.update import ActionKind, Revision, ScheduleAction
from kron.timing.due import due_of, has_period, window_extent
from kron.timing.key import key_of
from kron.timing.period import nominals

PAGE = 500
NEWEST = 1_000_000  # maximum records read per schedule


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
    page = await store.identities("", PAGE)
    while page:
        for identity in page:
            yield await _audit(store, identity)
        page = await store.identities(page[-1], PAGE)


async def _audit(store: Store, identity: str) -> Audit:
    (case,), now = await store.get_with_time([identity])
    if case is None:
        raise NotFound(
            "NOT_FOUND",
            f"schedule {identity!r} is not visible here",
            hint="use the identity of a schedule in this store",
        )
    runs, gaps = await store.runs(identity, NEWEST), await store.gaps(identity)
    revisions, acts = await store.revisions(identity), await store.actions(identity)
    kept = -(-await store.horizon() // 1000)  # older records may have been removed
    known = Counter(run.nominal for run in runs if not run.trigger)
    if len(runs) == NEWEST:  # older records were not read
        kept = max(kept, min(known, default=0))
    asked = sorted({n for n in _owed(case, revisions, acts) if n >= kept})
    silent = [n for n in asked if n not in known and not _dropped(n, gaps)]
    twice = [n for n, times in known.items() if times > 1]
    twice += [n for n in asked if n not in known and sum(gap.first <= n <= gap.last for gap in gaps) > 1]
    states = Counter(run.state for run in runs)
    return Audit(
        *(identity, case.revision, case.effective_from, case.cursor, len(asked), sum(run.open for run in runs)),
        dict(sorted(Counter(_word(run) for run in runs if run.outcome).items())),
        tuple(gaps),
        tuple(silent),
        tuple(sorted(twice)),
        await _taken(store, case, now),
        *(states[State.FAILED], states[State.LOST], states[State.UNKNOWN]),
    )


async def _taken(store: Store, case: ScheduleState, now: int) -> tuple[int, ...]:
    """Return the next period if it is due and its key belongs to another run: then it can never be recorded."""
    nominal = next(unhandled(case, case.cursor), None)
    if nominal is None or due_of(case.job, nominal).at > now:
        return ()
    (run,) = await store.runs_by_key([key_of(case.identity, nominal)])
    return (nominal,) if run and (run.identity, run.nominal, run.trigger) != (case.identity, nominal, "") else ()


def _owed(case: ScheduleState, revisions: Sequence[Revision], acts: Sequence[ScheduleAction]) -> Iterator[int]:
    """Yield the periods that must have an outcome by now, revision by revision."""
    carried, created = frozenset[int](), True
    for place, revision in enumerate(revisions):
        after = revisions[place + 1] if place + 1 < len(revisions) else None
        gone = _deleted(acts, revision.at, after)
        end = gone if gone is not None else after.at if after else None
        open_at_end = set[int]()
        for nominal in _tenure(case, revision, end, created, carried):
            due = due_of(revision.job, nominal).at
            if end is None or due <= end:
                yield nominal
            elif gone is None and after and has_period(after.job, nominal):
                open_at_end.add(nominal)
            elif gone is None:
                yield nominal  # superseded
        carried, created = frozenset(open_at_end), gone is not None


def _tenure(
    case: ScheduleState, revision: Revision, end: int | None, created: bool, carried: frozenset[int]
) -> Iterator[int]:
    """Yield the periods that a revision owed, up to its end; for the present revision, up to the cursor."""
    job, owed = revision.job, None if created else carried
    then = ScheduleState(job, revision.number, revision.cursor, revision.at, owed=owed)
    begin = min(carried, default=revision.at // 1000 + 1) - 1
    if created:
        begin = max(revision.cursor, revision.at // 1000 - max(window_extent(job)[1], 60) - 1)
    last = case.cursor if end is None else end // 1000
    last = last if job.end is None else min(last, job.end)
    for nominal in nominals(job.schedule, begin if job.start is None else max(begin, job.start), last):
        if responsible(then, due_of(job, nominal)):
            yield nominal


def _deleted(acts: Sequence[ScheduleAction], since: int, after: Revision | None) -> int | None:
    """Return when the schedule was deleted under this revision; None if it was not."""
    return next(
        (a.at for a in acts if a.kind is ActionKind.DELETED and a.at >= since and (after is None or a.at <= after.at)),
        None,
    )


def _word(run: Run) -> str:
    return f"{run.outcome}: {run.reason}" if run.reason else str(run.outcome)


def _dropped(nominal: int, gaps: Sequence[GapRecord]) -> bool:
    return any(gap.first <= nominal <= gap.last for gap in gaps)
