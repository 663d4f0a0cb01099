"""Catch-up: which due periods are handled one by one, and which share one gap record."""

from __future__ import annotations

from kron.rules.outcome import GapRecord, Outcome, Reason
from kron.rules.state import ScheduleState
from kron.rules.survey import MAX_PERIODS_PER_PASS, DueScan, count_owed, scan_due
from kron.timing.due import window_extent
from kron.timing.period import prev_nominal
from kron.timing.schedule.policy import Catchup
from kron.timing.zone import LATEST

_OLDEST_FIRST = (Catchup.ALL, Catchup.SPREAD)
_CATCHING_UP = (*_OLDEST_FIRST, Catchup.LATEST)  # elsewhere the deadline alone decides, not the job's end
_WHY = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.LATEST: Reason.COALESCED}


def catch_up(case: ScheduleState, now: int, *, at_once: bool = False) -> tuple[DueScan, GapRecord | None]:
    """Return the periods to handle in this pass, and the gap record of the older ones, if any.

    If more periods are due than the catch-up limit, the newest are handled and the rest becomes a gap record. Where all
    periods are to run, and for periods that fell due while a worker was alive, the oldest are handled first and the
    rest is left to the next pass. `at_once` means that there is no next pass.
    """
    bound = case.policy.catchup_limit
    seen = scan_due(case, case.cursor, now, bound)
    if not seen.more or (case.policy.catchup in _OLDEST_FIRST and not at_once and not has_ended(case, now)):
        return seen, None
    first, newest = seen.due[0].nominal, _newest(case, now, bound)
    cut = min(newest, _end_of_downtime(case, first))
    gap = _gap(case, first, cut, now)
    most = (
        MAX_PERIODS_PER_PASS if cut == newest or at_once else bound
    )  # at most the periods that fit into their windows, or one pass
    return scan_due(case, gap.last if gap else case.cursor, now, most), gap


def _end_of_downtime(case: ScheduleState, first: int) -> int:
    """Return the nominal time before which all periods from `first` on fell due in a downtime; `first` if none did."""
    before, after = window_extent(case.job)
    if (first - before) * 1000 < case.downtime.start:
        return first
    return min(case.downtime.end // 1000 - after, LATEST)


def has_ended(case: ScheduleState, now: int) -> bool:
    """Return whether periods are not caught up because the validity of the job has ended."""
    return case.job.end is not None and now // 1000 > case.job.end and case.policy.catchup in _CATCHING_UP


def _newest(case: ScheduleState, now: int, count: int) -> int:
    """Return the nominal time from which there are `count` periods up to now; later if one may not be due yet."""
    before, after = window_extent(case.job)
    t = now // 1000 + before
    t = t if case.job.end is None else min(t, case.job.end)
    for _ in range(count):
        nominal = prev_nominal(case.job.schedule, t)
        if nominal is None or nominal <= case.cursor:
            return case.cursor + 1
        t = nominal - 1
    return min(t + 1, now // 1000 - after)


def _gap(case: ScheduleState, first: int, cut: int, now: int) -> GapRecord | None:
    """Return the gap record of the unrecorded periods from `first` to before `cut`; None if there are none."""
    last = prev_nominal(case.job.schedule, cut - 1)
    if last is None or last < first:
        return None
    count = count_owed(case, first, last)
    reason = Reason.ENDED if has_ended(case, now) else _WHY.get(case.policy.catchup, Reason.REPLAY_BOUND)
    return GapRecord(first, last, count, Outcome.MISSED, reason) if count else None
