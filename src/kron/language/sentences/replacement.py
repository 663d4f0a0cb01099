"""Sentences that can replace cron lines."""

from __future__ import annotations

from kron.language.sentences.clocktime import write_time
from kron.language.sentences.interval import MIN_INTERVAL_MINUTES
from kron.language.sentences.placeholder import HOURS
from kron.language.sentences.sentence_errors import WEEKDAYS
from kron.language.service import baseline
from kron.timing.schedule.cron import YEAR, Cron

_WORKDAYS = [1, 2, 3, 4, 5]


def sentence_for(line: str) -> str:
    """Return the sentence that runs as often as a cron line and leaves the minute open; empty if there is none."""
    return sentence_of(baseline(line))


def sentence_of(cron: Cron) -> str:
    """Return the same for parsed cron fields. Lists of times, months and days of the month have no sentence."""
    minutes, hours = _values(cron.minutes), _values(cron.hours)
    if cron.months != YEAR or cron.seconds != 1:
        return ""
    if not cron.any_day:
        return _interval_sentence(cron, minutes, hours) if cron.any_weekday else ""
    days = _values(cron.weekdays)
    if len(minutes) > 1:
        step = _step(minutes, 60)
        return f"every {step} minutes" if len(hours) == 24 and len(days) == 7 and step >= MIN_INTERVAL_MINUTES else ""
    if len(hours) > 1:
        return _hourly_sentence(hours, days)
    return _around_sentence(hours[0] * 60 + minutes[0], days)


def _hourly_sentence(hours: list[int], days: list[int]) -> str:
    every = _step(hours, 24)
    if every not in HOURS or (len(days) < 7 and days != _WORKDAYS):
        return ""
    return ("hourly" if every == 1 else f"every {every}h") + (" on weekdays" if len(days) < 7 else "")


def _around_sentence(minute: int, days: list[int]) -> str:
    around = f"around {write_time(minute)}" if minute else "around midnight"
    if len(days) == 7:
        return f"daily {around}"
    if days == _WORKDAYS:
        return f"daily {around} on weekdays"
    return f"weekly on {WEEKDAYS[days[0]]} {around}" if len(days) == 1 else ""


def _interval_sentence(cron: Cron, minutes: list[int], hours: list[int]) -> str:
    days = [day + 1 for day in _values(cron.days)]
    step = days[1] - days[0] if len(days) > 1 else 0
    if not step or days != list(range(1, 32, step)) or len(minutes) * len(hours) > 1:
        return ""
    weekly_name = {14: "bi-weekly", 21: "tri-weekly"}.get(step)
    return weekly_name or (f"every {step} days" if minutes == hours == [0] else "")


def _values(bits: int) -> list[int]:
    return [value for value in range(bits.bit_length()) if bits >> value & 1]


def _step(values: list[int], size: int) -> int:
    """Return the step of values that begin at 0 and continue to the end of the field; 0 if there is none."""
    step = values[1] - values[0]
    return step if values == list(range(0, size, step)) else 0
