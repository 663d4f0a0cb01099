"""Count of the matches of a cron line between two wall-clock times, without iterating over them."""

from __future__ import annotations

from kron.timing.schedule.cron import Cron

DAY_SECONDS = 86_400


def count_matches(cron: Cron, start: int, end: int) -> int:
    """Return the number of matching wall-clock times from `start` (included) to `end` (excluded)."""
    (first_day, start_second), (last_day, end_second) = divmod(start, DAY_SECONDS), divmod(end, DAY_SECONDS)
    if first_day == last_day:
        return cron.days_between(first_day, first_day + 1) * (
            _count_before(cron, end_second) - _count_before(cron, start_second)
        )
    matches_per_day = _count_before(cron, DAY_SECONDS)
    head = cron.days_between(first_day, first_day + 1) * (matches_per_day - _count_before(cron, start_second))
    tail = cron.days_between(last_day, last_day + 1) * _count_before(cron, end_second)
    return head + cron.days_between(first_day + 1, last_day) * matches_per_day + tail


def _count_before(cron: Cron, second: int) -> int:
    """Return the number of matching seconds of a matching day before `second`."""
    hour, rest = divmod(second, 3600)
    minute, rest = divmod(rest, 60)
    matches_per_hour, matches_per_minute = cron.minutes.bit_count() * cron.seconds.bit_count(), cron.seconds.bit_count()
    total = (cron.hours & (1 << hour) - 1).bit_count() * matches_per_hour
    if cron.hours >> hour & 1:
        total += (cron.minutes & (1 << minute) - 1).bit_count() * matches_per_minute
        if cron.minutes >> minute & 1:
            total += (cron.seconds & (1 << rest) - 1).bit_count()
    return total
