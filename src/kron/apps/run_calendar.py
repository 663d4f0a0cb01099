"""Run calendar: the upcoming runs of some schedules as iCalendar, for calendar applications."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kron.apps.agenda import make_agenda
from kron.apps.ics import MAX_EVENTS, CalendarEvent, write_calendar
from kron.rules.state import ScheduleState
from kron.timing.key import key_of

MAX_SCHEDULES = 1_000  # schedules whose upcoming runs are searched: the first ones by id
DAYS = 30
DAY_MS = 86_400_000


def run_calendar(states: Sequence[ScheduleState], name_of: Callable[[str], str], now: int, *, has_more: bool) -> str:
    """Return the upcoming runs of the next 30 days, at most 1,000.

    Args:
        states: The schedules.
        name_of: Returns the name that people see, of an identity.
        now: Current time in milliseconds.
        has_more: Whether there are more schedules than these.
    """
    agenda = make_agenda(states, now, now + DAYS * DAY_MS, MAX_EVENTS)
    events = [
        CalendarEvent(run.at // 1000, key_of(run.identity, run.nominal), name_of(run.identity)) for run in agenda.runs
    ]
    bounds = {"events": agenda.has_more, "schedules": has_more, "search": not agenda.complete}
    return write_calendar(events, now // 1000, [name for name, is_reached in bounds.items() if is_reached])
