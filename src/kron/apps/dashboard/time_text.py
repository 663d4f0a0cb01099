"""Times and durations as people read them. Every time on a page is made here, in the zone of the viewer."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from markupsafe import Markup, escape

from kron.language.english_words import DAYS as LONG_WEEKDAYS
from kron.language.english_words import MONTHS as LONG_MONTHS
from kron.timing.clock_change import fold_pass
from kron.timing.wall import Wall
from kron.timing.zone import Zone, instant_of, rfc3339, rfc3339_ms, zone

WEEKDAYS = tuple(name[:3] for name in LONG_WEEKDAYS)
MONTHS = tuple(name[:3] for name in LONG_MONTHS)
MINUTE, HOUR, DAY = 60, 3_600, 86_400
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
_TIME = Markup('<time tabindex="0"%s datetime="%s"%s title="%s">%s</time>')
_RELATIVE, _ZONE = Markup(" data-relative"), Markup(' data-z="%s"')


class Form(StrEnum):
    """How a time is written."""

    CLOCK = "clock"  # 03:11:10
    MINUTE = "minute"  # 03:11
    DAY = "day"  # Thu 22 Oct
    NEAR = "near"  # 03:11:10 today, otherwise Thu 22 Oct, 03:11
    SECOND = "second"  # Today 03:11:10, Tomorrow 03:11:10, otherwise Thu 22 Oct, 03:11:10
    FULL = "full"  # Thursday 22 October 2026, 10:42:17
    RELATIVE = "relative"  # in 16 h 28 min


def time_element(at: int, now: int, viewer_zone: str, form: Form, schedule_zone: str = "") -> Markup:
    """Return a `<time>` element. The script shows the time in three zones when the reader points at it.

    Args:
        at: Time in milliseconds.
        now: Current time in milliseconds.
        viewer_zone: Name of the viewer's zone.
        form: How the time is written.
        schedule_zone: Name of the schedule's zone.
    """
    text = relative_text(at, now) if form is Form.RELATIVE else local_text(at, now, zone(viewer_zone), form)
    relative = _RELATIVE if form is Form.RELATIVE else ""
    zone_attribute = _ZONE % schedule_zone if schedule_zone else ""
    return _TIME % (relative, rfc3339_ms(at), zone_attribute, rfc3339(at // 1000), text)


def with_times(text: str, element: Callable[[int], Markup]) -> Markup:
    """Return a text, escaped, in which each instant such as 2026-10-22T08:42:17Z is an element.

    Args:
        text: Text that can have words of people and targets.
        element: Returns the element of a time in milliseconds.
    """
    parts = list[str]()
    for part in _INSTANT.split(text):
        try:
            parts.append(element(instant_of(part) * 1000) if _INSTANT.fullmatch(part) else escape(part))
        except ValueError:  # a day or a time that does not exist, in the words of a person
            parts.append(escape(part))
    return Markup("").join(parts)


def local_text(at: int, now: int, viewer_zone: Zone, form: Form) -> str:
    """Return a time in a zone. A time that occurs twice because clocks go back has its offset."""
    wall = viewer_zone.wall(at // 1000)
    if form is Form.MINUTE:
        return _minute(wall)
    if form is Form.DAY:
        return _day(wall)
    offset = f" {utc_offset_text(wall.offset)}" if fold_pass(viewer_zone, at // 1000) else ""
    return _wall_text(wall, viewer_zone.wall(now // 1000), form) + offset


def relative_text(at: int, now: int) -> str:
    """Return a time relative to now: `in 43 s` or `2 min 17 s ago`."""
    seconds = (at - now) // 1000
    return f"in {duration_text(seconds)}" if seconds >= 0 else f"{duration_text((now - at) // 1000)} ago"


def duration_text(seconds: int) -> str:
    """Return a duration with at most two units: `43 s`, `2 min 17 s`, `57 min`, `16 h 28 min`, `3 d 18 h`."""
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE} min" + (f" {seconds % MINUTE} s" if seconds < 10 * MINUTE else "")
    if seconds < DAY:
        return f"{seconds // HOUR} h {seconds % HOUR // MINUTE} min"
    return f"{seconds // DAY} d {seconds % DAY // HOUR} h"


def span_text(milliseconds: int) -> str:
    """Return how long something took: `320 ms`, `0.3 s`-like values below a minute, otherwise as `duration_text`."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < MINUTE * 1000 else duration_text(milliseconds // 1000)


def long_date(wall: Wall) -> str:
    """Return a date such as 22 October 2026."""
    return f"{wall.date.day} {LONG_MONTHS[wall.date.month - 1]} {wall.date.year}"


def utc_offset_text(seconds: int) -> str:
    """Return an offset such as UTC+2 or UTC−3:30."""
    minutes = abs(seconds) // 60
    rest = f":{minutes % 60:02d}" if minutes % 60 else ""
    return f"UTC{'−' if seconds < 0 else '+'}{minutes // 60}{rest}"


def _wall_text(wall: Wall, today: Wall, form: Form) -> str:
    """Return a time that has hours and minutes, seen on that day."""
    if form is Form.CLOCK or (form is Form.NEAR and wall.day == today.day):
        return _clock(wall)
    if form is Form.FULL:
        return f"{LONG_WEEKDAYS[wall.weekday]} {long_date(wall)}, {_clock(wall)}"
    if form is Form.SECOND and 0 <= wall.day - today.day <= 1:
        return f"{'Today' if wall.day == today.day else 'Tomorrow'} {_clock(wall)}"
    year = f" {wall.date.year}" if wall.date.year != today.date.year else ""
    return f"{_day(wall)}{year}, {_clock(wall) if form is Form.SECOND else _minute(wall)}"


def _clock(wall: Wall) -> str:
    return f"{wall.hour:02d}:{wall.minute:02d}:{wall.second:02d}"


def _minute(wall: Wall) -> str:
    return f"{wall.hour:02d}:{wall.minute:02d}"


def _day(wall: Wall) -> str:
    return f"{WEEKDAYS[wall.weekday]} {wall.date.day} {MONTHS[wall.date.month - 1]}"
