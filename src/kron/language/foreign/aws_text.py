"""Writer of EventBridge expressions: cron(…), at(…) and rate(…). Time zone and start of a rate are settings."""

from __future__ import annotations

from kron.language.foreign.aws import LAST_YEAR, SKIP_FIRST
from kron.language.foreign.losses import common_losses, not_sayable
from kron.language.foreign.question_text import single_wall, write_line, write_years
from kron.timing.period import next_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.head import Every, Moments
from kron.timing.schedule.terms import ALWAYS
from kron.timing.zone import EARLIEST, rfc3339

_UNITS = {86_400: "day", 3_600: "hour", 60: "minute"}


def write(schedule: Schedule) -> str:
    """Return the text of a schedule. The start of a rate is a setting of EventBridge, which `start_date` returns.

    Raises:
        InvalidSchedule: The schedule cannot be expressed exactly.
    """
    losses, head = list(common_losses(schedule, SKIP_FIRST)), schedule.cron
    if isinstance(head, Cron):
        line, years = write_line(head), write_years(schedule.terms.valid, LAST_YEAR)
        losses += [*line.losses, *(["the validity (@valid)"] if years is None else [])]
        losses += ["the seconds"] if head.seconds != 1 else []
        text = f"cron({' '.join(line.fields[1:])} {years})"
    else:
        losses += ["the validity (@valid)"] if schedule.terms.valid != ALWAYS else []
        text = _write_rate(head) if isinstance(head, Every) else _write_moment(schedule, head)
        losses += [] if text else ["seconds of the interval" if isinstance(head, Every) else "the listed moments"]
    if losses:
        raise not_sayable("EventBridge", losses, SKIP_FIRST)
    return text


def start_date(schedule: Schedule) -> str | None:
    """Return the instant from which the rate of a schedule counts; None if its text is no rate."""
    if not isinstance(schedule.cron, Every):
        return None
    first = next_nominal(schedule, EARLIEST)
    return None if first is None else rfc3339(first)


def _write_rate(head: Every) -> str:
    unit = next((unit for unit in _UNITS if head.seconds % unit == 0), None)
    if unit is None:
        return ""
    count = head.seconds // unit
    return f"rate({count} {_UNITS[unit]}{'s' if count > 1 else ''})"


def _write_moment(schedule: Schedule, head: Moments) -> str:
    moment = head.moments[0]
    wall = single_wall(moment.second, schedule.zone, is_instant=moment.is_instant)
    return "" if wall is None or len(head.moments) > 1 else f"at({rfc3339(wall)[:-1]})"
