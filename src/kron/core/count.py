"""How many periods lie between two instants, counted without walking through them."""

from __future__ import annotations

from kron.core.calendar import CYCLE, FIRST_DAY, MONTH_OF, MONTHS
from kron.core.schedule import Schedule
from kron.core.schedule.cron import Cron

DAY = 86_400


def count_nominals(schedule: Schedule, after: int, upto: int) -> int:
    """The number of nominal times later than `after` and not later than `upto`."""
    total, start, end = 0, after + 1, upto + 1
    for offset, first, last in schedule.zone.stretches_between(start, end):
        total += _count(schedule.cron, first + offset, last + offset)
    return total


def _count(cron: Cron, start: int, end: int) -> int:
    """The matching wall-clock times from `start` to before `end`."""
    if start >= end:
        return 0
    (first, opening), (last, closing) = divmod(start, DAY), divmod(end, DAY)
    if first == last:
        return _within(cron, first, opening, closing)
    whole = _days(cron, first + 1, last) * _till(cron, DAY)
    return _within(cron, first, opening, DAY) + whole + _within(cron, last, 0, closing)


def _within(cron: Cron, day: int, start: int, end: int) -> int:
    return _till(cron, end) - _till(cron, start) if cron.matches(day) else 0


def _till(cron: Cron, second: int) -> int:
    """The matching seconds of a matching day before that second."""
    minute, rest = divmod(second, 60)
    whole = (cron.clock & ((1 << minute) - 1)).bit_count() * cron.seconds.bit_count()
    partial = (cron.seconds & ((1 << rest) - 1)).bit_count() if cron.clock >> minute & 1 else 0
    return whole + partial


def _days(cron: Cron, start: int, end: int) -> int:
    """The matching days from `start` to before `end`, month by month."""
    total, day = 0, start
    while day < end:
        in_cycle = day % CYCLE
        month = MONTH_OF[in_cycle]
        following = FIRST_DAY[month + 1] if month + 1 < MONTHS else CYCLE
        until = min(following, in_cycle + end - day)
        days = cron.days_of(month) >> in_cycle - FIRST_DAY[month]
        total += (days & ((1 << until - in_cycle) - 1)).bit_count()
        day += until - in_cycle
    return total
