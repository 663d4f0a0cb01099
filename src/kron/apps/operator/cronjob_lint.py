"""Findings about CronJobs: what the CronJob controller does with them that is rarely intended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kron.errors import Place
from kron.language.finding import Finding
from kron.language.lint import clock_change_findings
from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.zone import DAY

MAX_MISSED = 100  # missed times after which the CronJob controller stops or warns, by its version
MIN_DEADLINE = 10  # seconds between two passes of the CronJob controller


def findings(text: str, schedule: Schedule, deadline: int | None, now: int) -> Iterator[Finding]:
    """Yield the findings about a CronJob.

    Args:
        text: Its schedule as written.
        schedule: Its schedule.
        deadline: Its `startingDeadlineSeconds`; None if it has none.
        now: Instant after which clock changes and times are searched, in seconds since the epoch.
    """
    place = Place(text, 0, len(text))
    yield from clock_change_findings(schedule, now)
    span = DAY if deadline is None else min(deadline, DAY)
    if len(list(islice(nominals(schedule, now, now + span), MAX_MISSED + 1))) > MAX_MISSED:
        yield _many_missed(place)
    if deadline is not None and deadline < MIN_DEADLINE:
        yield _short_deadline(deadline, place)


def _many_missed(place: Place) -> Finding:
    message = f"an outage of a day makes it miss more than {MAX_MISSED} times: some Kubernetes versions then stop it"
    return Finding("warning", "MANY_MISSED", message, place, "nothing is needed: a KronJob starts the newest time")


def _short_deadline(deadline: int, place: Place) -> Finding:
    message = f"startingDeadlineSeconds is {deadline}, and the CronJob controller can look only every {MIN_DEADLINE} s"
    return Finding("warning", "SHORT_DEADLINE", message, place, "use a longer deadline, such as 5m")
