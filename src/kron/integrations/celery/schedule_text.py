"""Schedule texts: a Celery `crontab` or interval as a text of the plus dialect that means the same."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from celery.schedules import crontab, schedule

from kron.errors import InvalidSchedule

DIALECT = "plus"
UTC_ANCHOR = "1970-01-01T00:00Z"  # fixed, so that no period depends on when a beat started
LOCAL_ANCHOR = "1970-01-01T00:00"
CLOCK_RULE = "@dst(gap=shift,fold=first)"  # what Celery does to a time that a day does not have, or has twice
MINUTE, HOUR, DAY = 60, 3_600, 86_400  # seconds
_MINUTES, _HOURS, _MONTHS = range(60), range(24), range(1, 13)
_DAYS_OF_MONTH, _DAYS_OF_WEEK = range(1, 32), range(7)


def schedule_text(celery_schedule: Any, entry_name: str, zone: str) -> str:
    """Return the text of a Celery schedule.

    Args:
        celery_schedule: A `crontab` or a `schedule`. Subclasses are refused, because they decide by themselves.
        entry_name: Name of the entry, for errors.
        zone: Name of the time zone in which the text is read.

    Raises:
        InvalidSchedule: Kron has no equivalent of the schedule.
    """
    kind = type(celery_schedule)
    if kind not in (crontab, schedule):
        message = f"entry {entry_name!r} has a schedule of type {kind.__name__}, which Kron cannot evaluate"
        raise InvalidSchedule("BAD_SCHEDULE", message, hint="use crontab(...), or an interval in seconds")
    if celery_schedule.nowfun is not None:
        message = f"entry {entry_name!r} has a schedule with nowfun, but the clock of the store decides"
        raise InvalidSchedule("BAD_SCHEDULE", message, hint="remove nowfun")
    if kind is crontab:
        return _crontab_text(celery_schedule, zone)
    if celery_schedule.relative:
        return _relative_text(celery_schedule.run_every, entry_name)
    return f"every {_seconds(celery_schedule.run_every, entry_name)}s from {UTC_ANCHOR}"


def _crontab_text(entry: crontab, zone: str) -> str:
    """Return the text of a crontab. Celery requires both day fields to match.

    Where the hour is not restricted, the schedule goes on through clock changes: Celery pauses in a repeated hour.
    """
    day_of_month, day_of_week = _field(entry.day_of_month, _DAYS_OF_MONTH), _field(entry.day_of_week, _DAYS_OF_WEEK)
    hour = _field(entry.hour, _HOURS)
    parts = [_field(entry.minute, _MINUTES), hour, day_of_month, _field(entry.month_of_year, _MONTHS), day_of_week]
    if "*" not in (day_of_month, day_of_week):
        parts.append("@days(match=both)")
    if hour != "*" and zone != "UTC":
        parts.append(CLOCK_RULE)
    return " ".join(parts)


def _field(values: Collection[int], all_values: range) -> str:
    return "*" if set(values) == set(all_values) else ",".join(map(str, sorted(values)))


def _relative_text(every: timedelta, entry_name: str) -> str:
    """Return the text of an interval with `relative`: at full days, hours or minutes of the local time."""
    seconds = _seconds(every, entry_name)
    unit = next((unit for unit in (DAY, HOUR, MINUTE) if seconds >= unit), 1)
    if seconds % unit:
        message = f"entry {entry_name!r} has relative=True and an interval of {every}"
        hint = "use whole days, hours or minutes, or remove relative"
        raise InvalidSchedule("BAD_DURATION", message, hint=hint)
    if unit == DAY:
        return f"0 0 * * * @days(every={seconds // DAY}d,from=1970-01-01) @dst(once)"
    return f"every {seconds}s from {LOCAL_ANCHOR}"


def _seconds(every: timedelta, entry_name: str) -> int:
    if every < timedelta(seconds=1) or every.microseconds:
        message = f"entry {entry_name!r} has an interval of {every.total_seconds():g} s"
        raise InvalidSchedule("BAD_DURATION", message, hint="use whole seconds, at least 1")
    return every.days * DAY + every.seconds
