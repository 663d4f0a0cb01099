"""Reads the fields of a cron line under a given grammar, and remembers where each token stood.

One reader serves every dialect; a dialect is a `Grammar` that says what it lets through. No parser
library would do: the grammar is small, and what matters is the answer to the text that does not fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from kron.core.schedule.cron import Cron
from kron.errors import LanguageError, Place, clip, did_you_mean

LONGEST = 65_536  # characters of a text

DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

_WORDS = re.compile(r"[^ \t]+")
_DIGITS = re.compile(r"[0-9]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_QUARTZ = re.compile(r"\?|LW?|[0-9]+[LW]|L-[0-9]+|[A-Za-z0-9]+#[0-9]*|[A-Za-z]{3}L", re.IGNORECASE)


class Fault(Exception):
    """What is wrong with a part of a text, before it is known where in the whole the part stood."""

    def __init__(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        hint: str = "",
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.start, self.end, self.details = start, end, details or {}

    def moved(self, by: int) -> Fault:
        """The same, seen from a text that holds this one at `by`."""
        return Fault(self.code, self.message, self.start + by, self.end + by, self.hint, self.details)

    def within(self, text: str) -> LanguageError:
        """The error to raise, now that the whole text is known."""
        place = Place(text, self.start, self.end)
        return LanguageError(self.code, self.message, place, hint=self.hint, details=self.details)


class Token(NamedTuple):
    """A word of the text and where it began."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ended."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What a field is about: its name, its range, and the names that stand for numbers in it."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def all(self) -> int:
        """Every value, as a bit set whose lowest bit is the lowest value."""
        return (1 << self.high - self.low + 1) - 1


SECOND = Kind("second", 0, 59)
MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day", 1, 31)
MONTH = Kind("month", 1, 12, MONTH_NAMES)
WEEKDAY = Kind("weekday", 0, 6, DAY_NAMES)
FIVE = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
SIX = (SECOND, *FIVE)
ORDER = "minute hour day-of-month month day-of-week"

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """What a dialect lets through beyond numbers, ranges and lists."""

    name: str
    steps: bool = False
    names: bool = False
    seven: bool = False  # 7 is Sunday too


def words(text: str) -> list[str]:
    """The words of a text between spaces and tabs."""
    if len(text) > LONGEST:
        raise Fault("TOO_LONG", f"the text has more than {LONGEST} characters", 0, len(text))
    return text.split() if text.isascii() and text.isprintable() else _WORDS.findall(text)


def tokens(text: str) -> list[Token]:
    """The same words, each with its place."""
    return [Token(m.group(), m.start()) for m in _WORDS.finditer(text)]


def cron(fields: list[str], grammar: Grammar) -> Cron:
    """The cron of five fields, or of six with the seconds first. A fault names the field, not its place."""
    minute, hour, day, month, weekday = fields[-5:]
    return Cron(
        bits(minute, MINUTE, grammar),
        bits(hour, HOUR, grammar),
        bits(day, DAY, grammar),
        bits(month, MONTH, grammar),
        bits(weekday, WEEKDAY, grammar),
        day == "*",
        weekday == "*",
        bits(fields[0], SECOND, grammar) if len(fields) == 6 else 1,
    )


def find_fault(fields: list[Token], grammar: Grammar) -> Fault:
    """What is wrong with fields that `cron` refused, and where: looked for only when it is needed."""
    for field, kind in zip(fields, SIX[-len(fields) :], strict=True):
        try:
            bits(field.text, kind, grammar)
        except Fault as fault:
            return fault.moved(field.start)
    raise AssertionError("no field is at fault")


def bits(text: str, kind: Kind, grammar: Grammar) -> int:
    """The values of one field as a bit set whose lowest bit is the lowest value."""
    if len(text) <= 64:
        return _read(text, kind, grammar)
    return _read.__wrapped__(text, kind, grammar)  # too long to be worth keeping


def macro(word: Token, grammar: Grammar) -> Fault:
    """The answer to a text that opens with `@daily` and its kin, or with a modifier."""
    if "(" in word.text:
        hint = "put the five fields before it"
        return Fault("MODIFIER_FIRST", "a modifier stands before the fields", word.start, word.end, hint)
    same = MACROS.get(word.text.lower())
    hint = f"write {same}" if same else f"write five fields: {ORDER}"
    message = f"macros such as {word.text[:20]} are not part of the {grammar.name} dialect"
    return Fault("MACRO", message, word.start, word.end, hint, _about("expression", message))


@lru_cache(8_192)
def _read(text: str, kind: Kind, grammar: Grammar) -> int:
    if text == "*":
        return kind.all
    found, at = 0, 0
    for element in text.split(","):
        try:
            found |= _element(element, kind, grammar, alone=element == text)
        except Fault as fault:
            raise fault.moved(at) from None
        at += len(element) + 1
    return (found | found >> 7) & kind.all if kind is WEEKDAY else found  # 7 is Sunday again


