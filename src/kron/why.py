"""Why did it run, or not? The account of one period: which revision decided, what was decided, what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kron.core.case import Case
from kron.core.downtime import ALWAYS, EVER
from kron.core.due import Due, due_of, has_period, responsible
from kron.core.job import Job
from kron.core.outcome import WORDS, Gap
from kron.core.period import Period, next_nominal, prev_nominal
from kron.core.run import Run, State, key_of
from kron.core.zone import rfc3339
from kron.errors import KronError
from kron.fleet import kind_of
from kron.language.duration import write_duration
from kron.language.explain import unparse
from kron.language.record import record_of
from kron.store import Act, Deed, Revision, Store

NEWEST = 10_000  # records looked at

_STATES = {
    State.PENDING: "it is due, and waits its turn",
    State.LAUNCHING: "it is being started",
    State.RETRY: "starting it failed, or nobody knows; it will be tried again",
    State.ENQUEUED: "its target has it, and has not said that it ended",
    State.STARTED: "it is running",
    State.WAITING: "it failed, and will run again",
    State.SUCCESS: "it succeeded",
    State.FAILED: "it failed",
    State.CANCELLED: "it was cancelled",
    State.LOST: "it fell silent, and is taken for lost",
    State.UNKNOWN: "nobody knows whether it arrived",
}
_TO_LAUNCH = frozenset({State.PENDING, State.RETRY, State.WAITING})


@dataclass(frozen=True, slots=True)
class Account:
    """All that is to be said of one period. Without a run and a gap, nothing has become of it yet."""

    identity: str
    period: Period
    revision: Revision
    decision: dict[str, Any]  # as `record_of` gives it
    due: Due
    run: Run | None
    gap: Gap | None
    case: Case
    act: Act | None = None  # the pause or the deletion that was in force when it was due
    now: int = 0  # milliseconds: when the question was asked
    began: int = 0  # and when the schedule was first defined
    shared: bool = True  # whether workers say in this store that they live

    def words(self) -> Iterator[str]:
        """The account, sentence by sentence."""
        r = self.revision
        made = f" by {r.who}" if r.who else ""
        note = f" ({r.note})" if r.note else ""
        yield f"revision {r.number}{made}, {rfc3339(r.at // 1000)}: {unparse(r.job.schedule)}{note}"
        chosen = self.decision["chosen_time"] if self.due.schedulable else "no second that the constraints admit"
        yield f"period {self.period.id}: chosen {chosen}" + self._jitter()
        if self.act is not None:
            yield _of_act(self.act)
        yield self.ending()
        if not self.launchable:
            yield self._unlaunchable()

    @property
    def launchable(self) -> bool:
        """False if something is still to become of the period, and no living worker can launch its target."""
        served = not self.shared or self.case.downtime.end != EVER
        if self.run is not None:
            return served or self.run.state not in _TO_LAUNCH or self.run.revision != self.case.revision
        return served or self.gap is not None or not self._expected() or self._resting() != ""

    def _unlaunchable(self) -> str:
        downtime, kind = self.case.downtime, kind_of(self.case.job.target)
        last = "" if downtime == ALWAYS else f"; the last one was heard of at {rfc3339(downtime.start // 1000)}"
        return f"no living worker can launch {kind!r}, the target of this schedule{last}"

    def _jitter(self) -> str:
        jitter = self.revision.job.schedule.policy.jitter
        return f" (jitter of up to {write_duration(jitter)} before or after)" if jitter else ""

    def ending(self) -> str:
        """What became of it, in one sentence."""
        if self.run is not None:
            return _of_run(self.run)
        if self.gap is not None:
            span = f"one of {self.gap.count} periods from {rfc3339(self.gap.first)} to {rfc3339(self.gap.last)}"
            return f"{self.gap.verdict}: {WORDS[self.gap.reason]}; {span}"
        return self._nothing()

    def _nothing(self) -> str:
        """Why there is no record, in one sentence."""
        case, nominal, made = self.case, self.period.nominal, rfc3339(self.case.since // 1000)
        if self._expected():
            return f"nothing yet: {self._waiting()}"
        if not has_period(self.revision.job, nominal):
            return "nothing: the period lies outside the time in which its schedule is valid"
        if nominal * 1000 < self.began and not responsible(case, self.due):
            return (
                f"nothing: the period is earlier than its schedule, which was defined at {rfc3339(self.began // 1000)}"
            )
        if case.deleted:
            return "nothing: the schedule was deleted before the period was due"
        return f"nothing: the period is earlier than what revision {case.revision} answers for, since {made}"

    def _expected(self) -> bool:
        """Whether a period without a record will have one."""
        case, nominal = self.case, self.period.nominal
        if case.deleted or self.revision.number != case.revision or nominal <= case.cursor:
            return False
        return has_period(case.job, nominal) and responsible(case, self.due)

    def _waiting(self) -> str:
        due = rfc3339(self.due.at // 1000)
        if self.due.at <= self.now:
            return self._resting() or f"it was due at {due}, and no worker has handled it so far"
        return self._resting() or f"it falls due at {due}"

    def _resting(self) -> str:
        """Why no worker will handle it for now; empty if one will."""
        case = self.case
        if case.paused and not case.awakes(self.due.at):
            return "the schedule is paused" + (f" until {rfc3339(case.until // 1000)}" if case.until else "")
        return "the schedule is suspended by its policy" if case.policy.suspend else ""


async def why(store: Store, identity: str, at: int, *, shared: bool = True) -> Account:
    """The account of the last period up to an instant (milliseconds), or of the first one if there is none.

    `shared` is whether workers register in this store; a worker that has it to itself does not.
    """
    (case,), now = await store.get_now([identity])
    if case is None:
        raise KronError("NOT_FOUND", f"there is no schedule {identity!r}", hint="name a schedule of this store")
    history = await store.revisions(identity)
    in_force = _revision(history, None, at)
    period = _period(in_force.job, at)
    run = await _run(store, identity, period.nominal)
    gap = next((g for g in await store.gaps(identity) if run is None and g.first <= period.nominal <= g.last), None)
    revision = _revision(history, run, at)
    if run is None and period.nominal in (case.owed or ()) and period.nominal > case.cursor:
        revision = history[-1]  # an edit has handed it over
    due = due_of(revision.job, period.nominal)
    act = _standing(await store.acts(identity), history, due.at)
    decision, began = record_of(revision.job, period), history[0].at
    return Account(identity, period, revision, decision, due, run, gap, case, act, now, began, shared)


async def _run(store: Store, identity: str, nominal: int) -> Run | None:
    """The run of a period, or the first that somebody asked for."""
    (run,) = await store.find([key_of(identity, nominal)])
    if run is None:
        asked = [run for run in await store.runs(identity, NEWEST) if run.nominal == nominal]
        run = min(asked, key=lambda run: run.trigger, default=None)
    return run


def _period(job: Job, at: int) -> Period:
    schedule = job.schedule
    nominal = prev_nominal(schedule, at // 1000)
    if nominal is None:
        nominal = next_nominal(schedule, at // 1000)
    if nominal is None:
        raise KronError("NEVER", "this never runs: no month has such a day", hint="choose a day that exists")
    return Period(nominal)


def _revision(history: list[Revision], run: Run | None, at: int) -> Revision:
    """The revision that the run was recorded under, or else the one in force at that instant."""
    if run is not None:
        return next(r for r in history if r.number == run.revision)
    return next((r for r in reversed(history) if r.at <= at), history[0])


def _standing(acts: list[Act], history: list[Revision], at: int) -> Act | None:
    """The pause or the deletion that was in force at that instant."""
    last = next((act for act in reversed(acts) if act.at <= at), None)
    if last is None or last.deed is Deed.RESUMED or (last.until is not None and last.until <= at):
        return None
    defined_again = last.deed is Deed.DELETED and any(last.at < revision.at <= at for revision in history)
    return None if defined_again else last


def _of_act(act: Act) -> str:
    by = f" by {act.who}" if act.who else ""
    until = f" until {rfc3339(act.until // 1000)}" if act.until is not None else ""
    return f"{act.deed}{by}, {rfc3339(act.at // 1000)}{until}" + (f": {act.note}" if act.note else "")


def _of_run(run: Run) -> str:
    tries = f", attempt {run.attempt}" if run.attempt > 1 or run.unsent else ""
    if run.unsent:
        tries += f" ({run.unsent} withheld by a worker, not sent)"
    if run.verdict is None:
        return f"open: {_STATES[run.state]}{tries}"
    if run.state in _STATES:
        return f"{run.verdict}: {_STATES[run.state]}{tries}" + (f" ({WORDS[run.reason]})" if run.reason else "")
    return f"{run.verdict}: {WORDS[run.reason]}" if run.reason else str(run.verdict)
