"""Report on one period or one requested run, in words: the revision, the decision, and the outcome with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kron.engine.attempt_text import attempt_text
from kron.engine.fleet import kind_of
from kron.language.canonical import unparse
from kron.language.duration import write_duration
from kron.language.record import record_of
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt, AttemptResult
from kron.rules.counters import over_reason
from kron.rules.downtime import ALWAYS, EVER
from kron.rules.gap_record import GapRecord
from kron.rules.launch_result import latest_claim
from kron.rules.outcome import REASON_TEXT, Reason
from kron.rules.pause import passes_during_pause
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible
from kron.rules.update import Revision
from kron.timing.due import Due, has_period
from kron.timing.job import Job
from kron.timing.period import Period
from kron.timing.recurrence import stands_for
from kron.timing.zone import rfc3339, rfc3339_ms

_STATE_TEXT = {
    State.PENDING: "The run is due and waits for its turn.",
    State.LAUNCHING: "A worker has claimed the run and is launching it, "
    "or the run waits for a free place in that worker.",
    State.RETRY: "The launch failed, or its result is unknown. Kron will retry.",
    State.ENQUEUED: "The target has accepted the run and has not reported its end.",
    State.STARTED: "The target has reported that the run started.",
    State.WAITING: "The run failed, and Kron will run it again.",
    State.SUCCESS: "The run succeeded.",
    State.FAILED: "The run failed.",
    State.CANCELLED: "The run was canceled.",
    State.LOST: "The run stopped reporting and counts as lost.",
    State.UNKNOWN: "The target may have executed the run.",
}
_UNLAUNCHED_STATES = frozenset({State.PENDING, State.RETRY, State.WAITING})


class Absence(StrEnum):
    """Why a period has no record."""

    COMING = "coming"  # not due yet
    LATE = "late"  # due, and no worker has handled it yet
    PAUSED = "paused"
    SUSPENDED = "suspended"  # by the policy
    INVALID = "invalid"  # outside the time in which the schedule is valid
    UNDEFINED = "undefined"  # earlier than the schedule
    DELETED = "deleted"  # the schedule was deleted before the period was due
    OVER = "over"  # the schedule has had its maximum number of runs by then
    EARLIER = "earlier"  # earlier than the present revision, and not left to it


@dataclass(frozen=True, slots=True)
class PeriodReport:
    """Report on one period. Without a run and a gap record, the period has no record yet.

    The report on a run that was requested names the request. Its `period` is the time of the request, unless the run
    repeats a period of the calendar.
    """

    identity: str
    period: Period
    revision: Revision
    decided: bool  # whether the calendar has this period
    due: Due
    run: Run | None
    gap: GapRecord | None
    state: ScheduleState
    action: ScheduleAction | None = None  # pause or deletion that was in force when the period was due
    now: int = 0  # milliseconds: when the report was made
    began: int = 0  # milliseconds: when the schedule was first defined
    shared: bool = True  # whether workers register in this store
    attempts: tuple[Attempt, ...] = ()  # recorded attempts of the run, oldest first; none if it succeeded at once
    dropped_retry: str = ""  # why a failed run was not run again, although its policy allows it
    requested: tuple[Run, ...] = ()  # newest requested runs, if the period has no record
    surplus: bool = False  # more runs come before the upcoming period than the schedule has left

    @property
    def decision(self) -> dict[str, Any] | None:
        """Decision as `record_of` returns it; None if the calendar has no such period."""
        return record_of(self.revision.job, self.period) if self.decided else None

    def lines(self) -> Iterator[str]:
        """Yield the report, line by line."""
        revision = self.revision
        author = f" by {revision.actor}" if revision.actor else ""
        note = f" ({revision.note})" if revision.note else ""
        yield f"revision {revision.number}{author}, {rfc3339(revision.at // 1000)}: {_text_of(revision.job)}{note}"
        yield from self._decision_lines()
        if self.run is not None and self.run.trigger:
            yield f"requested as {self.run.trigger}, {rfc3339_ms(self.run.created)}"
        if self.action is not None:
            yield action_text(self.action)
        yield self.summary()
        yield from self._times()
        if text := self.deadline_text():
            yield text
        for attempt in self.attempts:
            yield attempt_text(attempt, revision.job.target)
        if not self.launchable:
            yield self.unlaunchable_text()
        for run in self.requested:
            yield f"requested as {run.trigger}, {rfc3339_ms(run.created)}: {_run_text(run, '')} Key: {run.key}."

    def _decision_lines(self) -> Iterator[str]:
        """Yield what the calendar decided, if it has this period."""
        decision = self.decision
        if decision is None:
            return
        chosen = decision["chosen_time"] if self.due.schedulable else "none: no second satisfies the constraints"
        yield f"period {self.period.id}: chosen {chosen}" + self._jitter_text()
        missing_time = stands_for(self.revision.job.schedule, self.period.nominal)
        if missing_time is not None:
            yield f"It stands for {missing_time} local time, which the clocks skip."

    def _times(self) -> Iterator[str]:
        """Yield when the run started and finished, if its target has accepted it, or when it would have started."""
        run = self.run
        if run is not None and run.reason is Reason.SHADOW:
            yield f"would have started {rfc3339_ms(run.sent)}"
        if run is not None and run.started is not None:
            end = "not finished" if run.finished is None else f"finished {rfc3339_ms(run.finished)}"
            yield f"started {rfc3339_ms(run.started)}, {end}"

    def deadline_text(self) -> str:
        """Return why a run was launched although it started later than its deadline allows; empty for other runs."""
        run, policy = self.run, self.revision.job.schedule.policy
        if run is None or run.started is None or run.failures or run.trigger or policy.deadline is None:
            return ""
        if run.started <= latest_claim(run.due, policy):
            return ""
        deadline = write_duration(policy.deadline)
        return f"It started later than its deadline of {deadline}, which was met when a worker claimed the run."

    @property
    def launchable(self) -> bool:
        """False if the period still needs a launch, and no living worker can launch its target."""
        has_worker = not self.shared or self.state.downtime.end != EVER
        if self.run is not None:
            return has_worker or self.run.state not in _UNLAUNCHED_STATES or self.run.revision != self.state.revision
        return has_worker or self.absence not in (Absence.COMING, Absence.LATE)

    def unlaunchable_text(self) -> str:
        """Return which worker is missing, for a period that is not launchable."""
        downtime, kind = self.state.downtime, kind_of(self.state.job.target)
        last_alive = (
            "" if downtime == ALWAYS else f" Such a worker was last alive at {rfc3339(downtime.start // 1000)}."
        )
        return f"No living worker can launch {kind!r}, the target of this schedule.{last_alive}"

    def _jitter_text(self) -> str:
        jitter = self.revision.job.schedule.policy.jitter
        return f" (jitter of up to {write_duration(jitter)} before or after)" if jitter else ""

    def summary(self) -> str:
        """Return the outcome and its reason, or why there is no record."""
        if self.run is not None:
            retry = f" Kron did not run it again, because {self.dropped_retry}." if self.dropped_retry else ""
            return _run_text(self.run, self._wait_cause()) + retry
        if self.gap is not None:
            span = f"{self.gap.count} periods from {rfc3339(self.gap.first)} to {rfc3339(self.gap.last)}"
            return f"{self.gap.outcome}: {REASON_TEXT[self.gap.reason]} The period is one of {span}."
        return self._missing_record_text()

    def _wait_cause(self) -> str:
        """Return why a worker did not send the last attempt of a run that waits for its next one; empty if it did."""
        run, last = self.run, self.attempts[-1] if self.attempts else None
        if run is None or last is None or run.state is not State.RETRY or last.number != run.attempt:
            return ""
        return last.excerpt if last.result is AttemptResult.UNSENT else ""

    @property
    def absence(self) -> Absence | None:
        """Why the period has no record; None if it has one."""
        state, nominal = self.state, self.period.nominal
        if self.run is not None or self.gap is not None:
            return None
        if self._is_expected():
            return self._waiting_cause()
        if not has_period(self.revision.job, nominal):
            return Absence.INVALID
        if min(nominal * 1000, self.due.at) < self.began and not responsible(state, self.due):
            return Absence.UNDEFINED
        if state.deleted:
            return Absence.DELETED
        return Absence.OVER if nominal > state.cursor and over_reason(state) else Absence.EARLIER

    def _is_expected(self) -> bool:
        """Return whether a period without a record will have one, or would have one if it were not surplus."""
        state, nominal = self.state, self.period.nominal
        if state.deleted or self.revision.number != state.revision or nominal <= state.cursor or over_reason(state):
            return False
        return has_period(state.job, nominal) and responsible(state, self.due)

    def _waiting_cause(self) -> Absence:
        """Return why a period has no record yet."""
        if self.state.paused and passes_during_pause(self.state, self.due, self.state.paused_until):
            return Absence.PAUSED
        if self.state.policy.suspend:
            return Absence.SUSPENDED
        if self.surplus:
            return Absence.OVER
        return Absence.LATE if self.due.at <= self.now else Absence.COMING

    def _missing_record_text(self) -> str:
        """Return why there is no record."""
        due, until = rfc3339(self.due.at // 1000), self.state.paused_until
        match self.absence:
            case Absence.COMING:
                return f"no record yet: The period is due at {due}."
            case Absence.LATE:
                return f"no record yet: The period was due at {due}, and no worker has handled it yet."
            case Absence.PAUSED:
                return "no record yet: The schedule is paused" + (f" until {rfc3339(until // 1000)}." if until else ".")
            case Absence.SUSPENDED:
                return "no record yet: The schedule is suspended by its policy."
            case _:
                return f"no record: {self._final_text()}"

    def _final_text(self) -> str:
        """Return why there will be no record."""
        state = self.state
        match self.absence:
            case Absence.INVALID:
                return "The period is outside the time in which the schedule is valid."
            case Absence.UNDEFINED:
                defined_at, is_later = rfc3339(self.began // 1000), self.period.nominal * 1000 >= self.began
                due_earlier = f"The period was due before its schedule was defined at {defined_at}."
                earlier = f"The period is earlier than its schedule, which was defined at {defined_at}."
                return due_earlier if is_later else earlier
            case Absence.DELETED:
                return "The schedule was deleted before the period was due."
            case Absence.OVER if self.surplus:
                return "The schedule has its last run before this period."
            case Absence.OVER:
                return _sentence(over_reason(state))
            case _:
                since = rfc3339(state.effective_from // 1000)
                return f"Revision {state.revision} is responsible for periods since {since}, and this one is earlier."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _text_of(job: Job) -> str:
    """Return the source text of a job, and its canonical text if that differs."""
    canonical = unparse(job.schedule)
    if job.source is None or job.source.text == canonical:
        return canonical
    return f"{job.source.text} (canonical: {canonical})"


def action_text(action: ScheduleAction) -> str:
    """Return an action with its actor, its time and its note, such as `paused by ana, 2026-10-20T18:02:00Z: …`."""
    author = f" by {action.actor}" if action.actor else ""
    until = f" until {rfc3339(action.until // 1000)}" if action.until is not None else ""
    return f"{action.kind}{author}, {rfc3339(action.at // 1000)}{until}" + (f": {action.note}" if action.note else "")


def _run_text(run: Run, wait_cause: str) -> str:
    attempts = f" Attempts: {run.attempt}." if run.attempt > 1 or run.unsent else ""
    if run.unsent:
        attempts += f" Withheld by a worker and not sent: {run.unsent}."
    state_text = f"The run is waiting: {wait_cause}." if wait_cause else _STATE_TEXT.get(run.state)
    if run.outcome is None:
        return f"open: {state_text}{attempts}"
    if run.state in _STATE_TEXT:
        return f"{run.outcome}: {state_text}{attempts}" + (f" Reason: {REASON_TEXT[run.reason]}" if run.reason else "")
    return f"{run.outcome}: {REASON_TEXT[run.reason]}" if run.reason else str(run.outcome)
