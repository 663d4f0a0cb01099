"""Plan of a backfill: its periods, and what became of each of them before. Nothing is written."""

from __future__ import annotations

from typing import NamedTuple

from kron.engine.backfill import MAX_BACKFILL_PERIODS, backfill_range
from kron.engine.request_check import require_schedule
from kron.engine.schedule_record import gap_of
from kron.engine.store import Store
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.timing.key import key_of

MAX_RUNS = 2 * MAX_BACKFILL_PERIODS  # runs that are read in search of earlier requests; the newest count


class PlannedPeriod(NamedTuple):
    """A period of a backfill, and what became of it before."""

    nominal: int  # seconds
    run: Run | None = None  # run that executed the period, otherwise the scheduled one, otherwise a requested one
    gap: GapRecord | None = None

    @property
    def ran(self) -> bool:
        """Whether the period was executed before."""
        return self.run is not None and self.run.outcome is Outcome.EXECUTED

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the period; None if it has none yet."""
        record = self.run or self.gap
        return record.outcome if record else None

    @property
    def reason(self) -> Reason | None:
        """Reason of the outcome, or of an unsuccessful run; None if there is none."""
        record = self.run or self.gap
        return record.reason if record else None


async def backfill_plan(store: Store, identity: str, first: int, last: int) -> list[PlannedPeriod]:
    """Return the periods that a backfill from `first` to `last` (seconds, both included) would run.

    Raises:
        NotFound: The schedule does not exist.
        InvalidInput: The range has more than 1,000 periods.
    """
    (state,) = await store.get([identity])
    periods = backfill_range(require_schedule(state, identity).job, first, last)
    scheduled_runs = await store.runs_by_key([key_of(identity, nominal) for nominal in periods])
    requested_runs = await store.overview.runs_between(identity, first, last, MAX_RUNS)
    gaps = await store.gaps(identity)
    runs = dict[int, Run]()
    for run in sorted((run for run in (*scheduled_runs, *requested_runs) if run), key=_preference):
        runs.setdefault(run.nominal, run)
    return [
        PlannedPeriod(nominal, runs.get(nominal), None if nominal in runs else gap_of(gaps, nominal))
        for nominal in periods
    ]


def _preference(run: Run) -> tuple[bool, str]:
    return run.outcome is not Outcome.EXECUTED, run.trigger
