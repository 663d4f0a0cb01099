"""Count of the periods between two instants, without iterating over them."""

from __future__ import annotations

from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron

DAY = 86_400


def count_nominals(schedule: Schedule, after: int, upto: int) -> int:
    """Return the number of nominal times that are later than `after` and not later than `upto`, both in seconds."""
    return sum(
        _count(schedule.cron, first + offset, last + offset)
        for first, last, offset in schedule.zone.spells_between(after + 1, upto + 1)
    )


def _count(cron: Cron, start: int, end: int) -> int:
    """Return the number of matching wall-clock times from `start` (included) to `end` (excluded)."""
    (first, opening), (last, closing) = divmod(start, DAY), divmod(end, DAY)
    if first == last:
        return cron.days_between(first, first + 1) * (_till(cron, closing) - _till(cron, opening))
    whole = _till(cron, DAY)
    head = cron.days_between(first, first + 1) * (whole - _till(cron, opening))
    tail = cron.days_between(last, last + 1) * _till(cron, closing)
    return head + cron.days_between(first + 1, last) * whole + tail


def _till(cron: Cron, second: int) -> int:
    """Return the number of matching seconds of a matching day before `second`."""
    hour, rest = divmod(second, 3600)
    minute, rest = divmod(rest, 60)
    an_hour, a_minute = cron.minutes.bit_count() * cron.seconds.bit_count(), cron.seconds.bit_count()
    total = (cron.hours & (1 << hour) - 1).bit_count() * an_hour
    if cron.hours >> hour & 1:
        total += (cron.minutes & (1 << minute) - 1).bit_count() * a_minute
        if cron.minutes >> minute & 1:
            total += (cron.seconds & (1 << rest) - 1).bit_count()
    return total
