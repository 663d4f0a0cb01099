"""Findings about what the plus dialect adds: days without holidays, drifting intervals, schedules that are over."""

from __future__ import annotations

from collections.abc import Iterator

from kron.errors import Place
from kron.language.finding import Finding
from kron.timing.period import next_nominal, prev_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.head import Every
from kron.timing.schedule.terms import PLAIN
from kron.timing.zone import DAY, rfc3339

_DRIFT_DAYS = 366  # how far ahead the next clock change is searched


def find_in_plus(text: str, schedule: Schedule, now: int) -> Iterator[Finding]:
    """Yield the findings about days, intervals and validity."""
    place, head = Place(text, 0, len(text)), schedule.cron
    if isinstance(head, DayCron) and (head.rule.near or head.rule.last_weekday):
        message = "W counts Monday to Friday, and knows no public holidays"
        hint = "exclude the holidays that matter with @avoid(date=...)"
        yield Finding("note", "NO_HOLIDAYS", message, place, hint)
    if isinstance(head, Every) and head.seconds % DAY == 0 and schedule.zone.fixed is None:
        shift = next(schedule.zone.shifts(now, now + _DRIFT_DAYS * DAY), None)
        if shift is not None:
            date = schedule.zone.wall(shift.at).date.text
            message = f"elapsed time drifts against the clock on the wall: in {schedule.zone.name} first on {date}"
            hint = f"count days on the calendar: 0 9 * * * @days(every={head.seconds // DAY}d,from=2026-01-05)"
            yield Finding("note", "DRIFT", message, place, hint)
    if schedule.terms != PLAIN and next_nominal(schedule, now) is None:
        last = prev_nominal(schedule, now)
        ended = "" if last is None else f": its last period was {rfc3339(last)}"
        yield Finding("warning", "OVER", f"the schedule is over{ended}", place, "write later moments")
