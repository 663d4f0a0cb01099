"""Upcoming decisions, in the order in which they run."""

from __future__ import annotations

from bisect import insort
from itertools import islice

from kron.apps.cli.inputs import Subject
from kron.errors import KronError
from kron.timing.decision import Decision, decide
from kron.timing.period import periods
from kron.timing.schedule.window import SECOND
from kron.timing.zone import moment

MOST = 20_000  # maximum number of periods that are examined


def coming(subject: Subject, start: int, count: int) -> list[Decision]:
    """Return the next `count` runs after `start`, in seconds since the epoch.

    A period whose nominal time has passed can be among them, because its window can reach past `start`.

    Raises:
        KronError: `NEVER`, if no upcoming period exists.
    """
    schedule, found = subject.schedule, list[Decision]()
    reach = schedule.window.at(0).end // SECOND + 1  # maximum seconds between a period's nominal time and its run
    for period in islice(periods(schedule, moment(start - reach)), MOST):
        if len(found) >= count and schedule.window.at(period.nominal).first > when(found[count - 1]):
            break  # no later period can run before the runs found so far
        decision = decide(schedule, period, subject.identity)
        if when(decision) > start:
            insort(found, decision, key=when)
    if not found:
        raise KronError("NEVER", "the schedule never runs: no month has such a day", hint="choose a day that exists")
    return found[:count]


def when(decision: Decision) -> int:
    """Return the chosen time of a period, or its nominal time if it is unschedulable."""
    return decision.period.nominal if decision.chosen is None else decision.chosen
