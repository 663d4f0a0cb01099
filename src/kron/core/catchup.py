"""Catching up: which of the periods that have fallen due are looked at one by one, and which are one gap."""

from __future__ import annotations

from kron.core.case import Case
from kron.core.count import count_nominals
from kron.core.due import Survey, reach, survey
from kron.core.outcome import Gap, Reason, Verdict
from kron.core.period import prev_nominal
from kron.core.policy import Catchup

_OLDEST_FIRST = (Catchup.ALL, Catchup.SPREAD)
_WHY = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.LATEST: Reason.COALESCED}


def catch_up(case: Case, now: int) -> tuple[Survey, Gap | None]:
    """The periods to be judged in this pass. Of a longer tail the newest are kept, and the rest is a gap."""
    bound = case.policy.bound
    seen = survey(case, case.cursor, now, bound)
    if not seen.more or case.policy.catchup in _OLDEST_FIRST:
        return seen, None
    cut = _newest(case, now, bound)
    gap = _gap(case, seen.due[0].nominal, cut)
    if gap is None:
        return survey(case, case.cursor, now, bound + _overlapping(case)), None
    return survey(case, gap.last, now, bound + _overlapping(case)), gap


def _newest(case: Case, now: int, count: int) -> int:
    """The nominal time from which on there are `count` periods till now, or later where one may not be due yet."""
    before, after = reach(case.job)
    t = now // 1000 + before
    for _ in range(count):
        nominal = prev_nominal(case.job.schedule, t)
        if nominal is None or nominal <= case.cursor:
            return case.cursor + 1
        t = nominal - 1
    return min(t + 1, now // 1000 - after)


def _overlapping(case: Case) -> int:
    """How many periods at most may be waiting for their chosen times at once."""
    before, after = reach(case.job)
    if not before + after:
        return 0
    return count_nominals(case.job.schedule, case.cursor, case.cursor + before + after + 1)


def _gap(case: Case, first: int, cut: int) -> Gap | None:
    """The periods from `first` to before the cut that have no record of their own."""
    last = prev_nominal(case.job.schedule, cut - 1)
    if last is None or last < first:
        return None
    handled = sum(first <= nominal <= last for nominal in case.ahead)
    count = count_nominals(case.job.schedule, first - 1, last) - handled
    reason = _WHY.get(case.policy.catchup, Reason.REPLAY_BOUND)
    return Gap(first, last, count, Verdict.MISSED, reason) if count else None