def _element(text: str, kind: Kind, grammar: Grammar, *, alone: bool) -> int:
    base, slash, step = text.partition("/")
    if slash and not grammar.steps:
        raise _fault("STEP", text, kind, "has a step, which strict POSIX cron lacks", "list the values")
    if base == "*" and not slash:
        raise _fault("STAR_IN_LIST", text, kind, "has * inside a list", "write * alone, or the values")
    first, dash, last = base.partition("-")
    if base == "*":
        low, high = kind.low, kind.high
    elif dash and _looks_like_a_range(first, last):
        low, high = _range(first, last, kind, grammar)
    else:
        low = high = _value(base, 0, kind, grammar)
        if slash:
            hint = f"write {base}-{kind.high}/{step}" if step else "write a range before the step"
            raise _fault("STEP_NEEDS_RANGE", text, kind, f"has a step after the single value {base}", hint)
    stride = _step(step, len(base) + 1, kind) if slash else 1
    if stride == 1:
        return ((1 << high - low + 1) - 1) << low - kind.low
    return sum(1 << value - kind.low for value in range(low, high + 1, stride))


def _looks_like_a_range(first: str, last: str) -> bool:
    return bool(_DIGITS.fullmatch(first) or _WORD.fullmatch(first)) and last != ""


def _range(first: str, last: str, kind: Kind, grammar: Grammar) -> tuple[int, int]:
    low = _value(first, 0, kind, grammar)
    high = _value(last, len(first) + 1, kind, grammar)
    if low > high:
        hint = f"write {first}-{kind.high},{kind.low}-{last}"
        raise _fault("REVERSED_RANGE", f"{first}-{last}", kind, f"has the range {first}-{last} backwards", hint)
    return low, high


def _step(text: str, start: int, kind: Kind) -> int:
    digits = text.lstrip("0")
    if not _DIGITS.fullmatch(text) or not digits:
        reason = f"has the step {clip(text)!r}, not a whole number from 1"
        raise _fault("BAD_STEP", text, kind, reason, "write a step such as */5", start)
    return int(digits) if len(digits) < 4 else 1_000


def _value(text: str, start: int, kind: Kind, grammar: Grammar) -> int:
    if _DIGITS.fullmatch(text):
        number = int(text.lstrip("0") or "0") if len(text.lstrip("0")) < 4 else 9_999
        if kind.low <= number <= kind.high or (number == 7 and kind is WEEKDAY and grammar.seven):
            return number
        reason = f"has {clip(text)}, which is out of range: {_allowed(kind)}"
        hint = "write 0 for Sunday" if kind is WEEKDAY and number == 7 else ""
        raise _fault("OUT_OF_RANGE", text, kind, reason, hint, start)
    if text.upper() in kind.names:
        if grammar.names:
            return kind.names.index(text.upper()) + kind.low
        number = kind.names.index(text.upper()) + kind.low
        reason = f"has the name {text}, which strict POSIX cron lacks"
        raise _fault("NAME", text, kind, reason, f"write {number}", start)
    raise _no_value(text, start, kind, grammar)


def _no_value(text: str, start: int, kind: Kind, grammar: Grammar) -> Fault:
    if not text:
        return _fault("EMPTY_ELEMENT", text, kind, "has an empty element", "drop the stray comma or dash", start)
    if _QUARTZ.fullmatch(text):
        hint = "write * for any day" if text == "?" else "list the days"
        return _fault("QUARTZ", text, kind, f"has the Quartz token {clip(text)}", hint, start)
    if _WORD.fullmatch(text):
        return _unknown_name(text, start, kind, grammar)
    reason = f"has {clip(text)!r}, which is not a whole decimal number"
    return _fault("NOT_A_NUMBER", text, kind, reason, f"write {_allowed(kind)}", start)


def _unknown_name(text: str, start: int, kind: Kind, grammar: Grammar) -> Fault:
    short = text[:3].upper()
    if not grammar.names:
        known = short in kind.names
        hint = f"write {kind.names.index(short) + kind.low}" if known else f"write {_allowed(kind)}"
        reason = f"has the name {clip(text)}, which strict POSIX cron lacks"
        return _fault("NAME", text, kind, reason, hint, start)
    if short in kind.names:
        hint = f"did you mean {short}?"
    else:
        hint = did_you_mean(text, kind.names, f"write {_allowed(kind)}")
    return _fault("UNKNOWN_NAME", text, kind, f"has the unknown name {clip(text)}", hint, start)


def _allowed(kind: Kind) -> str:
    names = f", or {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
    return f"a number from {kind.low} to {kind.high}{names}"


def _fault(code: str, text: str, kind: Kind, reason: str, hint: str, start: int = 0) -> Fault:
    return Fault(code, f"the {kind.name} field {reason}", start, start + len(text), hint, _about(kind.name, reason))


def _about(field: str, reason: str) -> dict[str, object]:
    return {"field": field, "reason": reason}
