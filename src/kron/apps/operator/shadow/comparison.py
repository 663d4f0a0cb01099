"""Comparison of CronJobs with a dry run: the periods that both started, and those of one side only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kron.apps.operator.shadow.cronjob_runs import CronJobRuns
from kron.engine.store import Store
from kron.rules.outcome import REASON_TEXT, Reason
from kron.rules.run import Run

PAGE_SIZE = 1_000
CRONJOB, KRONJOB = "CronJob", "KronJob"
NO_PERIOD = "The KronJob has no period at this time, or the dry run has not handled it yet."
NO_JOB = "The CronJob has started no Job for this time."


class Difference(NamedTuple):
    """A period that only one side has started, or would have started."""

    period: int  # seconds
    only: str
    why: str


@dataclass
class Comparison:
    """Result for one CronJob. Times are in seconds, lateness in milliseconds.

    Attributes:
        name: Namespace and name.
        first: First second that is compared.
        last: Last second that is compared.
        both: For each period of both sides, how late the CronJob and the dry run were.
        differences: Periods of one side only.
        error: Why nothing could be compared; empty if it could.
    """

    name: str
    first: int = 0
    last: int = 0
    both: dict[int, tuple[int | None, int]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    error: str = ""


async def compare(store: Store, identity: str, runs: CronJobRuns, last: int) -> Comparison:
    """Compare the runs of a CronJob with the records of a dry run, up to the second `last`."""
    (state,) = await store.get([identity])
    if state is None:
        return Comparison(identity, error="the dry run has no KronJob of this name")
    began = -(-(await store.revisions(identity))[0].at // 1000)
    result = Comparison(identity, max(runs.began, began), last)
    recorded = await _recorded(store, identity, result.first)
    started = {period: at for period, at in runs.runs.items() if result.first <= period <= last}
    for period in sorted({*started, *recorded}):
        if period > last:
            continue
        run = recorded.get(period)
        if run is not None and run.reason is Reason.SHADOW:
            if period in started:
                created = started[period]
                late = None if created is None else max(0, created - period) * 1000
                result.both[period] = (late, max(0, run.sent - run.due))
            else:
                result.differences.append(Difference(period, KRONJOB, NO_JOB))
        elif period in started:
            result.differences.append(Difference(period, CRONJOB, _why(run)))
    return result


async def _recorded(store: Store, identity: str, first: int) -> dict[int, Run]:
    """Return the runs of the calendar from a time on, by period."""
    found, last = dict[int, Run](), ""
    while page := await store.runs(identity, PAGE_SIZE, last):
        found |= {run.nominal: run for run in _scheduled(page) if run.nominal >= first}
        if page[-1].nominal < first:
            break
        last = page[-1].key
    return found


def _scheduled(runs: list[Run]) -> Iterator[Run]:
    return (run for run in runs if not run.trigger)


def _why(run: Run | None) -> str:
    if run is None:
        return NO_PERIOD
    return REASON_TEXT[run.reason] if run.reason else "The dry run has not ended this period yet."
