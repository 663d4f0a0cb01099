"""Load page: when everything starts at once, and which schedule texts do."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.charts.minutes import minutes_chart
from kron.apps.dashboard.load_week import HOURS, week_of, worst_minutes
from kron.apps.dashboard.spreading import spreading_of
from kron.apps.dashboard.time_text import MONTHS, WEEKDAYS, Form, local_text
from kron.apps.dashboard.view import View
from kron.rules.load import Load
from kron.timing.local_day import day_bounds
from kron.timing.zone import zone

DAYS = 7
QUARTER_SECONDS, HOUR_SECONDS, LABEL_SECONDS = 900, 3_600, 600
WORST = 6  # minutes that are listed
MAX_HOUR_DIGITS = 12


async def load_page(view: View) -> Response:
    """Return the page, with the minutes of the chosen or of the busiest hour."""
    viewer_zone, now = zone(view.zone), view.now // 1000
    today = viewer_zone.wall(now).day
    days = range(today, today + DAYS)
    bounds = day_bounds(viewer_zone, days)
    first, last = now // HOUR_SECONDS * HOUR_SECONDS, -(-bounds[-1] // QUARTER_SECONDS) * QUARTER_SECONDS
    load = await view.overview.load(view.prefix, first, last, QUARTER_SECONDS)
    week = week_of(load.intervals, viewer_zone, days, now)
    worst = worst_minutes(week, WORST)
    busiest_at = worst[0].busiest_at if worst else None
    chosen = _chosen_hour(view.request.query_params.get("hour", ""), first, last, busiest_at)
    minutes = None if chosen is None else await view.panel(_minutes(view, chosen))
    counts = [each.runs for each in minutes.intervals] if minutes else []
    spreading = await compute(spreading_of, counts, minutes.kinds, chosen) if minutes and chosen is not None else None
    return view.render(
        "load.html",
        section="load",
        load=load,
        lines=[(_day_text(day, today), line) for day, line in zip(days, week, strict=True)],
        hours=range(HOURS),
        worst=worst,
        chosen=chosen,
        minutes=minutes,
        chart=minutes_chart(counts) if minutes else None,
        counts=counts,
        axis=[] if chosen is None else _axis(view, chosen),
        spreading=spreading,
        spread_chart=minutes_chart(spreading.runs, max(counts)) if spreading and spreading.kinds else None,
    )


async def _minutes(view: View, hour: int) -> Load:
    return await view.overview.load(view.prefix, hour, hour + HOUR_SECONDS, 60)


def _axis(view: View, hour: int) -> list[str]:
    """Return the labels of the chart of an hour, one every ten minutes."""
    times = range(hour, hour + HOUR_SECONDS + 1, LABEL_SECONDS)
    return [local_text(at * 1000, view.now, zone(view.zone), Form.MINUTE) for at in times]


def _chosen_hour(text: str, first: int, last: int, busiest_at: int | None) -> int | None:
    """Return the begin of the hour whose minutes are shown, in seconds; None if there is none."""
    if text.isascii() and text.isdigit() and len(text) <= MAX_HOUR_DIGITS and first <= int(text) < last:
        return int(text) // HOUR_SECONDS * HOUR_SECONDS
    return None if busiest_at is None else busiest_at // HOUR_SECONDS * HOUR_SECONDS


def _day_text(day: int, today: int) -> str:
    if day == today:
        return "Today"
    wall = zone("UTC").wall(day * 86_400)
    return f"{WEEKDAYS[wall.weekday]} {wall.date.day} {MONTHS[wall.date.month - 1]}"
