"""Cron lines of Quartz and EventBridge: ? in one of the two day fields, L, W and # in the other, and 1-7 = SUN-SAT."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from kron.errors import clip
from kron.language.day_tokens import take_tokens
from kron.language.fault import Fault
from kron.language.fields import read_value
from kron.language.foreign.value_set import GRAMMAR, read_element, read_values
from kron.language.grammar import DAY, DAY_NAMES, HOUR, MINUTE, MONTH, SECOND, Kind
from kron.language.plus import with_days
from kron.language.tokens import Token, elements
from kron.timing.schedule.cron import MONTH_DAYS, WEEK, Cron
from kron.timing.schedule.days import PLAIN_DAYS, Days

WEEKDAY_FROM_1 = Kind("weekday", 1, 7, DAY_NAMES)
_SATURDAY = 1 << 6
_DAY_TOKEN = re.compile(r"L(?:-[0-9]{1,4})?|LW|[0-9]{1,4}W", re.IGNORECASE | re.ASCII)
_LAST_NEAR = re.compile(r"L-[0-9]{1,4}W", re.IGNORECASE | re.ASCII)
_WEEKDAY_TOKEN = re.compile(r"([A-Z]{3}|[0-9]{1,4})(?:(L)|#([0-9]{1,4}))", re.IGNORECASE | re.ASCII)
_CALENDAR_TOKEN = re.compile(r"[0-9]{1,4}C", re.IGNORECASE | re.ASCII)


class LineFields(NamedTuple):
    """Fields of a line. A line without seconds has the second 0."""

    second: Token
    minute: Token
    hour: Token
    day: Token
    month: Token
    weekday: Token


class _DayField(NamedTuple):
    values: int
    rule: Days


def read_line(line: LineFields) -> Cron:
    """Return the cron line of the fields."""
    _check_question_mark(line.day, line.weekday)
    seconds = read_values(line.second, SECOND)
    minutes, hours = read_values(line.minute, MINUTE), read_values(line.hour, HOUR)
    is_by_day = line.weekday.text == "?"
    days = _read_days(line.day) if is_by_day else _DayField(MONTH_DAYS, PLAIN_DAYS)
    months = read_values(line.month, MONTH)
    weekdays = _DayField(WEEK, PLAIN_DAYS) if is_by_day else _read_weekdays(line.weekday)
    any_day, any_weekday = days == (MONTH_DAYS, PLAIN_DAYS), weekdays == (WEEK, PLAIN_DAYS)
    base = Cron(minutes, hours, days.values or 1, months, weekdays.values or 1, any_day, any_weekday, seconds)
    empty = ({} if days.values else {"days": 0}) | ({} if weekdays.values else {"weekdays": 0})
    return with_days(base, days.rule if is_by_day else weekdays.rule, **empty)


def _check_question_mark(day: Token, weekday: Token) -> None:
    marks = [day.text, weekday.text].count("?")
    if marks == 1:
        return
    if marks == 2:
        message, hint = "both day fields have ?", "write * in one of them for every day"
    elif weekday.text == "*":
        message, hint = "neither day field has ?", "write ? for the day of the week"
    elif day.text == "*":
        message, hint = "neither day field has ?", "write ? for the day of the month"
    else:
        message = "both day fields select days"
        hint = "write ? in one of them and two schedules, or use the plus dialect with @days(match=either|both)"
    raise Fault("QUESTION_MARK", message, day.start, weekday.end, hint, {"field": "day", "reason": message})


def _read_days(field: Token) -> _DayField:
    if field.text == "*":
        return _DayField(MONTH_DAYS, PLAIN_DAYS)
    values, rule = 0, PLAIN_DAYS
    for element in elements(field):
        _refuse_calendar(element, "day")
        if _LAST_NEAR.fullmatch(element.text):
            message = f"{clip(element.text)}, the weekday nearest to a day before the last, cannot be expressed"
            raise Fault("NOT_SAYABLE", message, element.start, element.end, "write LW, or L-3 without W")
        if not _DAY_TOKEN.fullmatch(element.text):
            values |= read_element(element, DAY)
            continue
        try:
            rule = _joined(rule, take_tokens(element.text, "*").rule)
        except Fault as fault:
            raise fault.moved(element.start) from None
    return _DayField(values, rule)


def _read_weekdays(field: Token) -> _DayField:
    if field.text == "*":
        return _DayField(WEEK, PLAIN_DAYS)
    values, rule = 0, PLAIN_DAYS
    for element in elements(field):
        _refuse_calendar(element, "weekday")
        token = _WEEKDAY_TOKEN.fullmatch(element.text)
        if token:
            rule = _with_weekday(rule, token, element)
        elif element.text in ("L", "l"):
            values |= _SATURDAY  # alone it is the last day of the week
        else:
            values |= read_element(element, WEEKDAY_FROM_1)
    return _DayField(values, rule)


def _with_weekday(rule: Days, token: re.Match[str], element: Token) -> Days:
    try:
        weekday = read_value(token[1], 0, WEEKDAY_FROM_1, GRAMMAR) - 1
    except Fault as fault:
        raise fault.moved(element.start) from None
    if token[2]:
        return replace(rule, last_of=rule.last_of | 1 << weekday)
    number = int(token[3])
    if not 1 <= number <= 5:
        reason, name = f"{clip(element.text)} is out of range", clip(token[1])
        hint = f"write {name}#1 to {name}#5, or {name}L for the last one"
        details: dict[str, object] = {"field": "weekday", "reason": reason}
        raise Fault("NTH_RANGE", f"weekday field: {reason}", element.start, element.end, hint, details)
    return replace(rule, nth=rule.nth | 1 << 7 * (number - 1) + weekday)


def _refuse_calendar(element: Token, field: str) -> None:
    if _CALENDAR_TOKEN.fullmatch(element.text):
        reason = f"{element.text} counts in a calendar of Quartz"
        details: dict[str, object] = {"field": field, "reason": reason}
        hint = "list the days, and exclude dates with @avoid"
        raise Fault("NOT_SAYABLE", f"{field} field: {reason}", element.start, element.end, hint, details)


def _joined(rule: Days, other: Days) -> Days:
    """Return a rule that selects the days of two rules."""
    names = ("last", "near", "last_weekday", "nth", "last_of")
    return replace(rule, **{name: getattr(rule, name) | getattr(other, name) for name in names})
