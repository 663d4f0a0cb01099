"""Parser of sentences such as `daily around 14:00`, `weekly on monday` or `every 2h`, without their chosen times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from kron.errors import Place, nearest
from kron.language.fault import Fault
from kron.language.finding import Finding
from kron.language.sentences.clocktime import ParsedTime, read_time
from kron.language.sentences.interval import Fixed, advice, read_interval, uneven_months
from kron.language.sentences.placeholder import (
    MONDAY,
    Around,
    Between,
    Daily,
    Fortnightly,
    Hourly,
    Placeholder,
    Stretch,
    Weekly,
    write_placeholder,
)
from kron.language.sentences.sentence_errors import (
    KEYWORDS,
    WEEKDAYS,
    at_time,
    excerpt,
    incomplete_range,
    missing_time,
    sentence_fault,
    unexpected,
    unknown_keyword,
    unknown_weekday,
)
from kron.language.tokens import MAX_TEXT_LENGTH, Token

_WORDS = re.compile(r"[^ \t\u00a0]+")  # pasted text often contains invisible no-break spaces
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\u0085\u2028\u2029]")
_LOWERCASE_ASCII = str.maketrans({chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)})  # ASCII only


@dataclass(frozen=True, slots=True)
class Sentence:
    """Parsed sentence: its text, its plan, its findings, and whether one of its times has a UTC offset."""

    text: str
    plan: Placeholder | Fixed
    findings: tuple[Finding, ...] = ()
    offset: bool = False

    @property
    def placeholder(self) -> str:
        """Placeholder of section 7.2, or the cron line of a fixed interval."""
        return self.plan.cron if isinstance(self.plan, Fixed) else write_placeholder(self.plan)


def read(text: str) -> Sentence:
    """Parse a sentence, ignoring case."""
    words = _split_words(text)
    keyword, rest = words[0], words[1:]
    if keyword.text not in KEYWORDS:
        raise unknown_keyword(Token(text[keyword.start : keyword.end], keyword.start))
    match keyword.text:
        case "daily":
            return _read_daily(rest, text)
        case "weekly":
            return _read_weekly(rest, text)
        case "hourly":
            rest, workdays = _split_weekdays(rest)
            _check_end(rest, text, "After 'hourly' comes 'on weekdays', or nothing")
            return Sentence(text, Hourly(None, workdays))
        case "every":
            return _read_every(keyword, rest, text)
        case name:
            _check_end(rest, text, f"After '{name}' comes nothing")
            plan = Fortnightly(2 if name == "bi-weekly" else 3)
            return Sentence(text, plan, (uneven_months(text, plan.days),))


def _split_words(text: str) -> list[Token]:
    if len(text) > MAX_TEXT_LENGTH:
        raise Fault(
            "TOO_LONG", f"the text has more than {MAX_TEXT_LENGTH} characters", 0, len(text), "write a sentence"
        )
    if control := _CONTROL.search(text):
        problem, allowed = "The sentence has a line break or control character", "A sentence is one line of words"
        raise sentence_fault(
            "UNEXPECTED_TOKEN", problem, allowed, control.start(), control.end(), "write it on one line"
        )
    words = [Token(word.group().translate(_LOWERCASE_ASCII), word.start()) for word in _WORDS.finditer(text)]
    return words or [Token("", 0)]


def _read_daily(words: list[Token], text: str) -> Sentence:
    words, workdays = _split_weekdays(words)
    constraint = _read_constraint(words, text, "daily")
    plan = Daily(constraint.stretch, (MONDAY + constraint.carry) % 7 if workdays else None)
    return Sentence(text, plan, constraint.findings, constraint.offset)


def _read_weekly(words: list[Token], text: str) -> Sentence:
    if words and words[0].text == "on":
        if len(words) == 1:
            problem, allowed = "'weekly on' requires a weekday", f"Valid weekdays: {', '.join(WEEKDAYS)}"
            end = words[0].end
            raise sentence_fault(
                "MISSING_COMPONENT", problem, allowed, end, end + 1, "write a day, such as weekly on monday"
            )
        day = words[1]
        if day.text not in WEEKDAYS:
            raise unknown_weekday(Token(text[day.start : day.end], day.start), text)
        constraint = _read_constraint(words[2:], text, f"weekly on {day.text}")
        plan = Weekly((WEEKDAYS.index(day.text) + constraint.carry) % 7, constraint.stretch)
        return Sentence(text, plan, constraint.findings, constraint.offset)
    constraint = _read_constraint(words, text, "weekly")
    return Sentence(text, Weekly(None, constraint.stretch), constraint.findings, constraint.offset)


def _read_every(keyword: Token, words: list[Token], text: str) -> Sentence:
    plan, rest = read_interval(keyword, words, text)
    if isinstance(plan, Hourly):
        rest, workdays = _split_weekdays(rest)
        _check_end(rest, text, "After an interval in hours comes 'on weekdays', or nothing")
        return Sentence(text, Hourly(plan.every, workdays))
    _check_end(
        rest, text, "After this interval comes nothing; 'on weekdays' follows daily, hourly and intervals in hours"
    )
    return Sentence(text, plan, tuple(advice(plan, text)))


def _split_weekdays(words: list[Token]) -> tuple[list[Token], bool]:
    """Return the words without `on weekdays` at their end, and whether it was there."""
    if [word.text for word in words[-2:]] == ["on", "weekdays"]:
        return words[:-2], True
    return words, False


class Constraint(NamedTuple):
    """Part of the UTC day, if any, and the number of days by which the conversion to UTC moved its start."""

    stretch: Stretch | None = None
    carry: int = 0
    findings: tuple[Finding, ...] = ()
    offset: bool = False


def _read_constraint(words: list[Token], text: str, subject: str) -> Constraint:
    """Parse the words after the subject, which restrict the time of day."""
    if not words:
        return Constraint()
    first, rest = words[0], words[1:]
    if first.text == "at":
        raise at_time(subject, first)
    if first.text == "around":
        return _read_around(first, rest, text, subject)
    if first.text == "between":
        return _read_between(first, rest, text, subject)
    allowed = f"After '{subject}' comes 'around <time>', 'between <time> and <time>', or nothing"
    raise unexpected(words, text, allowed, _suggest_words(words, subject))


def _suggest_words(words: list[Token], subject: str) -> str:
    """Return the hint for words that are not allowed here: what was probably meant."""
    texts = [word.text for word in words]
    day = next((word for word in texts[:2] if word in WEEKDAYS), "")
    if day and subject in ("daily", "weekly"):
        return f"write weekly on {day}"
    if texts[:2] == ["on", "weekdays"] and subject == "daily":
        return "put on weekdays at the end of the sentence"
    similar = nearest(texts[0], ("around", "between", "on"))
    return f"did you mean '{similar}'?" if similar else f"write {subject}, or {subject} around 14:00"


def _read_around(keyword: Token, words: list[Token], text: str, subject: str) -> Constraint:
    if not words:
        raise missing_time(subject, keyword.end)
    time = read_time(words, text)
    _check_end(time.rest, text, "After the time comes its offset from UTC, or nothing")
    return Constraint(Around(time.clock.minute), time.clock.carry, time.findings, time.offset is not None)


def _read_between(keyword: Token, words: list[Token], text: str, subject: str) -> Constraint:
    and_index = next((i for i, word in enumerate(words) if word.text == "and"), len(words))
    start_words, end_words = words[:and_index], words[and_index + 1 :]
    if not start_words or not end_words:
        raise incomplete_range(subject, keyword.start, (words or [keyword])[-1].end)
    start, end = read_time(start_words, text), read_time(end_words, text)
    _check_end(start.rest, text, "Between the first time and 'and' comes its offset from UTC, or nothing")
    _check_end(end.rest, text, "After the second time comes its offset from UTC, or nothing")
    if start.clock.minute == end.clock.minute:
        problem = f"The range in '{excerpt(text)}' starts and ends at the same time"
        allowed = "A range of zero duration leaves no minutes to scatter over"
        hint = "move one end, or write daily around <time>"
        raise sentence_fault("ZERO_DURATION_RANGE", problem, allowed, start_words[0].start, end_words[-1].end, hint)
    findings = (
        *start.findings,
        *end.findings,
        *_find_one_sided_offset(start, end, text, start_words[0].start, end_words[-1].end),
    )
    offset = start.offset is not None or end.offset is not None
    return Constraint(Between(start.clock.minute, end.clock.minute), start.clock.carry, findings, offset)


def _find_one_sided_offset(start: ParsedTime, end: ParsedTime, text: str, first: int, last: int) -> list[Finding]:
    if (start.offset is None) == (end.offset is None):
        return []
    message = "only one end of the range has an offset; the other is read as UTC"
    hint = "write the offset at both ends"
    return [Finding("warning", "ONE_SIDED_OFFSET", message, Place(text, first, last), hint)]


def _check_end(rest: list[Token], text: str, allowed: str) -> None:
    """Reject words after the end of a sentence."""
    if not rest:
        return
    word = rest[0].text
    zone_match = re.fullmatch(r"[a-z]{1,5}([+-][0-9:]+)?|[+-][0-9:]+|[a-z_]+/[a-z_/]+", word)
    hint = "remove it"
    if "offset" in allowed and zone_match and word not in ("on", "and", "to", "or", "every", "at"):
        hint = "write an offset as utc+9 or utc-05:30, and remove anything else"
    raise unexpected(rest, text, allowed, hint)
