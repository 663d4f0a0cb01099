"""Moments: dates and times such as 2026-12-01T09:00, with or without an offset, and dates alone."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.fault import Fault
from kron.timing.calendar import Date, date_of, day_of
from kron.timing.schedule.head import Moment
from kron.timing.zone import DAY, EARLIEST, LATEST, rfc3339

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?"
)


def read_moment(text: str) -> Moment:
    """Parse a moment. Without an offset it is a wall-clock time in the zone of the schedule."""
    match = _MOMENT.fullmatch(text)
    if not match:
        raise _bad_moment(text, _moment_hint(text))
    day = _read_day(match[1], text)
    hour, minute, second = int(match[2]), int(match[3]), int(match[4] or 0)
    offset_hour, offset_minute = int(match[7] or 0), int(match[8] or 0)
    if hour > 23 or minute > 59 or second > 59 or offset_hour > 23 or offset_minute > 59:
        raise _bad_moment(text, "write hours from 00 to 23, minutes and seconds from 00 to 59")
    wall = day * DAY + hour * 3600 + minute * 60 + second
    offset = (offset_hour * 60 + offset_minute) * (-60 if match[6] == "-" else 60)
    if not EARLIEST + 2 * DAY < wall - offset < LATEST - 2 * DAY:
        raise _out_of_range("BAD_MOMENT", text)
    return Moment(wall - offset, is_instant=bool(match[5] or match[6]))


def write_moment(moment: Moment) -> str:
    """Return the canonical text of a moment: seconds only if they are not zero, instants in UTC."""
    text = rfc3339(moment.second)[:-1].removesuffix(":00")
    text = text if "T" in text and text.count(":") else rfc3339(moment.second)[:-1]
    return f"{text}Z" if moment.is_instant else text


def read_date(text: str) -> int:
    """Parse a date such as 2026-01-05, and return its day number."""
    if not _DATE.fullmatch(text):
        raise Fault("BAD_DATE", f"{clip(text)!r} is not a date", 0, len(text), "write a date such as 2026-01-05")
    day = _read_day(text, text)
    if not EARLIEST + 2 * DAY < day * DAY < LATEST - 2 * DAY:
        raise _out_of_range("BAD_DATE", text)
    return day


def write_date(day: int) -> str:
    """Return the text of a day number."""
    return date_of(day).text


def _read_day(date: str, text: str) -> int:
    match = _DATE.fullmatch(date)
    day = day_of(Date(int(match[1]), int(match[2]), int(match[3]))) if match else None
    if day is None:
        raise Fault(
            "BAD_DATE", f"the date {clip(date)} does not exist", 0, len(text), "choose a day that the month has"
        )
    return day


def _moment_hint(text: str) -> str:
    if _DATE.fullmatch(text):
        return f"add the time of day, as in {text}T09:00"
    return "write a date and a time such as 2026-12-01T09:00, 2026-12-01T09:00Z or 2026-12-01T09:00+01:00"


def _out_of_range(code: str, text: str) -> Fault:
    first, last = (date_of(second // DAY).year for second in (EARLIEST + 2 * DAY, LATEST - 2 * DAY))
    message = f"{clip(text)!r} is outside of Kron's calendar"
    return Fault(code, message, 0, len(text), f"choose a year from {first} to {last}")


def _bad_moment(text: str, hint: str) -> Fault:
    message = f"{clip(text)!r} is not a date and time" if text else "the date and time are missing"
    return Fault("BAD_MOMENT", message, 0, max(len(text), 1), hint)
