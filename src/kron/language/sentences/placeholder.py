"""Placeholders such as `FUZZY:DAILY_AROUND:14:0 * * *`: compiled sentences, before an identity selects the time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from kron.language.fault import Fault
from kron.language.sentences.clocktime import DAY

AROUND_MINUTES = 60  # minutes on either side of `around`
HOURS = (1, 2, 3, 4, 6, 8, 12)  # divisors of the day, shorter than the day
MONDAY = 1


class Around(NamedTuple):
    """Window of an hour before and after a minute of the day."""

    minute: int

    @property
    def first(self) -> int:
        """Earliest minute; negative on the day before."""
        return self.minute - AROUND_MINUTES

    @property
    def last(self) -> int:
        """Latest minute, included; 1440 or more on the day after."""
        return self.minute + AROUND_MINUTES

    @property
    def size(self) -> int:
        """Number of minutes that the hash selects from; the last minute is not among them."""
        return 2 * AROUND_MINUTES


class Between(NamedTuple):
    """Window from one minute of the day to another, across midnight if the second is smaller."""

    start: int
    end: int

    @property
    def first(self) -> int:
        """Earliest minute."""
        return self.start

    @property
    def last(self) -> int:
        """Latest minute, included; 1440 or more on the day after."""
        return self.start + self.size

    @property
    def size(self) -> int:
        """Number of minutes that the hash selects from; the last minute is not among them."""
        return self.end - self.start if self.end >= self.start else DAY - self.start + self.end


Stretch = Around | Between


@dataclass(frozen=True, slots=True)
class Daily:
    """Once a day. `workdays` is the first of the five weekdays on which it runs, in UTC; None means every day."""

    stretch: Stretch | None = None
    workdays: int | None = None


@dataclass(frozen=True, slots=True)
class Hourly:
    """Once every N hours, at the same minute; `every` is None for the sentence `hourly`."""

    every: int | None = None
    workdays: bool = False


@dataclass(frozen=True, slots=True)
class Weekly:
    """Once a week, on a day of the UTC week (0 is Sunday); None means that the identity selects the day."""

    day: int | None = None
    stretch: Stretch | None = None


@dataclass(frozen=True, slots=True)
class Fortnightly:
    """Once every two or three weeks."""

    weeks: int = 2

    @property
    def days(self) -> int:
        """Number of days from one run to the next."""
        return 7 * self.weeks


Placeholder = Daily | Hourly | Weekly | Fortnightly


def write_placeholder(plan: Placeholder) -> str:
    """Return the placeholder in the form of section 7.2, with numbers without leading zeros."""
    match plan:
        case Daily(stretch, workdays):
            name = "DAILY" + _window_suffix(stretch) + ("" if workdays is None else "_WEEKDAYS")
            return f"FUZZY:{name}{_write_times(stretch)} * * {_write_workdays(workdays)}"
        case Hourly(every, workdays):
            return f"FUZZY:HOURLY{'_WEEKDAYS' if workdays else ''}{f':{every}' if every else ''} * * *"
        case Weekly(day, stretch):
            times = _window_suffix(stretch).replace("_", ":") + _write_times(stretch)
            return f"FUZZY:WEEKLY{times} * * *" if day is None else f"FUZZY:WEEKLY:{day}{times} * * {day}"
        case Fortnightly(weeks):
            return f"FUZZY:{'BI' if weeks == 2 else 'TRI'}-WEEKLY * * *"


def _window_suffix(stretch: Stretch | None) -> str:
    return {Around: "_AROUND", Between: "_BETWEEN"}[type(stretch)] if stretch else ""


def _write_times(stretch: Stretch | None) -> str:
    return "".join(f":{minute // 60}:{minute % 60}" for minute in stretch or ())


def _write_workdays(first: int | None) -> str:
    """Return the weekday field: `*` for Monday to Friday, which the name implies, or days moved by UTC conversion."""
    return "*" if first in (None, MONDAY) else f"{first}-{first + 4}"


PREFIX = "FUZZY:"  # a text that begins with it is a placeholder
_PLACEHOLDER = re.compile(r"FUZZY:([A-Z][A-Z_-]*)((?:[:/][A-Z0-9]+)*) \* \* (\*|[0-6](?:-[0-6])?)")
_PLACEHOLDER_HINT = "use the placeholder of a sentence, such as FUZZY:DAILY_AROUND:14:0 * * *"


def is_placeholder(text: str) -> bool:
    """Return whether a text names itself a placeholder."""
    return text.lstrip(" \t").startswith(PREFIX)


def read_placeholder(text: str) -> Placeholder:
    """Parse a placeholder. The spellings of the public implementation (`HOURLY/2`, `WEEKLY_AROUND:1:9:0`) are valid."""
    match = _PLACEHOLDER.fullmatch(text)
    if not match:
        raise _placeholder_fault(text, "it does not have the form FUZZY:<TYPE>[:<PARAMS>] * * <day>")
    name, days = match[1].replace("BI_W", "BI-W").replace("TRI_W", "TRI-W"), match[3]
    words = [word for word in re.split("[:/]", match[2]) if word]
    if name in ("WEEKLY_AROUND", "WEEKLY_BETWEEN"):
        name, words = "WEEKLY", [*words[:1], name.removeprefix("WEEKLY_"), *words[1:]]
    if name == "WEEKLY":
        return _read_weekly(words, days, text)
    base, weekdays = name.removesuffix("_WEEKDAYS"), name.endswith("_WEEKDAYS")
    numbers = [_read_number(word, text) for word in words]
    if base.startswith("DAILY"):
        return Daily(
            _read_stretch(base.removeprefix("DAILY").lstrip("_"), numbers, text),
            _read_first_workday(days, weekdays, text),
        )
    if days != "*":
        raise _placeholder_fault(text, f"{name} has no day of the week")
    if base == "HOURLY":
        return _read_hourly(numbers, weekdays, text)
    if name in ("BI-WEEKLY", "TRI-WEEKLY") and not numbers:
        return Fortnightly(2 if name == "BI-WEEKLY" else 3)
    raise _placeholder_fault(text, f"{name} does not take {len(numbers)} parameters")


def _read_weekly(words: list[str], days: str, text: str) -> Weekly:
    if not words or words[0] in ("AROUND", "BETWEEN"):
        if days != "*":
            raise _placeholder_fault(text, "the day is in the last field only")
        kind, numbers = (words[0], [_read_number(word, text) for word in words[1:]]) if words else ("", [])
        return Weekly(None, _read_stretch(kind, numbers, text))
    day = _read_number(words[0], text)
    if day > 6:
        raise _placeholder_fault(text, f"the day {day} is outside the valid range 0-6")
    if days not in ("*", str(day)):
        raise _placeholder_fault(text, f"the days {day} and {days} differ")
    kind, numbers = (words[1], [_read_number(word, text) for word in words[2:]]) if len(words) > 1 else ("", [])
    return Weekly(day, _read_stretch(kind, numbers, text))


def _read_hourly(numbers: list[int], weekdays: bool, text: str) -> Hourly:
    if len(numbers) > 1 or any(number not in HOURS for number in numbers):
        raise _placeholder_fault(text, f"the interval is not one of {', '.join(map(str, HOURS))} hours")
    return Hourly(numbers[0] if numbers else None, weekdays)


def _read_stretch(kind: str, numbers: list[int], text: str) -> Stretch | None:
    expected_count = {"": 0, "AROUND": 2, "BETWEEN": 4}.get(kind)
    if expected_count != len(numbers):
        raise _placeholder_fault(text, f"{kind or 'this form'} does not take {len(numbers)} parameters")
    times = [_read_minute(hour, minute, text) for hour, minute in zip(numbers[::2], numbers[1::2], strict=True)]
    if len(times) == 2 and times[0] == times[1]:
        raise _placeholder_fault(text, "the range has no duration")
    return Between(*times) if kind == "BETWEEN" else Around(*times) if kind else None


def _read_minute(hour: int, minute: int, text: str) -> int:
    if hour > 23 or minute > 59:
        raise _placeholder_fault(text, f"{hour}:{minute:02d} is outside the valid range 0:00-23:59")
    return hour * 60 + minute


def _read_first_workday(days: str, weekdays: bool, text: str) -> int | None:
    ranges = {"*": MONDAY, "1-5": MONDAY, "0-4": 0, "2-6": 2} if weekdays else {"*": None}
    if days not in ranges:
        raise _placeholder_fault(text, f"the days {days} are not among {', '.join(ranges)}")
    return ranges[days]


def _read_number(word: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,2}", word):
        raise _placeholder_fault(text, f"{word[:20]!r} is not a number of one or two digits")
    return int(word)


def _placeholder_fault(text: str, reason: str) -> Fault:
    return Fault("UNKNOWN_PLACEHOLDER", f"not a valid placeholder: {reason}", 0, max(1, len(text)), _PLACEHOLDER_HINT)
