"""Pauses: pausing and resuming a schedule, and the periods that pass meanwhile.

A pause with an end is ended by the next worker or request that reads the schedule, as of that end.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.errors import InvalidInput
from kron.rules.outcome import GapRecord, Outcome, Reason
from kron.rules.state import ScheduleState
from kron.rules.survey import count_owed, not_owed, unhandled
from kron.rules.update import ActionKind, ScheduleAction, ScheduleUpdate
from kron.timing.due import window_extent
from kron.timing.period import prev_nominal
from kron.timing.schedule.policy import Resume
from kron.timing.zone import rfc3339


class Actor(NamedTuple):
    """Who requests a change, and why. Kept with every change."""

    name: str = ""
    note: str = ""


NO_ACTOR = Actor()


def paused(case: ScheduleState, now: int, until: int | None, actor: Actor) -> ScheduleUpdate | None:
    """Return the update that pauses a schedule; None if it is paused in the same way already.

    Args:
        case: State of the schedule.
        now: Current time in milliseconds.
        until: When the pause ends, in milliseconds; None: when it is resumed.
        actor: Who requests the pause.

    Raises:
        InvalidInput: `until` is not in the future.
    """
    if until is not None and until <= now:
        message = f"pause end {rfc3339(until // 1000)} is in the past"
        raise InvalidInput("PAST", message, hint="use a future time, or omit it to pause until resumed")
    if case.paused and case.paused_until == until and actor == NO_ACTOR:
        return None
    wake = case.next_check_at if until is None or case.next_check_at is None else min(case.next_check_at, until)
    after = case._replace(paused=True, paused_until=until, next_check_at=until if wake is None else wake)
    return ScheduleUpdate(case, after, action=ScheduleAction(ActionKind.PAUSED, now, until, *actor))


def resumed(case: ScheduleState, now: int, actor: Actor) -> ScheduleUpdate | None:
    """Return the update that resumes a schedule; None if it is not paused.

    The policy decides on the periods that passed: they are dropped, or each one is subject to its deadline.
    """
    return _ended(case, now, ScheduleAction(ActionKind.RESUMED, now, None, *actor)) if case.paused else None


def pause_expired_update(case: ScheduleState) -> ScheduleUpdate:
    """Return the update that ends an expired pause.

    A period that is due at the very instant of the end is not part of the pause.
    """
    assert case.paused_until is not None  # noqa: S101  callers check `pause_expired` first
    return _ended(
        case,
        case.paused_until - 1,
        ScheduleAction(ActionKind.RESUMED, case.paused_until, None, "", "the pause expired"),
    )


def _ended(case: ScheduleState, upto: int, act: ScheduleAction) -> ScheduleUpdate:
    dropped = case.policy.resume is Resume.DROP
    gap = periods_during_pause(case, upto, Reason.PAUSED) if dropped else None
    return ScheduleUpdate(case, after_pause(case, upto)._replace(next_check_at=act.at), gap=gap, action=act)


def after_pause(case: ScheduleState, upto: int) -> ScheduleState:
    """Return the state of a schedule whose pause ended. `upto` is the last millisecond of the pause."""
    after = case._replace(paused=False, paused_until=None)
    if case.policy.resume is Resume.BY_DEADLINE:
        return after
    cursor = max(case.cursor, upto // 1000)  # earlier periods are in the gap record, or were never owed
    return after._replace(cursor=cursor, effective_from=upto, owed=frozenset())


def periods_during_pause(case: ScheduleState, upto: int, reason: Reason) -> GapRecord | None:
    """Return the gap record of the periods up to `upto` (milliseconds) that this revision owes and has not recorded."""
    schedule, (_, after) = case.job.schedule, window_extent(case.job)
    last = prev_nominal(schedule, upto // 1000 if case.job.end is None else min(upto // 1000, case.job.end))
    begin = max(case.cursor, case.effective_from // 1000 - max(after, 60) - 1) if case.owed is None else case.cursor
    if last is None or last <= begin:
        return None
    foreign = not_owed(case, begin, last)
    first = next((nominal for nominal in unhandled(case, begin) if nominal not in foreign), None)
    if first is None or first > last:
        return None
    return GapRecord(first, last, count_owed(case, first, last), Outcome.SKIPPED, reason)
