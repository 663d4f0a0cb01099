"""Parser of times of day, such as `14:00`, `3:30pm`, `noon` or `9am utc+9`, into minutes of the UTC day."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import Place
from kron.language.fault import Fault
from kron.language.finding import Finding
from kron.language.sentences.sentence_errors import bad_time, excerpt, sentence_fault
from kron.language.tokens import Token

DAY = 1_440  # minutes

KEYWORDS = {"midnight": 0, "noon": 720}
ABBREVIATIONS = {"pst": -480, "pdt": -420, "est": -300, "edt": -240, "jst": 540, "ist": 330, "pt": -480}
MAX_OFFSET_MINUTES, MIN_OFFSET_MINUTES = 14 * 60, -12 * 60

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_TWELVE_HOUR_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(am|pm)")
_BEFORE_MERIDIEM = re.compile(r"[0-9]{1,2}(:[0-9]{2})?")
_NEGATIVE_HOUR = re.compile(r"(-0?[1-9][0-9]?):[0-9]{2}")
_NEGATIVE_MINUTE = re.compile(r"[0-9]{1,2}:(-[0-9]{1,2})")
_OFFSET = re.compile(r"utc([+-])([0-9]{1,2})(?::([0-5][0-9]))?")


class ClockTime(NamedTuple):
    """Minute of the UTC day, and the number of days by which the conversion to UTC moved it: -1, 0 or 1."""

    minute: int
    carry: int = 0


class ParsedTime(NamedTuple):
    """Parsed time, its written UTC offset in minutes (None if there is none), and the words that follow."""

    clock: ClockTime
    offset: int | None
    rest: list[Token]
    findings: tuple[Finding, ...]


def read_time(words: list[Token], text: str) -> ParsedTime:
    """Parse the time at the beginning of `words`, which are lower-case words of `text`, at least one."""
    word, written, rest = _split_time(words, text)
    local = _read_local_minute(written, word, text)
    offset = _read_offset(rest[0], text) if rest else None
    if offset is None:
        return ParsedTime(ClockTime(local), None, rest, ())
    return ParsedTime(to_utc(local, offset), offset, rest[1:], tuple(_find_ambiguous_zone(rest[0], text)))


def to_utc(local: int, offset: int) -> ClockTime:
    """Convert a local minute of the day to UTC. All values are whole minutes, so half-hour offsets are exact."""
    carry, minute = divmod(local - offset, DAY)
    return ClockTime(minute, carry)


def write_time(minute: int) -> str:
    """Return a minute of the day as sentences write it, such as `9:05`."""
    return f"{minute // 60}:{minute % 60:02d}"


def _split_time(words: list[Token], text: str) -> tuple[Token, str, list[Token]]:
    """Return the token of the time, its text without spaces, and the words that follow. `3 pm` is one time."""
    first = words[0]
    if len(words) > 1 and words[1].text in ("am", "pm") and _BEFORE_MERIDIEM.fullmatch(first.text):
        return Token(text[first.start : words[1].end], first.start), first.text + words[1].text, words[2:]
    return first, first.text, words[1:]


def _read_local_minute(written: str, word: Token, text: str) -> int:
    """Return the minute of the day, before any offset."""
    if written in KEYWORDS:
        return KEYWORDS[written]
    if match := _TWELVE_HOUR_CLOCK.fullmatch(written):
        return _read_twelve_hour(int(match[1]), int(match[2] or "0"), match[3], word, text)
    if match := _CLOCK.fullmatch(written):
        hour, minute = int(match[1]), int(match[2])
        if hour > 23:
            raise _hour_fault(hour, word, text)
        if minute > 59:
            raise _minute_fault(minute, word, text)
        return hour * 60 + minute
    if match := _NEGATIVE_HOUR.fullmatch(written):
        raise _hour_fault(match[1], word, text)
    if match := _NEGATIVE_MINUTE.fullmatch(written):
        raise _minute_fault(match[1], word, text)
    raise bad_time("INVALID_TIME_FORMAT", word, text, _format_hint(written))


def _read_twelve_hour(hour: int, minute: int, meridiem: str, word: Token, text: str) -> int:
    if not 1 <= hour <= 12:
        hint = f"the hour {hour} is outside the valid range 1-12 of times with am and pm"
        raise bad_time("INVALID_12H", word, text, f"{hint}; write {hour}:{minute:02d}" if 0 <= hour <= 23 else hint)
    if minute > 59:
        raise _minute_fault(minute, word, text)
    return (hour % 12 + (12 if meridiem == "pm" else 0)) * 60 + minute


def _hour_fault(hour: int | str, word: Token, text: str) -> Fault:
    midnight_hint = "; midnight is 0:00" if hour == 24 else ""
    hint = f"the hour {hour} is outside the valid range 0-23{midnight_hint}"
    return bad_time("HOUR_OUT_OF_RANGE", word, text, hint)


def _minute_fault(minute: int | str, word: Token, text: str) -> Fault:
    return bad_time("MINUTE_OUT_OF_RANGE", word, text, f"the minute {minute} is outside the valid range 0-59")


def _format_hint(word: str) -> str:
    if re.fullmatch(r"[0-9]{1,2}", word) and int(word) <= 23:
        hour = int(word)
        return f"write {hour}:00, or {hour}am or {hour}pm" if 1 <= hour <= 12 else f"write {hour}:00"
    if match := re.fullmatch(r"(.+?)(utc[+-].*)", word):
        return f"put a space before the offset: {excerpt(match[1])} {excerpt(match[2])}"
    return "write a time such as 14:00, 9:30, 3pm, 3:30pm, noon or midnight"


def _read_offset(word: Token, text: str) -> int | None:
    """Return the UTC offset in minutes; None if the word is not an offset."""
    if word.text in ABBREVIATIONS:
        return ABBREVIATIONS[word.text]
    if not word.text.startswith("utc"):
        return None
    match = _OFFSET.fullmatch(word.text)
    if not match:
        allowed = "An offset is utc+H, utc-H, utc+H:MM or utc-H:MM, with two digits of minutes from 00 to 59"
        hint = "remove it: times are UTC" if word.text == "utc" else "write it in one word, such as utc+9 or utc-05:30"
        raise sentence_fault("MALFORMED_OFFSET", _invalid_offset(word, text), allowed, word.start, word.end, hint)
    minutes = int(match[2]) * 60 + int(match[3] or "0")
    offset = -minutes if match[1] == "-" else minutes
    if not MIN_OFFSET_MINUTES <= offset <= MAX_OFFSET_MINUTES:
        allowed, hint = "Offsets run from utc-12:00 to utc+14:00", "write the offset of a place on earth, such as utc+9"
        raise sentence_fault("INVALID_OFFSET", _invalid_offset(word, text), allowed, word.start, word.end, hint)
    return offset


def _invalid_offset(word: Token, text: str) -> str:
    return f"Invalid UTC offset '{excerpt(word.text)}' in '{excerpt(text)}'"


def _find_ambiguous_zone(word: Token, text: str) -> list[Finding]:
    if word.text != "pt":
        return []
    message = "PT is PST in winter and PDT in summer; it is read as PST, UTC-8, all year"
    hint = "write pst or pdt, or the offset"
    return [Finding("warning", "AMBIGUOUS_ZONE", message, Place(text, word.start, word.end), hint)]
