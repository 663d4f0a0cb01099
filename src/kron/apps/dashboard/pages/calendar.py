"""Calendar page: the days of a month in the zone of the viewer, with outcomes, rare runs and clock changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.charts.day import day_chart
from kron.apps.dashboard.clock_changes import clock_lines
from kron.apps.dashboard.month import (
    FIRST_YEAR,
    LAST_YEAR,
    QUARTER_SECONDS,
    DayOutcomes,
    Month,
    month_of,
    outcome_step,
    outcomes_by_day,
    read_month,
)
from kron.apps.dashboard.rare_runs import RareRuns, rare_names, rare_runs_by_day, with_past_runs
from kron.apps.dashboard.time_text import MONTHS, WEEKDAYS, duration_text
from kron.apps.dashboard.view import View
from kron.apps.plural import plural
from kron.rules.calendar_facts import CalendarFacts
from kron.timing.calendar import date_of, weekday_of
from kron.timing.local_day import day_bounds
from kron.timing.zone import DAY, zone

PAST_RUNS = 14  # newest runs of a rare schedule that are read


class DayCell(NamedTuple):
    """Day of the month.

    Attributes:
        title: Day of the month; on the first day also the name of the month.
        weekday: Name of the weekday, for the agenda.
        outcomes: How its periods ended; None if the store did not answer.
        chart: Their shares.
        length: How long the day is, if the clocks change; empty on ordinary days.
        is_outside: Whether the day belongs to another month.
        is_today: Whether now is in the day.
        is_coming: Whether the day has not begun.
        rare: Coming and past runs of schedules that run at most monthly.
    """

    title: str
    weekday: str
    outcomes: DayOutcomes | None
    chart: Markup
    length: str
    is_outside: bool
    is_today: bool
    is_coming: bool
    rare: RareRuns = RareRuns()


async def calendar_page(view: View) -> Response:
    """Return the page.

    Raises:
        InvalidInput: The address names no month.
    """
    viewer_zone, now = zone(view.zone), view.now // 1000
    today = viewer_zone.wall(now)
    month = read_month(view.request.query_params.get("month", ""), today.date)
    days = month.days()
    bounds = day_bounds(viewer_zone, days)
    step = outcome_step(bounds)
    first, last = bounds[0] // QUARTER_SECONDS * QUARTER_SECONDS, -(-bounds[-1] // QUARTER_SECONDS) * QUARTER_SECONDS
    counts = await view.panel(view.overview.outcomes(view.prefix, first, last, step))
    outcomes = None if counts is None else outcomes_by_day(counts, bounds)
    facts = await view.panel(view.overview.calendar.read(view.prefix))
    rare = [RareRuns()] * len(days) if facts is None else await _rare(view, facts, bounds)
    cells = [
        day_cell(day, (start, end), None if outcomes is None else outcomes[number], now, month)._replace(
            rare=rare[number]
        )
        for number, (day, start, end) in enumerate(zip(days, bounds, bounds[1:], strict=False))
    ]
    return view.render(
        "calendar.html",
        section="calendar",
        month=month,
        cells=cells,
        facts=facts,
        clock_lines=[] if facts is None else await compute(clock_lines, facts, now),
        sentence=sentence(cells),
        weekdays=[*WEEKDAYS[1:], WEEKDAYS[0]],
        previous=month.moved(-1) if month > Month(FIRST_YEAR, 1) else None,
        following=month.moved(1) if month < Month(LAST_YEAR, 12) else None,
    )


async def _rare(view: View, facts: CalendarFacts, bounds: Sequence[int]) -> list[RareRuns]:
    """Return the coming and the past rare runs of each day. The newest runs of these schedules are read."""
    days, names = rare_runs_by_day(facts, bounds, view.now // 1000), rare_names(facts)
    recent = await view.panel(view.overview.recent(names, PAST_RUNS)) if names and bounds[0] * 1000 < view.now else None
    return with_past_runs(days, (run for each in (recent or {}).values() for run in each.runs), bounds)


def day_cell(day: int, span: tuple[int, int], outcomes: DayOutcomes | None, now: int, month: Month) -> DayCell:
    """Return a day of the month.

    Args:
        day: Day number.
        span: Start and end of the day in seconds; equal if the zone left the day out.
        outcomes: How its periods ended; None if that is not known.
        now: Current time in seconds.
        month: The month that is shown.
    """
    start, end = span
    date, elapsed = date_of(day), (now - start) / (end - start) if end > start else 0.0
    shown = outcomes or DayOutcomes()
    return DayCell(
        f"{date.day} {MONTHS[date.month - 1]}" if date.day == 1 else str(date.day),
        WEEKDAYS[weekday_of(day)],
        outcomes,
        day_chart(shown.fine, shown.troubled, elapsed if end > start else 1.0),
        length_text(end - start),
        month_of(day) != month,
        start <= now < end,
        start > now,
    )


def length_text(seconds: int) -> str:
    """Return how long a day is, if it is not 24 hours."""
    if seconds == DAY:
        return ""
    if not seconds:
        return "this day was left out"
    hours, rest = divmod(seconds, 3_600)
    return f"{hours} hours long" if not rest else f"{duration_text(seconds)} long"


def sentence(cells: Sequence[DayCell]) -> str:
    """Return the answer of the page: on how many days of the month there was trouble."""
    past = [cell for cell in cells if not cell.is_outside and not cell.is_coming]
    if any(cell.outcomes is None for cell in past):
        return "The outcomes of this month are not known: the store did not answer in time."
    if not past:
        return "This month has not begun."
    days = [cell.outcomes for cell in past if cell.outcomes is not None]
    periods, troubled = sum(day.total for day in days), [day.troubled for day in days if day.troubled]
    if not periods:
        return "No period has ended in this month."
    if not troubled:
        return f"No trouble: {plural(periods, 'period')} ended, and all of them succeeded."
    rest = f"{plural(sum(troubled), 'period')} of {periods:,} did not succeed"
    return f"{plural(len(troubled), 'day')} with trouble: {rest}."
