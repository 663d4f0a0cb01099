"""Parser of the clauses of @only and @avoid: hours=8-18;dow=MON-FRI;between=08:00-20:00;date=2026-12-25."""

from __future__ import annotations

import re
from collections.abc import Callable

from kron.errors import clip, did_you_mean
from kron.language.fault import Fault
from kron.language.fields import bits
from kron.language.grammar import DAY_NAMES, MONTH_NAMES, Grammar, Kind
from kron.language.quoting import remove_quotes
from kron.language.tokens import Token
from kron.timing.calendar import Date, day_of
from kron.timing.schedule.constraint import Clauses

_RANGE_GRAMMAR = Grammar("kron", names=True, lacks="which constraints do not support")
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
Span = tuple[int, int]


def read_clauses(body: str) -> Clauses:
    """Parse the clauses of a constraint. The values of a repeated key are alternatives.

    Quotes and escapes only protect spaces. No clause needs them, so they are removed first.
    """
    if '"' not in body and "\\" not in body:
        return _read_unquoted(body)
    text, positions = remove_quotes(body)
    try:
        return _read_unquoted(text)
    except Fault as fault:
        end = max(fault.end, fault.start + 1) - 1
        raise fault.at(positions[fault.start], positions[min(end, len(text))] + 1) from None


def _read_unquoted(text: str) -> Clauses:
    sets = dict.fromkeys(_SET_KINDS, 0)
    spans: dict[str, set[Span]] = {"between": set(), "dates": set()}
    position = 0
    for part in text.split(";"):
        clause = part.strip(" \t")
        key, _, value = clause.partition("=")
        start = position + len(part) - len(part.lstrip(" \t"))
        position += len(part) + 1
        if not value or key not in _KEYS:
            raise _invalid_clause(Token(clause, start))
        try:
            if key in _SET_KINDS:
                sets[key] |= _read_set(key, value)
            else:
                name, reader = _SPAN_READERS[key]
                spans[name].add(reader(value))
        except Fault as fault:
            raise fault.moved(start + len(key) + 1) from None
    return Clauses(**sets, between=tuple(sorted(spans["between"])), dates=tuple(sorted(spans["dates"])))


def _invalid_clause(clause: Token) -> Fault:
    key = clause.text.partition("=")[0]
    if not clause.text:
        return Fault("EMPTY_CLAUSE", "empty clause", clause.start, clause.start + 1, "remove the stray semicolon")
    if key in _KEYS:
        return Fault("BAD_CLAUSE", f"clause {key} has no value", clause.start, clause.end, f"write {_EXAMPLES[key]}")
    hint = did_you_mean(key, _KEYS, f"use one of {', '.join(_KEYS)}")
    end = clause.start + max(1, len(key))
    return Fault("UNKNOWN_CLAUSE", f"unknown clause {clip(key)!r}", clause.start, end, hint)


def _read_set(key: str, value: str) -> int:
    kind = _SET_KINDS[key]
    if value == "*":
        raise Fault("BAD_CLAUSE", f"clause {key} allows every value (*)", 0, 1, "list the values, or remove the clause")
    return bits(value, kind, _RANGE_GRAMMAR) << kind.low


def _read_between(value: str) -> Span:
    start, dash, end = value.partition("-")
    if not dash:
        hint = f"write {_EXAMPLES['between']}"
        raise Fault("BAD_TIME", f"{clip(value)!r} is not a time range", 0, len(value), hint)
    return _read_minute(start, 0), _read_minute(end, len(start) + 1)


def _read_minute(text: str, start: int) -> int:
    clock = _CLOCK.fullmatch(text)
    if not clock or int(clock[1]) > 23 or int(clock[2]) > 59:
        message = f"{clip(text)!r} is not a time from 00:00 to 23:59"
        raise Fault("BAD_TIME", message, start, start + len(text), "write two digits each, such as 08:30")
    return int(clock[1]) * 60 + int(clock[2])


def _read_date(value: str) -> Span:
    if ".." in value:
        raise Fault("BAD_DATE", f"{clip(value)!r} is a date range", 0, len(value), "write dates=…")
    day = _read_day(value, 0)
    return day, day


def _read_dates(value: str) -> Span:
    start, dots, end = value.partition("..")
    if not dots:
        hint = f"write {_EXAMPLES['dates']}"
        raise Fault("BAD_DATE", f"{clip(value)!r} is not a date range", 0, len(value), hint)
    span = _read_day(start, 0), _read_day(end, len(start) + 2)
    if span[0] > span[1]:
        raise Fault("REVERSED_RANGE", f"date range {start}..{end} is reversed", 0, len(value), f"write {end}..{start}")
    return span


def _read_day(text: str, start: int) -> int:
    numbers = _DATE.fullmatch(text)
    day = day_of(Date(int(numbers[1]), int(numbers[2]), int(numbers[3]))) if numbers else None
    if day is None:
        message = f"{clip(text)!r} is not a valid date"
        raise Fault("BAD_DATE", message, start, start + len(text), "write an existing date, such as 2026-12-25")
    return day


_SET_KINDS = {
    "hours": Kind("hours", 0, 23, noun="clause"),
    "dow": Kind("dow", 0, 6, DAY_NAMES, "clause"),
    "dom": Kind("dom", 1, 31, noun="clause"),
    "months": Kind("months", 1, 12, MONTH_NAMES, "clause"),
}
_SPAN_READERS: dict[str, tuple[str, Callable[[str], Span]]] = {
    "between": ("between", _read_between),
    "date": ("dates", _read_date),
    "dates": ("dates", _read_dates),
}
_KEYS = (*_SET_KINDS, *_SPAN_READERS)
_EXAMPLES = {
    "hours": "hours=8-18",
    "dow": "dow=MON-FRI",
    "dom": "dom=1-5,15",
    "months": "months=JAN,6-8",
    "between": "between=08:00-20:00",
    "date": "date=2026-12-25",
    "dates": "dates=2026-12-24..2026-12-31",
}
