"""Catching up: which of the periods that have fallen due are looked at one by one, and which are one gap."""

from __future__ import annotations

from kron.core.case import Case
from kron.core.due import MOST, Survey, count_owed, reach, survey
from kron.core.outcome import Gap, Reason, Verdict
from kron.core.period import prev_nominal
from kron.core.policy import Catchup
from kron.core.zone import LATEST

_OLDEST_FIRST = (Catchup.ALL, Catchup.SPREAD)
_CATCHING_UP = (*_OLDEST_FIRST, Catchup.LATEST)  # where the deadline alone decides, the end does not
_WHY = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.LATEST: Reason.COALESCED}


def catch_up(case: Case, now: int, *, at_once: bool = False) -> tuple[Survey, Gap | None]:
    """The periods to be judged in this pass. Of a longer tail the newest are kept, and the rest is a gap.

    Where all are to run, and where a worker lived when they fell due, the oldest are taken, and the rest is left to the
    next pass: unless there is none.
    """
    bound = case.policy.bound
    seen = survey(case, case.cursor, now, bound)
    if not seen.more or (case.policy.catchup in _OLDEST_FIRST and not at_once and not has_ended(case, now)):
        return seen, None
    first, newest = seen.due[0].nominal, _newest(case, now, bound)
    cut = min(newest, _end_of_downtime(case, first))
    gap = _gap(case, first, cut, now)
    most = MOST if cut == newest or at_once else bound  # no more than fit into their windows, or than one pass takes
    return survey(case, gap.last if gap else case.cursor, now, most), gap


def _end_of_downtime(case: Case, first: int) -> int:
    """The nominal time before which all periods from `first` on fell due while no worker lived; `first` if none did."""
    before, after = reach(case.job)
    if (first - before) * 1000 < case.downtime.start:
        return first
    return min(case.downtime.end // 1000 - after, LATEST)


def has_ended(case: Case, now: int) -> bool:
    """Whether what would be caught up is not, since the validity of the job is over."""
    return case.job.end is not None and now // 1000 > case.job.end and case.policy.catchup in _CATCHING_UP


def _newest(case: Case, now: int, count: int) -> int:
    """The nominal time from which on there are `count` periods till now, or later where one may not be due yet."""
    before, after = reach(case.job)
    t = now // 1000 + before
    t = t if case.job.end is None else min(t, case.job.end)
    for _ in range(count):
        nominal = prev_nominal(case.job.schedule, t)
        if nominal is None or nominal <= case.cursor:
            return case.cursor + 1
        t = nominal - 1
    return min(t + 1, now // 1000 - after)


def _gap(case: Case, first: int, cut: int, now: int) -> Gap | None:
    """The periods from `first` to before the cut that have no record of their own."""
    last = prev_nominal(case.job.schedule, cut - 1)
    if last is None or last < first:
        return None
    count = count_owed(case, first, last)
    reason = Reason.ENDED if has_ended(case, now) else _WHY.get(case.policy.catchup, Reason.REPLAY_BOUND)
    return Gap(first, last, count, Verdict.MISSED, reason) if count else None
