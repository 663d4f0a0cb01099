"""The audit: whether every period up to the cursor of a schedule has an answer. It reads a store, and believes nobody.

What the present definition answers for can be told from a store alone. Older definitions may have been paused, or
deleted and made again, and a store does not keep when; what is missing there is told apart, as doubtful.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kron.core.case import Case
from kron.core.due import due_of, reach
from kron.core.job import Job
from kron.core.outcome import Gap
from kron.core.period import next_nominal
from kron.core.policy import FirstSight
from kron.core.run import Run
from kron.store import Revision, Store

PAGE = 500
NEWEST = 1_000_000  # records of one schedule that are read


@dataclass(frozen=True, slots=True)
class Audit:
    """What one schedule has to answer for, and what it cannot. Periods are their nominal times, in seconds."""

    identity: str
    revision: int
    since: int  # milliseconds: the present definition answers for what falls due from here
    cursor: int
    periods: int  # those up to the cursor, of the present definition
    open: int  # runs of which something may still become
    verdicts: dict[str, int] = field(default_factory=dict)  # `skipped: overlap`, by how many records
    gaps: tuple[Gap, ...] = ()
    unexplained: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()  # without an answer, in the time of an older definition
    twice: tuple[int, ...] = ()  # recorded more than once, or recorded and in two gaps

    @property
    def sound(self) -> bool:
        """Whether every period has one answer."""
        return not self.unexplained and not self.twice


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
    (case,) = await store.get([identity])
    if case is None:
        return Audit(identity, 0, 0, 0, 0, 0)
    runs = await store.runs(identity, NEWEST)
    gaps = await store.gaps(identity)
    return audited(case, runs, gaps, await store.revisions(identity), await store.horizon())


def audited(
    case: Case, runs: Sequence[Run], gaps: Sequence[Gap], revisions: Sequence[Revision], horizon: int = 0
) -> Audit:
    """What a schedule answers for, from what is stored of it. What is older than `horizon` (ms) may be gone."""
    known = Counter(run.nominal for run in runs if not run.trigger)
    unread = [min(known, default=0)] if len(runs) == NEWEST else []  # what lies before it was not read
    oldest = max([*unread, -(-horizon // 1000)] if horizon else unread, default=None)
    begun = revisions[-1].cursor if revisions else 0
    asked = [n for n in _asked(case.job, case.since, case.cursor) if n > begun and (oldest is None or n >= oldest)]
    lost = [n for n in asked if n not in known and not _dropped(n, gaps)]
    older = [n for n in _older(case, revisions, oldest) if n not in known and not _dropped(n, gaps)]
    twice = [n for n, times in known.items() if times > 1]
    twice += [n for n in asked if n not in known and sum(gap.first <= n <= gap.last for gap in gaps) > 1]
    verdicts = Counter(_word(run) for run in runs if run.verdict)
    return Audit(
        case.identity,
        case.revision,
        case.since,
        case.cursor,
        len(asked),
        sum(run.open for run in runs),
        dict(sorted(verdicts.items())),
        tuple(gaps),
        tuple(lost),
        tuple(sorted(set(older) - set(lost))),
        tuple(sorted(twice)),
    )


def _asked(job: Job, since: int, upto: int) -> Iterator[int]:
    """The periods that a definition answers for from `since` (milliseconds) to the second `upto`."""
    _, after = reach(job)
    start = since // 1000 - max(after, 60) - 1
    nominal = next_nominal(job.schedule, start if job.start is None else max(start, job.start))
    while nominal is not None and nominal <= upto and (job.end is None or nominal <= job.end):
        if _answers(job, nominal, since):
            yield nominal
        nominal = next_nominal(job.schedule, nominal)


def _answers(job: Job, nominal: int, since: int) -> bool:
    match job.schedule.policy.first_sight:
        case FirstSight.CHOSEN:
            return due_of(job, nominal).at >= since // 1000 * 1000
        case FirstSight.AFTER:
            return nominal * 1000 > since
        case FirstSight.CURRENT_MINUTE:
            return nominal >= since // 60_000 * 60


def _older(case: Case, revisions: Sequence[Revision], oldest: int | None) -> Iterator[int]:
    """What fell due in the time of each older definition, by its own policy."""
    for revision, following in pairwise(revisions):
        job = revision.job
        for nominal in _asked(job, revision.at, case.cursor):
            due = due_of(job, nominal).at
            if due >= following.at:
                break
            if nominal > revision.cursor and (oldest is None or nominal >= oldest):
                yield nominal


def _word(run: Run) -> str:
    return f"{run.verdict}: {run.reason}" if run.reason else str(run.verdict)


def _dropped(nominal: int, gaps: Sequence[Gap]) -> bool:
    return any(gap.first <= nominal <= gap.last for gap in gaps)
