"""Parser of sentences such as `daily around 14:00`, `weekly on monday` or `every 2h`, without their chosen times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from kron.errors import Place, nearest
from kron.language.fault import Fault
from kron.language.lint import Finding
from kron.language.sentences.clocktime import Read, read_time
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
    incomplete_range,
    missing_time,
    refuse,
    shown,
    unexpected,
    unknown_keyword,
    unknown_weekday,
)
from kron.language.tokens import MAX_TEXT_LENGTH, Token

_WORDS = re.compile(r"[^ \t\u00a0]+")  # pasted text often contains invisible no-break spaces
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\u0085\u2028\u2029]")
_CAPITALS = str.maketrans({chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)})  # ASCII only


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
    words = _words(text)
    keyword, rest = words[0], words[1:]
    if keyword.text not in KEYWORDS:
        raise unknown_keyword(Token(text[keyword.start : keyword.end], keyword.start))
    match keyword.text:
        case "daily":
            return _daily(rest, text)
        case "weekly":
            return _weekly(rest, text)
        case "hourly":
            rest, workdays = _on_weekdays(rest)
            _end(rest, text, "After 'hourly' comes 'on weekdays', or nothing")
            return Sentence(text, Hourly(None, workdays))
        case "every":
            return _every(keyword, rest, text)
        case name:
            _end(rest, text, f"After '{name}' comes nothing")
            plan = Fortnightly(2 if name == "bi-weekly" else 3)
            return Sentence(text, plan, (uneven_months(text, plan.days),))


def _words(text: str) -> list[Token]:
    if len(text) > MAX_TEXT_LENGTH:
        raise Fault(
            "TOO_LONG", f"the text has more than {MAX_TEXT_LENGTH} characters", 0, len(text), "write a sentence"
        )
    if control := _CONTROL.search(text):
        says, allows = "The sentence has a line break or control character", "A sentence is one line of words"
        raise refuse("UNEXPECTED_TOKEN", says, allows, control.start(), control.end(), "write it on one line")
    words = [Token(word.group().translate(_CAPITALS), word.start()) for word in _WORDS.finditer(text)]
    return words or [Token("", 0)]


def _daily(words: list[Token], text: str) -> Sentence:
    words, workdays = _on_weekdays(words)
    found = _constraint(words, text, "daily")
    plan = Daily(found.stretch, (MONDAY + found.carry) % 7 if workdays else None)
    return Sentence(text, plan, found.findings, found.offset)


def _weekly(words: list[Token], text: str) -> Sentence:
    if words and words[0].text == "on":
        if len(words) == 1:
            says, allows = "'weekly on' requires a weekday", f"Valid weekdays: {', '.join(WEEKDAYS)}"
            end = words[0].end
            raise refuse("MISSING_COMPONENT", says, allows, end, end + 1, "write a day, such as weekly on monday")
        day = words[1]
        if day.text not in WEEKDAYS:
            raise unknown_weekday(Token(text[day.start : day.end], day.start), text)
        found = _constraint(words[2:], text, f"weekly on {day.text}")
        plan = Weekly((WEEKDAYS.index(day.text) + found.carry) % 7, found.stretch)
        return Sentence(text, plan, found.findings, found.offset)
    found = _constraint(words, text, "weekly")
    return Sentence(text, Weekly(None, found.stretch), found.findings, found.offset)


def _every(keyword: Token, words: list[Token], text: str) -> Sentence:
    plan, rest = read_interval(keyword, words, text)
    if isinstance(plan, Hourly):
        rest, workdays = _on_weekdays(rest)
        _end(rest, text, "After an interval in hours comes 'on weekdays', or nothing")
        return Sentence(text, Hourly(plan.every, workdays))
    _end(rest, text, "After this interval comes nothing; 'on weekdays' follows daily, hourly and intervals in hours")
    return Sentence(text, plan, tuple(advice(plan, text)))


def _on_weekdays(words: list[Token]) -> tuple[list[Token], bool]:
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


def _constraint(words: list[Token], text: str, subject: str) -> Constraint:
    """Parse the words after the subject, which restrict the time of day."""
    if not words:
        return Constraint()
    first, rest = words[0], words[1:]
    if first.text == "at":
        raise at_time(subject, first)
    if first.text == "around":
        return _around(first, rest, text, subject)
    if first.text == "between":
        return _between(first, rest, text, subject)
    allows = f"After '{subject}' comes 'around <time>', 'between <time> and <time>', or nothing"
    raise unexpected(words, text, allows, _instead(words, subject))


def _instead(words: list[Token], subject: str) -> str:
    """Return the hint for words that are not allowed here: what was probably meant."""
    texts = [word.text for word in words]
    day = next((word for word in texts[:2] if word in WEEKDAYS), "")
    if day and subject in ("daily", "weekly"):
        return f"write weekly on {day}"
    if texts[:2] == ["on", "weekdays"] and subject == "daily":
        return "put on weekdays at the end of the sentence"
    close = nearest(texts[0], ("around", "between", "on"))
    return f"did you mean '{close}'?" if close else f"write {subject}, or {subject} around 14:00"


def _around(keyword: Token, words: list[Token], text: str, subject: str) -> Constraint:
    if not words:
        raise missing_time(subject, keyword.end)
    read = read_time(words, text)
    _end(read.rest, text, "After the time comes its offset from UTC, or nothing")
    return Constraint(Around(read.clock.minute), read.clock.carry, read.findings, read.offset is not None)


def _between(keyword: Token, words: list[Token], text: str, subject: str) -> Constraint:
    cut = next((i for i, word in enumerate(words) if word.text == "and"), len(words))
    left, right = words[:cut], words[cut + 1 :]
    if not left or not right:
        raise incomplete_range(subject, keyword.start, (words or [keyword])[-1].end)
    start, end = read_time(left, text), read_time(right, text)
    _end(start.rest, text, "Between the first time and 'and' comes its offset from UTC, or nothing")
    _end(end.rest, text, "After the second time comes its offset from UTC, or nothing")
    if start.clock.minute == end.clock.minute:
        says = f"The range in '{shown(text)}' starts and ends at the same time"
        allows = "A range of zero duration leaves no minutes to scatter over"
        hint = "move one end, or write daily around <time>"
        raise refuse("ZERO_DURATION_RANGE", says, allows, left[0].start, right[-1].end, hint)
    findings = (*start.findings, *end.findings, *_one_sided(start, end, text, left[0].start, right[-1].end))
    offset = start.offset is not None or end.offset is not None
    return Constraint(Between(start.clock.minute, end.clock.minute), start.clock.carry, findings, offset)


def _one_sided(start: Read, end: Read, text: str, first: int, last: int) -> list[Finding]:
    if (start.offset is None) == (end.offset is None):
        return []
    message = "only one end of the range has an offset; the other is read as UTC"
    hint = "write the offset at both ends"
    return [Finding("warning", "ONE_SIDED_OFFSET", message, Place(text, first, last), hint)]


def _end(rest: list[Token], text: str, allows: str) -> None:
    """Reject words after the end of a sentence."""
    if not rest:
        return
    word = rest[0].text
    zoned = re.fullmatch(r"[a-z]{1,5}([+-][0-9:]+)?|[+-][0-9:]+|[a-z_]+/[a-z_/]+", word)
    hint = "remove it"
    if "offset" in allows and zoned and word not in ("on", "and", "to", "or", "every", "at"):
        hint = "write an offset as utc+9 or utc-05:30, and remove anything else"
    raise unexpected(rest, text, allows, hint)
