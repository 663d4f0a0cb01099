"""Schedules of Kubernetes CronJobs, as the CronJob controller reads them: five fields, a macro or `@every`.

`?` means `*`, `5/15` counts to the end of the field, and a list can have empty elements. A day field with `*`, alone,
in a list or as `*/1`, does not restrict. A text can begin with `TZ=` or `CRON_TZ=`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import did_you_mean
from kron.language import field_errors
from kron.language.candidate import Candidate
from kron.language.duration import UNITS, read_duration, write_duration
from kron.language.fault import Fault
from kron.language.fields import read_step, read_value
from kron.language.grammar import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Grammar, Kind
from kron.language.interval_form import interval
from kron.language.tokens import Token, elements, tokens
from kron.timing.schedule.cron import HOURS, YEAR, Cron
from kron.timing.zone import UTC_ZONE, Shift, Zone

GRAMMAR = Grammar("CronJob", steps=True, names=True)
EVERY = "@every"
_ZONE = re.compile(r"(?:CRON_)?TZ=([^ ]*) +")
_KINDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_DAY_SECONDS, _HOUR_SECONDS = 86_400, 3_600


class CronJobTime(NamedTuple):
    """When a CronJob runs.

    Attributes:
        cron: The five fields; None if the text has an interval.
        seconds: The interval of `@every`; 0 if the text has fields.
        zone: Time zone that the text names; empty if it names none.
        fields: The text without its time zone.
    """

    cron: Cron | None
    seconds: int
    zone: str
    fields: str


class _Values(NamedTuple):
    bits: int
    is_star: bool = False


def read_time(text: str) -> CronJobTime:
    """Read the schedule of a CronJob.

    Raises:
        Fault: The text is invalid.
    """
    match = _ZONE.match(text)
    start = match.end() if match else 0
    fields, zone = text[start:], match[1] if match else ""
    try:
        if fields.startswith(f"{EVERY} "):
            return CronJobTime(None, _seconds(fields), zone, fields)
        return CronJobTime(_read_cron(fields), 0, zone, fields)
    except Fault as fault:
        raise fault.moved(start) from None


def interval_text(seconds: int, zone: Zone) -> str:
    """Return the schedule of a constant interval: a cron line if there is one, else a text of the plus dialect."""
    match = re.fullmatch("(.*)", f"{seconds}s")
    candidates = interval(match) if match else iter(())
    found = next((each for each in candidates if _keeps_interval(each, zone)), None)
    return found.text if found else f"plus: every {write_duration(seconds * UNITS['s'])} from 1970-01-01T00:00Z"


def differing_shift(cron: Cron, zone: Zone, start: int, end: int) -> Shift | None:
    """Return the first clock change after which the CronJob controller can run at other times than the fields say.

    The controller moves hour by hour, from a whole hour. So a change of half an hour makes it skip hours. A day that
    does not begin at 00:00 makes it miss the end of the day before, and so run or skip a day.
    """
    if zone.fixed is not None:
        return None
    is_daily = cron.any_day and cron.any_weekday and cron.months == YEAR
    for shift in zone.shifts(start, end):
        low, high = shift.at + shift.before, shift.at + shift.after
        is_odd = low % _HOUR_SECONDS or high % _HOUR_SECONDS
        skips_midnight = high > low and -(-low // _DAY_SECONDS) * _DAY_SECONDS < high
        if (is_odd and cron.hours != HOURS) or (skips_midnight and not is_daily):
            return shift
    return None


def _keeps_interval(candidate: Candidate, zone: Zone) -> bool:
    return "@" not in candidate.text and (not candidate.elapsed or zone == UTC_ZONE) and " from " not in candidate.text


def _seconds(text: str) -> int:
    """Return the interval of `@every`: whole seconds, at least one."""
    start = len(EVERY) + 1
    try:
        return max(1, read_duration(text[start:]) // UNITS["s"])
    except Fault as fault:
        raise fault.moved(start) from None


def _read_cron(text: str) -> Cron:
    if text.startswith("@"):
        return _read_cron(_fields_of_macro(text))
    fields = tokens(text, 6)
    if len(fields) != 5:
        raise field_errors.miscount(text, GRAMMAR)
    minute, hour, day, month, weekday = (_read_field(*each) for each in zip(fields, _KINDS, strict=True))
    return Cron(minute.bits, hour.bits, day.bits, month.bits, weekday.bits, day.is_star, weekday.is_star)


def _fields_of_macro(text: str) -> str:
    if text in field_errors.MACROS:
        return field_errors.MACROS[text]
    hint = did_you_mean(text, [*field_errors.MACROS, EVERY], f"use one of {', '.join(field_errors.MACROS)}")
    raise Fault("MACRO", f"unknown macro {text[:40]!r}", 0, len(text), hint)


def _read_field(field: Token, kind: Kind) -> _Values:
    bits, is_star = 0, False
    for element in elements(field):
        try:
            values = _read_element(element.text, kind) if element.text else _Values(0)
        except Fault as fault:
            raise fault.moved(element.start) from None
        bits, is_star = bits | values.bits, is_star or values.is_star
    if not bits:
        raise field_errors.no_value("", 0, kind, GRAMMAR).moved(field.start)
    return _Values(bits, is_star)


def _read_element(text: str, kind: Kind) -> _Values:
    base, slash, step = text.partition("/")
    stride = read_step(step, len(base) + 1, kind) if slash else 1
    if base in ("*", "?"):
        low, high = kind.low, kind.high
    else:
        first, dash, last = base.partition("-")
        low = read_value(first, 0, kind, GRAMMAR)
        if dash and not last:
            raise field_errors.open_range(first, kind)
        high = read_value(last, len(first) + 1, kind, GRAMMAR) if dash else (kind.high if slash else low)
        if low > high:
            raise field_errors.reversed_range(first, last, low, high, kind)
    bits = sum(1 << value - kind.low for value in range(low, high + 1, stride))
    return _Values(bits, base in ("*", "?") and stride == 1)
