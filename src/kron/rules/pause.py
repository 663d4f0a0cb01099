"""Pauses: pausing and resuming a schedule, and the periods that pass meanwhile.

A pause with an end is ended by the next worker or request that reads the schedule, as of that end.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import NamedTuple

from kron.errors import InvalidInput
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import skipped_run
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.survey import MAX_PERIODS_PER_PASS, count_owed, not_owed, responsible, unhandled
from kron.rules.update import ScheduleUpdate
from kron.timing.due import Due, due_of, window_extent
from kron.timing.period import prev_nominal
from kron.timing.schedule.policy import Resume
from kron.timing.zone import rfc3339


class Actor(NamedTuple):
    """Who requests a change, and why. Kept with every change."""

    name: str = ""
    note: str = ""


NO_ACTOR = Actor()


def paused(state: ScheduleState, now: int, until: int | None, actor: Actor) -> ScheduleUpdate | None:
    """Return the update that pauses a schedule; None if it is paused in the same way already.

    Args:
        state: State of the schedule.
        now: Current time in milliseconds.
        until: When the pause ends, in milliseconds; None: when it is resumed.
        actor: Who requests the pause.

    Raises:
        InvalidInput: `until` is not in the future.
    """
    check_pause_end(until, now)
    if state.paused and state.paused_until == until and actor == NO_ACTOR:
        return None
    check_at = state.next_check_at if until is None or state.next_check_at is None else min(state.next_check_at, until)
    after = state._replace(paused=True, paused_until=until, next_check_at=until if check_at is None else check_at)
    return ScheduleUpdate(state, after, action=ScheduleAction(ActionKind.PAUSED, now, until, *actor))


def check_pause_end(until: int | None, now: int) -> None:
    """Raise an error if the end of a pause (milliseconds) is not in the future.

    Raises:
        InvalidInput: It is not.
    """
    if until is not None and until <= now:
        message = f"pause end {rfc3339(until // 1000)} is in the past"
        raise InvalidInput("PAST", message, hint="use a future time, or omit it to pause until resumed")


def resumed(state: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate | None:
    """Return the update that resumes a schedule; None if it is not paused.

    The policy decides on the periods that passed: they are dropped, or each one is subject to its deadline.
    """
    return _pause_ended(state, now, ScheduleAction(ActionKind.RESUMED, now, None, *actor)) if state.paused else None


def pause_expired_update(state: ScheduleState) -> ScheduleUpdate:
    """Return the update that ends an expired pause.

    A period that is due at the very instant of the end is not part of the pause.
    """
    assert state.paused_until is not None  # noqa: S101  callers check `pause_expired` first
    return _pause_ended(
        state,
        state.paused_until - 1,
        ScheduleAction(ActionKind.RESUMED, state.paused_until, None, "", "the pause expired"),
    )


def _pause_ended(state: ScheduleState, upto: int, action: ScheduleAction) -> ScheduleUpdate:
    dropped = state.policy.resume is Resume.DROP
    gap = periods_during_pause(state, upto, Reason.PAUSED) if dropped else None
    early_runs = early_runs_during_pause(state, upto, action.at, Reason.PAUSED) if dropped else ()
    after = after_pause(state, upto)._replace(next_check_at=action.at)
    return ScheduleUpdate(state, after, early_runs, gap=gap, action=action)


def after_pause(state: ScheduleState, upto: int) -> ScheduleState:
    """Return the state of a schedule whose pause ended. `upto` is the last millisecond of the pause."""
    after = state._replace(paused=False, paused_until=None, failure_count=0)
    if state.policy.resume is Resume.BY_DEADLINE:
        return after
    cursor = max(state.cursor, upto // 1000)  # earlier periods are in the gap record, or were never owed
    return after._replace(cursor=cursor, effective_from=upto, owed=frozenset())


def passes_during_pause(state: ScheduleState, due: Due, until: int | None) -> bool:
    """Return whether a period passes during a pause that ends at `until` (milliseconds; None: not yet known).

    A pause that drops periods looks at their nominal times: it also drops a period whose window reaches beyond its end.
    """
    if until is None or due.at < until:
        return True
    return state.policy.resume is Resume.DROP and due.nominal * 1000 < until


def periods_during_pause(state: ScheduleState, upto: int, reason: Reason) -> GapRecord | None:
    """Return the gap record of the periods up to `upto` (milliseconds) that this revision owes and has not recorded."""
    schedule, (_, after) = state.job.schedule, window_extent(state.job)
    last = prev_nominal(schedule, upto // 1000 if state.job.end is None else min(upto // 1000, state.job.end))
    begin = max(state.cursor, state.effective_from // 1000 - max(after, 60) - 1) if state.owed is None else state.cursor
    if last is None or last <= begin:
        return None
    not_owed_nominals = not_owed(state, begin, last)
    first = next((nominal for nominal in unhandled(state, begin) if nominal not in not_owed_nominals), None)
    if first is None or first > last:
        return None
    return GapRecord(first, last, count_owed(state, first, last), Outcome.SKIPPED, reason)


def early_runs_during_pause(state: ScheduleState, upto: int, now: int, reason: Reason) -> tuple[Run, ...]:
    """Return the skipped runs of the periods that fell due up to `upto` (milliseconds) before their nominal times.

    Their nominal times are later than `upto`, so that no gap record covers them. A period that no second satisfies is
    left out: it is recorded as such after the pause.
    """
    last = upto // 1000 + window_extent(state.job)[0]
    later = islice(unhandled(state, max(state.cursor, upto // 1000)), MAX_PERIODS_PER_PASS)
    dues = (due_of(state.job, nominal) for nominal in takewhile(lambda nominal: nominal <= last, later))
    early_dues = [due for due in dues if due.schedulable and due.at <= upto and responsible(state, due)]
    return tuple(skipped_run(state, due, now, reason) for due in early_dues)
