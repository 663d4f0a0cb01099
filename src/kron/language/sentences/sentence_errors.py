"""Faults of sentences, with the codes of both tables of the specification.

The first line of a message states the problem, the second line states what is allowed, and the hint what to write.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.errors import did_you_mean
from kron.language.fault import Fault
from kron.language.tokens import Token

KEYWORDS = ("daily", "weekly", "hourly", "bi-weekly", "tri-weekly", "every")
WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")

# code -> its row in section 3.7 (None if it has none), and its codes in appendix B
CODES: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "UNKNOWN_KEYWORD": ("E-01", ("ERR-SYNTAX-001",)),
    "HOUR_OUT_OF_RANGE": ("E-02", ("ERR-TIME-001", "ERR-SYNTAX-002")),
    "MINUTE_OUT_OF_RANGE": ("E-03", ("ERR-TIME-002",)),
    "MISSING_TIME_SPEC": ("E-04", ("ERR-SYNTAX-004",)),
    "INCOMPLETE_RANGE": ("E-05", ("ERR-SYNTAX-004",)),
    "ZERO_DURATION_RANGE": ("E-06", ("ERR-SYNTAX-005",)),
    "UNKNOWN_WEEKDAY": ("E-07", ("ERR-SYNTAX-003",)),
    "UNKNOWN_UNIT": ("E-08", ("ERR-INTERVAL-002",)),
    "INTERVAL_TOO_SMALL": ("E-09", ("ERR-INTERVAL-001",)),
    "NON_INTEGER_INTERVAL": ("E-10", ("ERR-INTERVAL-001",)),
    "INVALID_TIME_FORMAT": (None, ("ERR-SYNTAX-002",)),
    "INVALID_12H": (None, ("ERR-TIME-003",)),
    "INVALID_OFFSET": (None, ("ERR-TZ-001",)),
    "MALFORMED_OFFSET": (None, ("ERR-TZ-002",)),
    "NON_POSITIVE_INTERVAL": (None, ("ERR-INTERVAL-001",)),
    "UNSUPPORTED_INTERVAL": (None, ("ERR-INTERVAL-002",)),
    "MISSING_COMPONENT": (None, ("ERR-SYNTAX-004",)),
    "UNSUPPORTED_SYNTAX": (None, ("ERR-SYNTAX-005",)),
    "UNEXPECTED_TOKEN": (None, ("ERR-SYNTAX-005",)),
    "EMPTY_IDENTIFIER": (None, ()),
    "INVALID_SEED": (None, ()),
}

_MOST_SHOWN = 60  # characters of a quoted sentence


def refuse(code: str, says: str, allows: str, start: int, end: int, hint: str) -> Fault:
    """Return the fault with a code of both tables; `says` and `allows` are the two lines of its message."""
    return Fault(code, f"{says}\n{allows}", start, end, hint, tables(code))


def tables(code: str) -> dict[str, object]:
    """Return the names of the code in both tables, as details of an error."""
    row, appendix = CODES[code]
    return {"row": row, "appendix_codes": list(appendix)}


def shown(text: str) -> str:
    """Return a part of the input for a message: at most 60 characters, and without control characters."""
    plain = "".join(char if char.isprintable() else "�" for char in text.strip(" \t\u00a0")[: _MOST_SHOWN + 1])
    return plain if len(plain) <= _MOST_SHOWN else plain[:_MOST_SHOWN] + "…"


def unknown_keyword(word: Token) -> Fault:
    """Return E-01. `word` is the first of the sentence, empty if there is none."""
    known = ", ".join(KEYWORDS)
    lowered = word.text.removeprefix("@").lower()
    hint = f"write {lowered}" if lowered in KEYWORDS else did_you_mean(lowered, KEYWORDS, _nearby(lowered))
    says = f"Unknown schedule type '{shown(word.text)}'"
    return refuse("UNKNOWN_KEYWORD", says, f"Valid types: {known}", word.start, max(word.end, word.start + 1), hint)


def _nearby(word: str) -> str:
    if word in ("monthly", "yearly", "annually", "quarterly"):
        return "write a cron line, such as 23 4 1 * *; sentences cover at most three weeks"
    if word in ("biweekly", "triweekly"):
        return f"write {word[:-6]}-weekly"
    if word[:1].isdigit() or word[:1] == "*":
        return "begin with a word, such as daily; this looks like a cron line"
    return "begin with one of them, such as daily around 14:00"


def unknown_weekday(word: Token, text: str) -> Fault:
    """Return E-07, with a suggestion if one character is wrong or the name is abbreviated."""
    day = word.text.lower()
    begun = next((name for name in WEEKDAYS if len(day) > 1 and name.startswith(day)), "")
    otherwise = f"write {begun}" if begun else "write the day in full, such as weekly on monday"
    if day in ("weekdays", "weekday"):
        otherwise = "write daily on weekdays"
    return refuse(
        "UNKNOWN_WEEKDAY",
        f"Unknown weekday '{shown(word.text)}' in '{shown(text)}'",
        f"Valid weekdays: {', '.join(WEEKDAYS)}",
        word.start,
        word.end,
        did_you_mean(day, WEEKDAYS, otherwise),
    )


def bad_time(code: str, word: Token, text: str, hint: str) -> Fault:
    """Return the fault of an invalid time of day. The hint has the offending value and the valid range."""
    return refuse(
        code,
        f"Invalid time format '{shown(word.text)}' in '{shown(text)}'",
        "Time must be in 24-hour format (HH:MM, 0-23 hours) or 12-hour format with am/pm",
        word.start,
        word.end,
        hint,
    )


def missing_time(subject: str, at: int) -> Fault:
    """Return E-04: `around` without a time."""
    example = f"{subject} around 14:00"
    says, allows = "'around' requires a time specification", f"Example: {example}"
    return refuse("MISSING_TIME_SPEC", says, allows, at, at + 1, f"write a time after around, such as {example}")


def incomplete_range(subject: str, start: int, end: int) -> Fault:
    """Return E-05: `between` without two times."""
    example = f"{subject} between 9:00 and 17:00"
    says = "'between' requires both a start and an end time connected by 'and'"
    return refuse("INCOMPLETE_RANGE", says, f"Example: {example}", start, end, f"write both times, such as {example}")


def at_time(subject: str, word: Token) -> Fault:
    """Return the fault of `daily at <time>`. Sentences exist to avoid fixed times."""
    return refuse(
        "UNSUPPORTED_SYNTAX",
        f"'{subject} at <time>' syntax is not supported",
        f"Use '{subject} around <time>' for fuzzy scheduling within ±1 hour window",
        word.start,
        word.end,
        f"write around in place of at, as in {subject} around 14:00",
    )


def unexpected(words: Iterable[Token], text: str, allows: str, hint: str) -> Fault:
    """Return the fault of words after the end of a sentence."""
    rest = list(words)
    start, end = rest[0].start, rest[-1].end
    says = f"Unexpected '{shown(text[start:end])}' in '{shown(text)}'"
    return refuse("UNEXPECTED_TOKEN", says, allows, start, end, hint)
