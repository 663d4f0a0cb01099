"""Parser of cron fields for a given grammar.

One parser serves every dialect and the clauses of constraints. It is not built on a parser library: the grammar is
small, and the quality of the error messages matters most.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from kron.language import field_errors
from kron.language.fault import Fault
from kron.language.grammar import FIELD_KINDS, WEEKDAY, Grammar, Kind
from kron.language.tokens import Token, invalid_character
from kron.timing.schedule.cron import Cron

Reader = Callable[[str], int]

_MAX_CACHED_LENGTH = 256  # maximum length of a text whose fields are cached, in characters
_DIGITS = re.compile(r"[0-9]+")
_START_OF_RANGE = re.compile(r"[0-9]+|[A-Za-z]{2,}")


class Readers(dict[Grammar, tuple[Reader, ...]]):
    """Cached parsers of the six kinds of fields, by grammar. Most lines repeat the same few fields."""

    def __missing__(self, grammar: Grammar) -> tuple[Reader, ...]:
        """Create the parsers of a grammar on first use."""
        readers = tuple(lru_cache(2_048)(partial(bits, kind=kind, grammar=grammar)) for kind in FIELD_KINDS)
        return self.setdefault(grammar, readers)


_READERS = Readers()


def cron(text: str, fields: list[str], grammar: Grammar) -> Cron:
    """Parse the five fields of a text, or six with the seconds first. A Fault has no position in the text yet."""
    if len(text) > _MAX_CACHED_LENGTH:
        return _read_uncached(fields, grammar)
    second, minute, hour, day, month, weekday = _READERS[grammar]
    m, h, d, mo, w = fields if len(fields) == 5 else fields[1:]
    seconds = 1 if len(fields) == 5 else second(fields[0])
    return Cron(minute(m), hour(h), day(d), month(mo), weekday(w), d == "*", w == "*", seconds)


def _read_uncached(fields: list[str], grammar: Grammar) -> Cron:
    """Parse without the cache, because each field can be as long as the text."""
    values = [bits(field, kind, grammar) for field, kind in zip(fields, FIELD_KINDS[-len(fields) :], strict=True)]
    minute, hour, day, month, weekday = values[-5:]
    seconds = 1 if len(fields) == 5 else values[0]
    return Cron(minute, hour, day, month, weekday, fields[-3] == "*", fields[-1] == "*", seconds)


def find_fault(text: str, fields: list[Token], grammar: Grammar) -> Fault:
    """Return the fault of an invalid text, with its position. Computed only for invalid texts."""
    first = min(fields, key=lambda word: word.start)
    if first.text.startswith("@"):
        return field_errors.macro(first, grammar)
    character_fault = invalid_character(text)
    if character_fault:
        return character_fault
    for word, kind in zip(fields, FIELD_KINDS[-len(fields) :], strict=True):
        try:
            bits(word.text, kind, grammar)
        except Fault as fault:
            return fault.moved(word.start)
    raise AssertionError("no field is at fault")


def bits(text: str, kind: Kind, grammar: Grammar) -> int:
    """Parse one field, and return its values as a bit set whose lowest bit is the lowest value."""
    if text == "*":
        return kind.all
    values, elements = 0, text.split(",")
    for element in dict.fromkeys(elements):  # without duplicates, so that 1,1,1,… costs no more than 1
        try:
            values |= _read_element(element, kind, grammar)
        except Fault as fault:
            earlier_elements = elements[: elements.index(element)]
            raise fault.moved(sum(map(len, earlier_elements)) + len(earlier_elements)) from None
    return (values | values >> 7) & kind.all if kind is WEEKDAY else values  # 7 is also Sunday


def _read_element(text: str, kind: Kind, grammar: Grammar) -> int:
    base, slash, step = text.partition("/")
    if slash and not grammar.steps:
        raise field_errors.step(text, kind, grammar, _read_with_steps(text, kind, grammar))
    first, dash, last = base.partition("-")
    if base == "*" and not slash:
        raise field_errors.star(text, kind)
    if base == "*":
        low, high = kind.low, kind.high
    elif dash and _START_OF_RANGE.fullmatch(first):
        low, high = _read_range(first, last, kind, grammar)
    else:
        low = high = read_value(base, 0, kind, grammar)
        if slash:
            raise field_errors.step_of_one(text, kind)
    stride = read_step(step, len(base) + 1, kind) if slash else 1
    if stride == 1:
        return ((1 << high - low + 1) - 1) << low - kind.low
    return sum(1 << value - kind.low for value in range(low, high + 1, stride))


def _read_with_steps(text: str, kind: Kind, grammar: Grammar) -> int:
    """Return what an element would select if the grammar had steps; 0 if it would still be invalid."""
    try:
        return _read_element(text, kind, replace(grammar, steps=True))
    except Fault:
        return 0


def _read_range(first: str, last: str, kind: Kind, grammar: Grammar) -> tuple[int, int]:
    low = read_value(first, 0, kind, grammar)
    if not last:
        raise field_errors.open_range(first, kind)
    high = read_value(last, len(first) + 1, kind, grammar)
    if low > high:
        raise field_errors.reversed_range(first, last, low, high, kind)
    return low, high


def read_step(text: str, start: int, kind: Kind) -> int:
    """Parse a step, which is at `start` in its element."""
    if not _DIGITS.fullmatch(text) or not text.strip("0"):
        raise field_errors.bad_step(text, start, kind)
    return _read_number(text)


def read_value(text: str, start: int, kind: Kind, grammar: Grammar) -> int:
    """Parse a number or a name, which is at `start` in its element."""
    if _DIGITS.fullmatch(text):
        number = _read_number(text)
        if kind.low <= number <= kind.high or (number == 7 and grammar.seven and kind is WEEKDAY):
            return number
        raise field_errors.out_of_range(text, start, kind, grammar, number)
    named_number = kind.number(text)
    if named_number is not None and grammar.names:
        return named_number
    raise field_errors.no_value(text, start, kind, grammar)


def _read_number(digits: str) -> int:
    """Return the number, or 1,000 if it has four digits or more. No field is that large, and the input can be long."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) < 4 else 1_000
