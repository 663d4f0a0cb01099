"""The decisions that are still to come, in the order in which they run."""

from __future__ import annotations

from bisect import insort
from itertools import islice

from kron.apps.cli.subject import Subject
from kron.core.decision import Decision, decide
from kron.core.period import periods
from kron.core.schedule.window import SECOND
from kron.core.zone import moment
from kron.errors import KronError

MOST = 20_000  # periods looked at


def coming(subject: Subject, start: int, count: int) -> list[Decision]:
    """The next runs after an instant. A period whose nominal time is past may still be among them."""
    schedule, found = subject.schedule, list[Decision]()
    reach = schedule.window.at(0).end // SECOND + 1  # how long after its nominal time a period may run
    for period in islice(periods(schedule, moment(start - reach)), MOST):
        if len(found) >= count and schedule.window.at(period.nominal).first > when(found[count - 1]):
            break  # nothing later can run before these
        decision = decide(schedule, period, subject.identity)
        if when(decision) > start:
            insort(found, decision, key=when)
    if not found:
        raise KronError("NEVER", "this never runs: no month has such a day", hint="choose a day that exists")
    return found[:count]


def when(decision: Decision) -> int:
    """When the period runs or, if it cannot, when it would have."""
    return decision.period.nominal if decision.at is None else decision.at
