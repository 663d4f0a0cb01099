"""Record of one schedule: its state, revisions and actions, from which the report on each of its periods is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, takewhile

from kron.engine.period_report import PeriodReport
from kron.engine.store import Store
from kron.errors import NotFound
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.launch_result import has_retry
from kron.rules.outcome import Reason
from kron.rules.run import RESERVED_PREFIXES, Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.rules.upcoming import search_upcoming
from kron.rules.update import Revision
from kron.timing.due import Due, due_of
from kron.timing.job import Job
from kron.timing.period import Period, prev_nominal
from kron.timing.schedule.policy import Policy

MAX_RUNS_LEFT = 1_000  # runs up to which the last run that `max_runs` allows is computed
MAX_SEARCH_STEPS = 2_000  # steps of the search for it
MAX_TAKEN_OVER = 1_000  # earlier periods that are looked at when a deleted schedule is defined again


@dataclass(frozen=True)
class ScheduleRecord:
    """What a store knows of a schedule, apart from its runs and gap records, and when it was read."""

    state: ScheduleState
    revisions: Sequence[Revision]  # oldest first
    actions: Sequence[ScheduleAction]
    now: int  # milliseconds
    shared: bool = True  # whether workers register in this store

    def revision_at(self, at: int) -> Revision:
        """Return the revision in force at `at` (milliseconds), or the first one before all revisions."""
        return next((revision for revision in reversed(self.revisions) if revision.at <= at), self.revisions[0])

    def report(
        self,
        period: Period,
        at: int,
        run: Run | None = None,
        gap: GapRecord | None = None,
        attempts: tuple[Attempt, ...] = (),
    ) -> PeriodReport:
        """Return the report on a period, or on a run that was requested.

        Args:
            period: The period, or the time of the request.
            at: Instant (milliseconds) whose revision decides a period without a run.
            run: Run of the period.
            gap: Gap record of the period.
            attempts: Attempts of the run.
        """
        revision = self._deciding_revision(run, period.nominal, at)
        job, due = revision.job, due_of(revision.job, period.nominal)
        action = _action_in_force(self.actions, self.revisions, run.due if run and run.trigger else due.at)
        return PeriodReport(
            *(self.state.identity, period, revision, _is_decided(job, period, run), due, run, gap, self.state, action),
            *(self.now, self.revisions[0].at, self.shared, attempts),
            dropped_retry=_dropped_retry(run, job.schedule.policy, self.actions) if run else "",
            surplus=run is None and self._is_surplus(due),
        )

    def _deciding_revision(self, run: Run | None, nominal: int, at: int) -> Revision:
        """Return the revision under which the run was recorded, otherwise the one that decides the period.

        That is the last revision if it has taken the period over.
        """
        if run is not None:
            return next(revision for revision in self.revisions if revision.number == run.revision)
        is_taken_over = nominal in self.taken_over and nominal > self.state.cursor
        return self.revisions[-1] if is_taken_over else self.revision_at(at)

    @cached_property
    def taken_over(self) -> frozenset[int]:
        """Nominal times up to the last revision for which it is responsible, in seconds.

        An edit has handed them over, or the schedule was deleted and is defined again while their windows are open.
        """
        state = self.state
        if state.owed is not None or state.deleted or state.revision == self.revisions[0].number:
            return state.owed or frozenset()
        end = state.effective_from // 1000
        earlier = islice(takewhile(lambda nominal: nominal <= end, unhandled(state, state.cursor)), MAX_TAKEN_OVER)
        return frozenset(nominal for nominal in earlier if responsible(state, due_of(state.job, nominal)))

    def _is_surplus(self, due: Due) -> bool:
        """Return whether the schedule has had its last run before an upcoming period."""
        last_run = self._last_run
        return last_run is not None and (due.at, due.nominal) > (last_run.at, last_run.nominal)

    @cached_property
    def _last_run(self) -> Due | None:
        """Last upcoming run that `max_runs` allows; None without a limit, or if it is far away."""
        left = self.state.runs_left
        if not left or left > MAX_RUNS_LEFT:
            return None
        steps = count()
        dues = search_upcoming(self.state, self.now, left, lambda: next(steps) > MAX_SEARCH_STEPS).dues
        return dues[-1] if len(dues) == left else None


async def schedule_record(store: Store, identity: str, *, shared: bool = True) -> ScheduleRecord:
    """Return the record of a schedule, also of a deleted one.

    Raises:
        NotFound: The schedule does not exist.
    """
    (state,), now = await store.get_with_time([identity])
    if state is None:
        raise NotFound(
            "NOT_FOUND", f"schedule {identity!r} does not exist", hint="use the identity of a schedule in this store"
        )
    return ScheduleRecord(state, await store.revisions(identity), await store.actions(identity), now, shared)


def gap_of(gaps: Sequence[GapRecord], nominal: int) -> GapRecord | None:
    """Return the gap record that covers a period; None if there is none."""
    return next((gap for gap in gaps if gap.first <= nominal <= gap.last), None)


def _dropped_retry(run: Run, policy: Policy, actions: Sequence[ScheduleAction]) -> str:
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


def _action_in_force(actions: Sequence[ScheduleAction], history: Sequence[Revision], at: int) -> ScheduleAction | None:
    """Return the pause or the deletion that was in force at `at`."""
    last = next((action for action in reversed(actions) if action.at <= at), None)
    if last is None or last.kind is ActionKind.RESUMED or (last.until is not None and last.until <= at):
        return None
    defined_again = last.kind is ActionKind.DELETED and any(last.at < revision.at <= at for revision in history)
    return None if defined_again else last
