"""English phrases that are no sentences of the fuzzy dialect: `every day at noon`, `last friday of the month`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.candidate import Candidate
from kron.language.grammar import DAY_NAMES
from kron.language.interval_form import FIRST_DAY

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_TIME = r"(?:at )?(noon|midnight|[0-9]{1,2}(?::[0-9]{2})? ?(?:am|pm)?)"
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?", re.IGNORECASE)
_PERIODS = {"day": ("0 0 * * *", "daily"), "week": ("0 0 * * 0", "weekly"), "month": ("0 0 1 * *",)}

DAY = "(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?"
_OF_MONTH = "of (?:the |every |each )?month"
LAST_DAY = rf"(?:every |on |the )*last day {_OF_MONTH}(?: {_TIME})?"
NUMBERED = rf"(?:every |on |the )*(first|second|third|fourth|fifth|last) ({DAY}) {_OF_MONTH}(?: {_TIME})?"
EVERY_DAY = rf"(?:every ?)?(day|daily|weekdays?|{DAY}s?) {_TIME}"
WEEKLY = rf"weekly on ({DAY}) {_TIME}"
MONTHLY = rf"(?:monthly|every month),?(?: on)?(?: the)? ([0-9]{{1,2}})(?:st|nd|rd|th)?(?: {_TIME})?"
PERIOD = "every (day|week|month)"
WEEKDAY = f"every ({DAY})"
EVERY_OTHER = f"every (?:other|second) (day|{DAY})(?: {_TIME})?"


def last_day(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `last day of the month`. A phrase without a time is at midnight."""
    yield Candidate(f"{_clock(match[1])} L * *")


def numbered_weekday(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `first monday of the month at 9am`."""
    name, number = _weekday(match[2]), match[1].lower()
    weekday = f"{name}L" if number == "last" else f"{name}#{_ORDINALS.index(number) + 1}"
    yield Candidate(f"{_clock(match[3])} * * {weekday}")


def day_at_time(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `every monday at 9am`: a sentence only has approximate times."""
    yield Candidate(f"{_clock(match[2])} * * {_weekday(match[1])}")


def month_day(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `monthly on the 1st at 9am`."""
    yield Candidate(f"{_clock(match[2])} {int(match[1])} * *")


def period(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `every day`, which is that of the macro `@daily`, and the sentence."""
    yield from (Candidate(text) for text in _PERIODS[match[1].lower()])


def weekday(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `every monday`, at midnight."""
    yield Candidate(f"0 0 * * {_weekday(match[1])}")


def every_other(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `every other day` or `every other tuesday`."""
    name = _weekday(match[1])
    cadence = "2d" if name == "*" else "2w"
    yield Candidate(f"{_clock(match[2])} * * {name} @days(every={cadence},from={FIRST_DAY})")


def _weekday(word: str) -> str:
    if word.lower().startswith("weekday"):
        return "MON-FRI"
    name = word[:3].upper()
    return name if name in DAY_NAMES else "*"


def _clock(time: str | None) -> str:
    """Return minute and hour of a time of day; midnight if there is none."""
    match = _CLOCK.fullmatch(time or "")
    if not match:
        return "0 12" if (time or "").lower() == "noon" else "0 0"
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{int(match[2] or 0)} {hour}"
