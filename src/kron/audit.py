"""Audit: whether every period that a schedule owed has one outcome. It reads a store, and recomputes what was owed.

Each revision keeps its whole definition, so the audit knows what each one owed: a new schedule by its first sight, an
edited one every period after the edit and those that were open at the edit. It goes back as far as records are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from kron.core.case import Case
from kron.core.due import due_of, has_period, reach, responsible, unhandled
from kron.core.outcome import Gap
from kron.core.period import next_nominal
from kron.core.run import Run, State, key_of
from kron.errors import KronError
from kron.store import Act, Deed, Revision, Store

PAGE = 500
NEWEST = 1_000_000  # records of one schedule that are read


@dataclass(frozen=True, slots=True)
class Audit:
    """What one schedule has to answer for, and what it cannot. Periods are their nominal times, in seconds."""

    identity: str
    revision: int
    since: int  # milliseconds: the present definition answers for what falls due from here
    cursor: int
    periods: int  # those that had to have an outcome, of all revisions
    open: int  # runs of which something may still become
    verdicts: dict[str, int] = field(default_factory=dict)  # `skipped: overlap`, by how many records
    gaps: tuple[Gap, ...] = ()
    unexplained: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()  # recorded more than once, or recorded and in two gaps
    taken: tuple[int, ...] = ()  # due, and its key belongs to another run
    failed: int = 0  # runs that ended so
    lost: int = 0
    unknown: int = 0

    @property
    def sound(self) -> bool:
        """Whether every period has one answer."""
        return not self.unexplained and not self.twice and not self.taken


async def audit(store: Store, identities: Sequence[str] | None = None) -> AsyncIterator[Audit]:
    """An audit of each schedule; of all of them, if none is named."""
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
    (case,), now = await store.get_now([identity])
    if case is None:
        raise KronError("NOT_FOUND", f"schedule {identity!r} is not visible here", hint="name a schedule of this store")
    runs, gaps = await store.runs(identity, NEWEST), await store.gaps(identity)
    revisions, acts = await store.revisions(identity), await store.acts(identity)
    kept = -(-await store.horizon() // 1000)  # older records may have been removed
    known = Counter(run.nominal for run in runs if not run.trigger)
    if len(runs) == NEWEST:  # what lies before was not read
        kept = max(kept, min(known, default=0))
    asked = sorted({n for n in _owed(case, revisions, acts) if n >= kept})
    silent = [n for n in asked if n not in known and not _dropped(n, gaps)]
    twice = [n for n, times in known.items() if times > 1]
    twice += [n for n in asked if n not in known and sum(gap.first <= n <= gap.last for gap in gaps) > 1]
    states = Counter(run.state for run in runs)
    return Audit(
        *(identity, case.revision, case.since, case.cursor, len(asked), sum(run.open for run in runs)),
        dict(sorted(Counter(_word(run) for run in runs if run.verdict).items())),
        tuple(gaps),
        tuple(silent),
        tuple(sorted(twice)),
        await _taken(store, case, now),
        *(states[State.FAILED], states[State.LOST], states[State.UNKNOWN]),
    )


async def _taken(store: Store, case: Case, now: int) -> tuple[int, ...]:
    """The next period, if it is due and its key is another run's: then it can never be recorded."""
    nominal = next(unhandled(case, case.cursor), None)
    if nominal is None or due_of(case.job, nominal).at > now:
        return ()
    (run,) = await store.find([key_of(case.identity, nominal)])
    return (nominal,) if run and (run.identity, run.nominal, run.trigger) != (case.identity, nominal, "") else ()


def _owed(case: Case, revisions: Sequence[Revision], acts: Sequence[Act]) -> Iterator[int]:
    """The periods that must have an outcome by now, revision by revision."""
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


def _tenure(case: Case, revision: Revision, end: int | None, created: bool, carried: frozenset[int]) -> Iterator[int]:
    """The periods that a revision owed, up to its end or, of the present one, up to the cursor."""
    job, owed = revision.job, None if created else carried
    then = Case(job, revision.number, revision.cursor, revision.at, owed=owed)
    begin = min(carried, default=revision.at // 1000 + 1) - 1
    if created:
        begin = max(revision.cursor, revision.at // 1000 - max(reach(job)[1], 60) - 1)
    last = case.cursor if end is None else end // 1000
    nominal = next_nominal(job.schedule, begin if job.start is None else max(begin, job.start))
    while nominal is not None and nominal <= last and (job.end is None or nominal <= job.end):
        if responsible(then, due_of(job, nominal)):
            yield nominal
        nominal = next_nominal(job.schedule, nominal)


def _deleted(acts: Sequence[Act], since: int, after: Revision | None) -> int | None:
    """When a revision was deleted, if it was."""
    return next(
        (a.at for a in acts if a.deed is Deed.DELETED and a.at >= since and (after is None or a.at <= after.at)), None
    )


def _word(run: Run) -> str:
    return f"{run.verdict}: {run.reason}" if run.reason else str(run.verdict)


def _dropped(nominal: int, gaps: Sequence[Gap]) -> bool:
    return any(gap.first <= nominal <= gap.last for gap in gaps)
