"""Writer of Quartz cron expressions. The time zone is a setting of the trigger."""

from __future__ import annotations

from kron.language.foreign.losses import common_losses, not_sayable
from kron.language.foreign.quartz import LAST_YEAR, SKIP_LAST
from kron.language.foreign.question_text import single_wall, write_line, write_years
from kron.language.foreign.year import FIRST_YEAR
from kron.timing.calendar import date_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.head import Every, Moments
from kron.timing.schedule.terms import ALWAYS
from kron.timing.zone import DAY


def write(schedule: Schedule) -> str:
    """Return the text of a schedule.

    Raises:
        InvalidSchedule: The schedule cannot be expressed exactly.
    """
    losses, head = list(common_losses(schedule, SKIP_LAST)), schedule.cron
    text = ""
    if isinstance(head, Cron):
        line, years = write_line(head), write_years(schedule.terms.valid, LAST_YEAR)
        losses += [*line.losses, *(["the validity (@valid)"] if years is None else [])]
        text = " ".join([*line.fields, *([years] if years and years != "*" else [])])
    elif isinstance(head, Every):
        losses.append("the interval of elapsed time")
    else:
        text = _write_moment(schedule, head)
        losses += [] if text else ["the listed moments"]
    if losses:
        raise not_sayable("Quartz cron", losses, SKIP_LAST)
    return text


def _write_moment(schedule: Schedule, head: Moments) -> str:
    """Return the text of one moment, which is a line with a year; empty if there is no such text."""
    if len(head.moments) > 1 or schedule.terms.valid != ALWAYS:
        return ""
    wall = single_wall(head.moments[0].second, schedule.zone, is_instant=head.moments[0].is_instant)
    date = date_of((wall or 0) // DAY)
    if wall is None or not FIRST_YEAR <= date.year <= LAST_YEAR:
        return ""
    return f"{wall % 60} {wall // 60 % 60} {wall // 3_600 % 24} {date.day} {date.month} ? {date.year}"
