"""Calendar facts: local hours of schedules by zone, and the coming days of schedules that run at most monthly."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming
from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import HOURS, MONTH_DAYS, WEEK, YEAR, Cron
from kron.timing.zone import DAY, Zone

RARE_DAYS = 62  # days in which a schedule that runs at most monthly has at most MAX_RARE_PERIODS periods
MAX_RARE_PERIODS = 2
CLOCK_CHANGE_DAYS = 60
MAX_ZONES = 200  # zones that are told apart in a scope: the first ones
MAX_RUNS_OF_DAY = 10  # runs of a day that are kept with their names: the earliest
MAX_NAME_LENGTH = 200  # characters; runs of schedules with longer identities are counted without their names
MAX_STEPS = 50  # steps of the search for the runs of one schedule


class ZoneHours(NamedTuple):
    """Schedules that run at fixed local hours of a zone whose clocks change."""

    zone: str
    schedules: int
    hours: tuple[int, ...]  # how many of them can run in each of the 24 hours


class RareRun(NamedTuple):
    """Coming run of a schedule that runs at most monthly."""

    at: int  # milliseconds
    identity: str


class RareDay(NamedTuple):
    """Such runs of one day in UTC."""

    day: int  # days since 1970
    total: int
    runs: tuple[RareRun, ...]  # the earliest


class CalendarFacts(NamedTuple):
    """Facts about the schedules of a scope."""

    zones: tuple[ZoneHours, ...]
    days: tuple[RareDay, ...]
    written: int  # milliseconds


class ClockChange(NamedTuple):
    """Next clock change of a zone.

    Attributes:
        zone: The zone.
        at: When the clocks change, in seconds.
        shift: By how many seconds they go forward; negative: back.
        schedules: How many schedules run at fixed local hours of the zone.
        inside: How many of them can run in an hour that is left out or repeated, in whole or in part.
    """

    zone: str
    at: int
    shift: int
    schedules: int
    inside: int


class CalendarTable:
    """Collects the facts of a scope, schedule by schedule."""

    def __init__(self) -> None:
        self.zones: dict[str, list[int]] = {}  # zone -> number of schedules, then by hour
        self.counts: dict[int, int] = {}  # day -> runs
        self.runs: dict[int, list[RareRun]] = {}

    def add(self, zone: str, hours: int, runs: list[RareRun]) -> None:
        """Add a schedule: its fixed local hours as a bit set, 0 if it has none, and its rare runs."""
        if hours and (zone in self.zones or len(self.zones) < MAX_ZONES):
            counts = self.zones.setdefault(zone, [0] * 25)
            counts[0] += 1
            for hour in range(24):
                counts[hour + 1] += hours >> hour & 1
        for run in runs:
            day = run.at // (DAY * 1000)
            self.counts[day] = self.counts.get(day, 0) + 1
            if len(run.identity) <= MAX_NAME_LENGTH:
                kept = self.runs.setdefault(day, [])
                insort(kept, run)
                del kept[MAX_RUNS_OF_DAY:]

    def facts(self, written: int) -> CalendarFacts:
        """Return the facts; `written` is in milliseconds."""
        zones = (ZoneHours(zone, total, tuple(hours)) for zone, (total, *hours) in sorted(self.zones.items()))
        days = (RareDay(day, count, tuple(self.runs.get(day, ()))) for day, count in sorted(self.counts.items()))
        return CalendarFacts(tuple(zones), tuple(days), written)


def fixed_hours(schedule: Schedule) -> int:
    """Return the local hours in which a schedule runs, as a bit set; 0 if it has no fixed ones or its clocks stay."""
    cron = schedule.cron
    if schedule.zone.fixed is not None or not isinstance(cron, Cron) or cron.hours == HOURS:
        return 0
    return cron.hours


def rare_runs(state: ScheduleState, now: int) -> list[RareRun]:
    """Return the runs of the coming 62 days of a schedule that runs at most monthly; none of another schedule.

    Args:
        state: State of a schedule that is not deleted, suspended, or paused without an end.
        now: Current time in milliseconds.
    """
    if not _can_be_rare(state.job.schedule):
        return []
    first, last = now // 1000, now // 1000 + RARE_DAYS * DAY
    found = list(islice(nominals(state.job.schedule, first, last), MAX_RARE_PERIODS + 1))
    if len(found) > MAX_RARE_PERIODS:
        return []
    dues = search_upcoming(state, now, MAX_RARE_PERIODS, _after_steps(MAX_STEPS), until=last * 1000).dues
    return [RareRun(due.at, state.identity) for due in dues]


def next_clock_change(hours: ZoneHours, zone: Zone, now: int) -> ClockChange | None:
    """Return the next clock change of a zone within 60 days; None without one. `now` is in seconds."""
    change = next(zone.shifts(now, now + CLOCK_CHANGE_DAYS * DAY), None)
    if change is None:
        return None
    first, last = sorted((change.at + change.before, change.at + change.after))  # of local time
    touched = {second // 3600 % 24 for second in (*range(first, last, 3600), last - 1)}
    inside = min(hours.schedules, sum(hours.hours[hour] for hour in touched))
    return ClockChange(hours.zone, change.at, change.after - change.before, hours.schedules, inside)


def _can_be_rare(schedule: Schedule) -> bool:
    """Return whether the fields of a schedule leave out days. Otherwise it runs every day, or has no fields."""
    cron = schedule.cron
    return not isinstance(cron, Cron) or (cron.days, cron.weekdays, cron.months) != (MONTH_DAYS, WEEK, YEAR)


def _after_steps(count: int) -> Callable[[], bool]:
    """Return a function that returns True after so many calls."""
    steps = iter(range(count))
    return lambda: next(steps, None) is None
