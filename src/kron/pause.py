"""Pauses: what becomes of a schedule when somebody stops it for a while, and of the periods that pass meanwhile.

A pause that says when it ends is ended by whoever looks at the schedule next, as of that instant.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.core.case import Case
from kron.core.due import count_owed, not_owed, reach, unhandled
from kron.core.outcome import Gap, Reason, Verdict
from kron.core.period import prev_nominal
from kron.core.policy import Resume
from kron.core.zone import rfc3339
from kron.errors import KronError
from kron.store import Act, Deed, Settlement


class Asker(NamedTuple):
    """Who asks, and why: kept with every change."""

    who: str = ""
    note: str = ""


NOBODY = Asker()


def paused(case: Case, now: int, until: int | None, asker: Asker) -> Settlement | None:
    """A schedule that handles no period until then, or until it is resumed; None if it is so already."""
    if until is not None and until <= now:
        message = f"a pause until {rfc3339(until // 1000)} would be over already"
        raise KronError("PAST", message, hint="give a time to come, or none for a pause that somebody is to end")
    if case.paused and case.until == until and asker == NOBODY:
        return None
    wake = case.wake if until is None or case.wake is None else min(case.wake, until)
    after = case._replace(paused=True, until=until, wake=until if wake is None else wake)
    return Settlement(case, after, act=Act(Deed.PAUSED, now, until, *asker))


def resumed(case: Case, now: int, asker: Asker) -> Settlement | None:
    """A schedule that goes on; what passed meanwhile is dropped, or judged by its deadline. None if it does already."""
    return _ended(case, now, Act(Deed.RESUMED, now, None, *asker)) if case.paused else None


def awoken(case: Case) -> Settlement:
    """A schedule whose pause has ended by itself. What falls due at that very instant is no part of the pause."""
    assert case.until is not None  # noqa: S101  it is asked of cases that awake
    return _ended(case, case.until - 1, Act(Deed.RESUMED, case.until, None, "", "its pause was until then"))


def _ended(case: Case, upto: int, act: Act) -> Settlement:
    after = case._replace(paused=False, until=None, wake=act.at)
    if case.policy.resume is Resume.BY_DEADLINE:
        return Settlement(case, after, act=act)
    gap = swallowed(case, upto, Reason.PAUSED)
    cursor = max(case.cursor, upto // 1000)  # what lies before is in the gap, or was never owed
    return Settlement(case, after._replace(cursor=cursor, since=upto, owed=frozenset()), gap=gap, act=act)


def swallowed(case: Case, upto: int, reason: Reason) -> Gap | None:
    """Return the gap record of the periods up to `upto` (milliseconds) that this revision owes and has not recorded."""
    schedule, (_, after) = case.job.schedule, reach(case.job)
    last = prev_nominal(schedule, upto // 1000 if case.job.end is None else min(upto // 1000, case.job.end))
    begin = max(case.cursor, case.since // 1000 - max(after, 60) - 1) if case.owed is None else case.cursor
    if last is None or last <= begin:
        return None
    foreign = not_owed(case, begin, last)
    first = next((nominal for nominal in unhandled(case, begin) if nominal not in foreign), None)
    if first is None or first > last:
        return None
    return Gap(first, last, count_owed(case, first, last), Verdict.SKIPPED, reason)
