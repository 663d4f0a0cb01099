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

_MAX_EXCERPT_LENGTH = 60  # characters of a quoted sentence


def sentence_fault(code: str, problem: str, allowed: str, start: int, end: int, hint: str) -> Fault:
    """Return the fault with a code of both tables; `problem` and `allowed` are the two lines of its message."""
    return Fault(code, f"{problem}\n{allowed}", start, end, hint, code_details(code))


def code_details(code: str) -> dict[str, object]:
    """Return the names of the code in both tables, as details of an error."""
    row, appendix = CODES[code]
    return {"row": row, "appendix_codes": list(appendix)}


def excerpt(text: str) -> str:
    """Return a part of the input for a message: at most 60 characters, and without control characters."""
    printable = "".join(
        char if char.isprintable() else "�" for char in text.strip(" \t\u00a0")[: _MAX_EXCERPT_LENGTH + 1]
    )
    return printable if len(printable) <= _MAX_EXCERPT_LENGTH else printable[:_MAX_EXCERPT_LENGTH] + "…"


def unknown_keyword(word: Token) -> Fault:
    """Return E-01. `word` is the first of the sentence, empty if there is none."""
    known = ", ".join(KEYWORDS)
    lowered = word.text.removeprefix("@").lower()
    known_word = lowered in KEYWORDS and lowered != "every"
    hint = f"write {lowered}" if known_word else _keyword_hint(lowered)
    if not known_word and lowered != "every":
        hint = did_you_mean(lowered, KEYWORDS, hint)
    problem = f"Unknown schedule type '{excerpt(word.text)}'"
    return sentence_fault(
        "UNKNOWN_KEYWORD", problem, f"Valid types: {known}", word.start, max(word.end, word.start + 1), hint
    )


def _keyword_hint(word: str) -> str:
    if word == "every":
        return "remove the @, and give an interval such as every 2h"
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
    full_name = next((name for name in WEEKDAYS if len(day) > 1 and name.startswith(day)), "")
    fallback_hint = f"write {full_name}" if full_name else "write the day in full, such as weekly on monday"
    if day in ("weekdays", "weekday"):
        fallback_hint = "write daily on weekdays"
    return sentence_fault(
        "UNKNOWN_WEEKDAY",
        f"Unknown weekday '{excerpt(word.text)}' in '{excerpt(text)}'",
        f"Valid weekdays: {', '.join(WEEKDAYS)}",
        word.start,
        word.end,
        did_you_mean(day, WEEKDAYS, fallback_hint),
    )


def bad_time(code: str, word: Token, text: str, hint: str) -> Fault:
    """Return the fault of an invalid time of day. The hint has the offending value and the valid range."""
    return sentence_fault(
        code,
        f"Invalid time format '{excerpt(word.text)}' in '{excerpt(text)}'",
        "Time must be in 24-hour format (HH:MM, 0-23 hours) or 12-hour format with am/pm",
        word.start,
        word.end,
        hint,
    )


def missing_time(subject: str, position: int) -> Fault:
    """Return E-04: `around` without a time."""
    example = f"{subject} around 14:00"
    problem, allowed = "'around' requires a time specification", f"Example: {example}"
    return sentence_fault(
        "MISSING_TIME_SPEC", problem, allowed, position, position + 1, f"write a time after around, such as {example}"
    )


def incomplete_range(subject: str, start: int, end: int) -> Fault:
    """Return E-05: `between` without two times."""
    example = f"{subject} between 9:00 and 17:00"
    problem = "'between' requires both a start and an end time connected by 'and'"
    return sentence_fault(
        "INCOMPLETE_RANGE", problem, f"Example: {example}", start, end, f"write both times, such as {example}"
    )


def at_time(subject: str, word: Token) -> Fault:
    """Return the fault of `daily at <time>`. Sentences exist to avoid fixed times."""
    return sentence_fault(
        "UNSUPPORTED_SYNTAX",
        f"'{subject} at <time>' syntax is not supported",
        f"Use '{subject} around <time>' for fuzzy scheduling within ±1 hour window",
        word.start,
        word.end,
        f"write around in place of at, as in {subject} around 14:00",
    )


def unexpected(words: Iterable[Token], text: str, allowed: str, hint: str) -> Fault:
    """Return the fault of words after the end of a sentence."""
    tokens = list(words)
    start, end = tokens[0].start, tokens[-1].end
    problem = f"Unexpected '{excerpt(text[start:end])}' in '{excerpt(text)}'"
    return sentence_fault("UNEXPECTED_TOKEN", problem, allowed, start, end, hint)
