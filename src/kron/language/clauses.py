"""The clauses of @only and @avoid: hours=8-18;dow=MON-FRI;between=08:00-20:00;date=2026-12-25."""

from __future__ import annotations

import re
from collections.abc import Callable

from kron.core.calendar import Date, day_of
from kron.core.schedule.constraint import Clauses
from kron.errors import clip, did_you_mean
from kron.language.fields import DAY, HOUR, MONTH, WEEKDAY, Fault, Grammar, Kind, Token, bits
from kron.language.quoting import split, unquote

_RANGES = Grammar("kron", names=True)
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
Span = tuple[int, int]


def read_clauses(body: str) -> Clauses:
    """The clauses of a constraint. A key given twice means either."""
    sets = dict.fromkeys(_SETS, 0)
    spans: dict[str, set[Span]] = {"between": set(), "dates": set()}
    for clause in _clauses(body):
        key, equals, value = clause.text.partition("=")
        if not equals or key not in _KEYS:
            raise _unknown(clause, key, equals)
        try:
            if key in _SETS:
                sets[key] |= _set(value, _SETS[key])
            else:
                name, reader = _SPANS[key]
                spans[name].add(reader(value))
        except Fault as fault:
            raise fault.moved(clause.start + len(key) + 1) from None
    return Clauses(**sets, between=tuple(sorted(spans["between"])), dates=tuple(sorted(spans["dates"])))


def _clauses(body: str) -> list[Token]:
    if len(body) > 1 and body[0] == body[-1] == '"':
        return [_stripped(Token(part.text, part.start + 1)) for part in split(body[1:-1], ";")]
    return [_stripped(Token(unquote(part.text), part.start)) for part in split(body, ";")]


def _stripped(word: Token) -> Token:
    bare = word.text.lstrip()
    return Token(bare.rstrip(), word.start + len(word.text) - len(bare))


def _unknown(clause: Token, key: str, equals: str) -> Fault:
    known = ", ".join(_KEYS)
    if not clause.text:
        return Fault("EMPTY_CLAUSE", "a clause is empty", clause.start, clause.start + 1, "drop the stray semicolon")
    if not equals and key in _KEYS:
        return Fault("BAD_CLAUSE", f"{key} has no value", clause.start, clause.end, f"write {key}=…")
    hint = did_you_mean(key, _KEYS, f"the clauses are {known}")
    return Fault(
        "UNKNOWN_CLAUSE",
        f"there is no clause {clip(key)!r}",
        clause.start,
        clause.start + len(key) or 1,
        hint,
    )


def _set(value: str, kind: Kind) -> int:
    if value == "*":
        raise Fault("BAD_CLAUSE", f"* says nothing about {kind.name}s", 0, 1, "list the values, or drop the clause")
    return bits(value, kind, _RANGES) << kind.low


def _between(value: str) -> Span:
    start, dash, end = value.partition("-")
    if not dash:
        raise Fault("BAD_TIME", f"{clip(value)!r} is not a span of times", 0, len(value), "write 08:00-20:00")
    return _minute(start, 0), _minute(end, len(start) + 1)


def _minute(text: str, at: int) -> int:
    clock = _CLOCK.fullmatch(text)
    if not clock or int(clock[1]) > 23 or int(clock[2]) > 59:
        message = f"{clip(text)!r} is not a time of day"
        raise Fault("BAD_TIME", message, at, at + len(text), "write two digits each, from 00:00 to 23:59")
    return int(clock[1]) * 60 + int(clock[2])


def _date(value: str) -> Span:
    day = _day(value, 0)
    return day, day


def _dates(value: str) -> Span:
    start, dots, end = value.partition("..")
    if not dots:
        hint = "write 2026-12-24..2026-12-31"
        raise Fault("BAD_DATE", f"{clip(value)!r} is not a span of dates", 0, len(value), hint)
    span = _day(start, 0), _day(end, len(start) + 2)
    if span[0] > span[1]:
        hint = f"write {end}..{start}"
        raise Fault("REVERSED_RANGE", f"{start}..{end} is backwards", 0, len(value), hint)
    return span


def _day(text: str, at: int) -> int:
    numbers = _DATE.fullmatch(text)
    day = day_of(Date(int(numbers[1]), int(numbers[2]), int(numbers[3]))) if numbers else None
    if day is None:
        message = f"{clip(text)!r} is not a date"
        raise Fault("BAD_DATE", message, at, at + len(text), "write a day of the calendar, such as 2026-12-25")
    return day


_SETS: dict[str, Kind] = {"hours": HOUR, "dow": WEEKDAY, "dom": DAY, "months": MONTH}
_SPANS: dict[str, tuple[str, Callable[[str], Span]]] = {
    "between": ("between", _between),
    "date": ("dates", _date),
    "dates": ("dates", _dates),
}
_KEYS = (*_SETS, *_SPANS)
