"""A cron line -> the sentence that would replace it, where there is one."""

from __future__ import annotations

import re

from kron.language.clocktime import write_time
from kron.language.extended import baseline
from kron.language.fields import DAY_NAMES
from kron.language.placeholder import HOURS
from kron.language.refusals import WEEKDAYS

_STEP = re.compile(r"\*/([0-9]+)")
_MIDNIGHT = "midnight"


def sentence_for(line: str) -> str:
    """The sentence that asks for as much as a cron line does, and leaves the minute open; empty if none does.

    Times stay within the hour that `around` reaches on either side. Months, lists of hours and lists of
    days have no sentence.
    """
    baseline(line)
    minute, hour, day, month, weekday = line.upper().split()
    if month != "*":
        return ""
    if day != "*":
        return _days(minute, hour, day) if weekday == "*" else ""
    if not minute.isdigit():
        return _minutes(minute, hour, weekday)
    if not hour.isdigit():
        return _hours(hour, weekday)
    return _at(int(hour) * 60 + int(minute), weekday)


def _minutes(minute: str, hour: str, weekday: str) -> str:
    step = _STEP.fullmatch(minute)
    if hour == weekday == "*" and step and 5 <= int(step[1]) <= 59:
        return f"every {int(step[1])} minutes"
    return ""


def _hours(hour: str, weekday: str) -> str:
    step = _STEP.fullmatch(hour)
    every = 1 if hour == "*" else int(step[1]) if step else 0
    on = {"*": "", "1-5": " on weekdays", "MON-FRI": " on weekdays"}.get(weekday)
    if every not in HOURS or on is None:
        return ""
    return ("hourly" if every == 1 else f"every {every}h") + on


def _days(minute: str, hour: str, day: str) -> str:
    step = _STEP.fullmatch(day)
    if not step or not minute.isdigit() or not hour.isdigit():
        return ""
    days = int(step[1])
    named = {14: "bi-weekly", 21: "tri-weekly"}.get(days)
    return named or (f"every {days} days" if 1 <= days <= 31 and int(minute) == int(hour) == 0 else "")


def _at(minute: int, weekday: str) -> str:
    around = f"around {write_time(minute) if minute else _MIDNIGHT}"
    if weekday == "*":
        return f"daily {around}"
    if weekday in ("1-5", "MON-FRI"):
        return f"daily {around} on weekdays"
    number = DAY_NAMES.index(weekday) if weekday in DAY_NAMES else int(weekday) if weekday.isdigit() else -1
    return f"weekly on {WEEKDAYS[number]} {around}" if number >= 0 else ""
