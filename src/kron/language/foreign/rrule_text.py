"""Writer of iCalendar recurrences (RFC 5545). A schedule without a beginning begins at its first run since 1970."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kron.language.foreign.losses import common_losses, not_sayable
from kron.language.foreign.question_text import single_wall
from kron.language.foreign.recurrence_clock import clocks_change
from kron.language.foreign.recurrence_rule import DAYS
from kron.language.foreign.rrule import SHIFT_FIRST
from kron.timing.period import next_nominal
from kron.timing.recurrence import bounds_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Clauses
from kron.timing.schedule.cron import HOURS, MINUTES, WEEK, YEAR, Cron
from kron.timing.schedule.days import PLAIN_DAYS, DayCron, Days
from kron.timing.schedule.head import Every, Moments
from kron.timing.zone import EARLIEST, UTC_ZONE, Zone, rfc3339

_WORKDAYS = "BYDAY=MO,TU,WE,TH,FR"


def write(schedule: Schedule) -> str:
    """Return the text of a schedule: DTSTART, RRULE and, for avoided dates, EXDATE, each on its line.

    Raises:
        InvalidSchedule: The schedule cannot be expressed exactly.
    """
    avoided = schedule.constraints.avoid
    dates = avoided.dates if avoided and schedule.constraints.only is None else ()
    has_dates = bool(avoided) and avoided == Clauses(dates=dates) and all(first == last for first, last in dates)
    plain = replace(schedule, constraints=UNCONSTRAINED) if has_dates else schedule
    losses, head = list(common_losses(plain, SHIFT_FIRST)), schedule.cron
    first = _first_wall(schedule)
    if first is None:
        losses.append("a beginning at a clock change")
    losses += _moment_losses(head) if isinstance(head, Moments) else []
    losses += _interval_losses(head, schedule.zone) if isinstance(head, Every) else []
    losses += _cron_losses(head) if isinstance(head, Cron) else []
    if losses:
        raise not_sayable("an iCalendar recurrence", losses, SHIFT_FIRST)
    lines = [_stamped("DTSTART", first or 0, schedule.zone), f"RRULE:{';'.join(_parts(schedule))}"]
    if has_dates:
        lines.append("EXDATE;VALUE=DATE:" + ",".join(_stamp(day * 86_400)[:8] for day, _ in dates))
    return "\n".join(lines)


def _first_wall(schedule: Schedule) -> int | None:
    """Return the wall-clock time of the first run, or the first since 1970; None if it is at a clock change."""
    start = EARLIEST if schedule.terms.valid.start or not isinstance(schedule.cron, Cron) else -1
    first = next_nominal(schedule, start)
    return None if first is None else single_wall(first, schedule.zone, is_instant=True)


def _moment_losses(head: Moments) -> list[str]:
    return ["all moments but one"] if len(head.moments) > 1 else []


def _interval_losses(head: Every, zone: Zone) -> list[str]:
    if head.seconds % 60:
        return ["seconds of the interval"]
    return ["elapsed time at clock changes"] if clocks_change(zone, head.anchor.second) else []


def _cron_losses(head: Cron) -> list[str]:
    rule, losses = _rule_of(head), list[str]()
    has_tokens = rule.nth or rule.last_of or rule.near or rule.last_weekday
    if not head.any_day and not head.any_weekday and not rule.both:
        losses.append("one of the two day fields, of which either is enough")
    if rule.start is not None and (has_tokens or (rule.weeks and not head.any_day)):
        losses.append("the days that do not go with an interval (@days)")
    if rule.near or rule.last_weekday:
        is_alone = (rule.near == 1) + rule.last_weekday == 1 and rule.near in (0, 1)
        is_single = head.times[0] == head.times[1]
        if not is_alone or not is_single or head.days or rule.last or not head.any_weekday:
            losses.append("the nearest weekday (W)")
    return losses


def _parts(schedule: Schedule) -> Iterator[str]:
    head, valid = schedule.cron, schedule.terms.valid
    if isinstance(head, Cron):
        yield from _cron_parts(head)
    elif isinstance(head, Every):
        unit, name = (3_600, "HOURLY") if head.seconds % 3_600 == 0 else (60, "MINUTELY")
        yield from [f"FREQ={name}", f"INTERVAL={head.seconds // unit}"]
    else:
        yield from ["FREQ=DAILY", "COUNT=1"]
        return
    if valid.times is not None:
        yield f"COUNT={valid.times}"
    elif valid.until is not None:
        yield f"UNTIL={_stamp(bounds_of(schedule, 0).last)}Z"


def _cron_parts(head: Cron) -> Iterator[str]:
    rule = _rule_of(head)
    yield from _frequency(head, rule)
    if head.months != YEAR:
        yield "BYMONTH=" + _numbers(head.months, 1)
    if rule.near or rule.last_weekday:
        yield from [_WORKDAYS, f"BYSETPOS={1 if rule.near else -1}"]
    elif not head.any_day:
        numbers = [str(bit + 1) for bit in range(31) if head.days >> bit & 1]
        yield "BYMONTHDAY=" + ",".join(numbers + [str(-bit - 1) for bit in range(31) if rule.last >> bit & 1])
    if not head.any_weekday:
        yield "BYDAY=" + ",".join(_weekdays(head.weekdays, rule))
    elif rule.weeks:
        yield "BYDAY=" + ",".join(_weekdays(WEEK, rule))
    if head.hours.bit_count() > 1 and head.hours != HOURS:
        yield "BYHOUR=" + _numbers(head.hours)
    elif head.hours == HOURS and not _is_hourly(head, rule):
        yield "BYHOUR=" + _numbers(HOURS)
    if head.minutes.bit_count() > 1 and not (head.minutes == MINUTES and _is_hourly(head, rule)):
        yield "BYMINUTE=" + _numbers(head.minutes)
    if head.seconds.bit_count() > 1:
        yield "BYSECOND=" + _numbers(head.seconds)


def _frequency(head: Cron, rule: Days) -> Iterator[str]:
    if rule.start is not None:
        yield from [f"FREQ={'WEEKLY' if rule.weeks else 'DAILY'}", f"INTERVAL={rule.every}"]
        if rule.weeks:
            yield "WKST=MO"
    elif _is_hourly(head, rule):
        yield "FREQ=MINUTELY" if head.minutes == MINUTES else "FREQ=HOURLY"
    elif head.any_day and not (rule.nth or rule.last_of):
        yield "FREQ=DAILY" if head.any_weekday else "FREQ=WEEKLY"
    else:
        yield "FREQ=MONTHLY"


def _is_hourly(head: Cron, rule: Days) -> bool:
    """Return whether the runs are those of every hour or minute of every day."""
    return head.hours == HOURS and head.any_day and head.any_weekday and rule.start is None


def _weekdays(weekdays: int, rule: Days) -> Iterator[str]:
    for weekday in [1, 2, 3, 4, 5, 6, 0]:
        if weekdays >> weekday & 1:
            yield DAYS[weekday]
        for number in range(5):
            if rule.nth >> 7 * number + weekday & 1:
                yield f"{number + 1}{DAYS[weekday]}"
        if rule.last_of >> weekday & 1:
            yield f"-1{DAYS[weekday]}"


def _rule_of(head: Cron) -> Days:
    return head.rule if isinstance(head, DayCron) else PLAIN_DAYS


def _numbers(values: int, low: int = 0) -> str:
    return ",".join(str(bit + low) for bit in range(values.bit_length()) if values >> bit & 1)


def _stamped(name: str, wall: int, zone: Zone) -> str:
    return f"{name}:{_stamp(wall)}Z" if zone is UTC_ZONE else f"{name};TZID={zone.name}:{_stamp(wall)}"


def _stamp(wall: int) -> str:
    return rfc3339(wall)[:-1].replace("-", "").replace(":", "")
