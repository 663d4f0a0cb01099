"""Catch-up: which due periods are handled one by one, and which share one gap record."""

from __future__ import annotations

from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.state import ScheduleState
from kron.rules.survey import MAX_PERIODS_PER_PASS, DueScan, count_owed, scan_due
from kron.timing.due import window_extent
from kron.timing.period import prev_nominal
from kron.timing.schedule.policy import Catchup
from kron.timing.zone import LATEST

_OLDEST_FIRST_POLICIES = (Catchup.ALL, Catchup.SPREAD)
_CATCHUP_POLICIES = (*_OLDEST_FIRST_POLICIES, Catchup.LATEST)  # elsewhere the deadline alone decides, not the job's end
_GAP_REASONS = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.LATEST: Reason.COALESCED}


def catch_up(state: ScheduleState, now: int, *, at_once: bool = False) -> tuple[DueScan, GapRecord | None]:
    """Return the periods to handle in this pass, and the gap record of the older ones, if any.

    If more periods are due than the catch-up limit, the newest are handled and the rest becomes a gap record. Where all
    periods are to run, and for periods that fell due while a worker was alive, the oldest are handled first and the
    rest is left to the next pass. `at_once` means that there is no next pass.
    """
    limit = state.policy.catchup_limit
    scan = scan_due(state, state.cursor, now, limit)
    if not scan.more or (state.policy.catchup in _OLDEST_FIRST_POLICIES and not at_once and not has_ended(state, now)):
        return scan, None
    first, newest_start = scan.due[0].nominal, _start_of_newest(state, now, limit)
    cut = min(newest_start, _end_of_downtime(state, first))
    gap = _gap_record(state, first, cut, now)
    scan_limit = (
        MAX_PERIODS_PER_PASS if cut == newest_start or at_once else limit
    )  # at most the periods that fit into their windows, or one pass
    return scan_due(state, gap.last if gap else state.cursor, now, scan_limit), gap


def _end_of_downtime(state: ScheduleState, first: int) -> int:
    """Return the nominal time before which all periods from `first` on fell due in a downtime; `first` if none did."""
    before, after = window_extent(state.job)
    if (first - before) * 1000 < state.downtime.start:
        return first
    return min(state.downtime.end // 1000 - after, LATEST)


def has_ended(state: ScheduleState, now: int) -> bool:
    """Return whether periods are not caught up because the validity of the job has ended."""
    return state.job.end is not None and now // 1000 > state.job.end and state.policy.catchup in _CATCHUP_POLICIES


def _start_of_newest(state: ScheduleState, now: int, count: int) -> int:
    """Return the nominal time from which there are `count` periods up to now; later if one may not be due yet."""
    before, after = window_extent(state.job)
    t = now // 1000 + before
    t = t if state.job.end is None else min(t, state.job.end)
    for _ in range(count):
        nominal = prev_nominal(state.job.schedule, t)
        if nominal is None or nominal <= state.cursor:
            return state.cursor + 1
        t = nominal - 1
    return min(t + 1, now // 1000 - after)


def _gap_record(state: ScheduleState, first: int, cut: int, now: int) -> GapRecord | None:
    """Return the gap record of the unrecorded periods from `first` to before `cut`; None if there are none."""
    last = prev_nominal(state.job.schedule, cut - 1)
    if last is None or last < first:
        return None
    count = count_owed(state, first, last)
    reason = Reason.ENDED if has_ended(state, now) else _GAP_REASONS.get(state.policy.catchup, Reason.REPLAY_BOUND)
    return GapRecord(first, last, count, Outcome.MISSED, reason) if count else None
