"""Parser of intervals after `every`: `5 minutes`, `2h`, `2 days`, `2 weeks` -> a cron line, or a plan for hours."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kron.errors import Place, did_you_mean
from kron.language.fault import Fault
from kron.language.finding import Finding
from kron.language.sentences.placeholder import HOURS, Hourly
from kron.language.sentences.sentence_errors import WEEKDAYS, excerpt, sentence_fault
from kron.language.tokens import Token

UNITS = {"minutes": "minute m", "hours": "hour h", "days": "day d", "weeks": "week w"}
UNIT_OF = {name: unit for unit, others in UNITS.items() for name in (unit, *others.split())}
MIN_INTERVAL_MINUTES = 5
MAX_INTERVALS = {"minutes": 59, "days": 31, "weeks": 4}  # maximum values of the fields of a cron line

_NUMBER = re.compile(r"([0-9]+)([a-z]*)")
_FRACTION = re.compile(r"[0-9]+[.,/][0-9]+[a-z]*")
_NEGATIVE = re.compile(r"-[0-9]+[a-z]*")
_EQUIVALENTS = {
    "minute": "every 5 minutes",
    "hour": "hourly",
    "day": "daily",
    "week": "weekly",
    "weekday": "daily on weekdays",
}


@dataclass(frozen=True, slots=True)
class Fixed:
    """Cron line that does not depend on the identity. `days` and `weeks` are the cadence if it counts those."""

    cron: str
    days: int = 0
    weeks: int = 0


def read_interval(keyword: Token, words: list[Token], text: str) -> tuple[Fixed | Hourly, list[Token]]:
    """Parse the interval at the beginning of `words`, and return it with the words that follow.

    `keyword` is the word `every` before them.
    """
    if not words:
        allowed, hint = "An interval is a whole number and a unit", "write it in full, such as every 2h"
        raise sentence_fault(
            "MISSING_COMPONENT", "'every' requires an interval", allowed, keyword.end, keyword.end + 1, hint
        )
    number = _NUMBER.fullmatch(words[0].text)
    if not number:
        raise _number_fault(words[0], words, text)
    attached_unit = Token(number[2], words[0].start + len(number[1]))
    unit, rest = (attached_unit, words[1:]) if attached_unit.text else (words[1] if words[1:] else None, words[2:])
    if unit is None:
        problem, allowed = f"'{excerpt(text)}' has no unit", _valid_units()
        end = words[0].end
        raise sentence_fault("MISSING_COMPONENT", problem, allowed, end, end + 1, "write a unit, such as every 2h")
    if unit.text not in UNIT_OF:
        raise sentence_fault(
            "UNKNOWN_UNIT",
            f"Unknown unit '{excerpt(unit.text)}' in '{excerpt(text)}'",
            _valid_units(),
            unit.start,
            unit.end,
            did_you_mean(unit.text, UNIT_OF, "write one of them, such as every 2 hours"),
        )
    return _build_plan(Token(number[1], words[0].start), UNIT_OF[unit.text], text), rest


def _build_plan(word: Token, unit: str, text: str) -> Fixed | Hourly:
    digits = word.text.lstrip("0")
    number = int(digits or "0") if len(digits) < 10 else 10**10
    if not number:
        problem, allowed = _invalid_interval(word, text), "Intervals are whole numbers from 1 on"
        raise sentence_fault(
            "NON_POSITIVE_INTERVAL", problem, allowed, word.start, word.end, "write 1 or more, such as every 2h"
        )
    if unit == "hours":
        if number not in HOURS:
            raise _uneven_hours_fault(number, word, text)
        return Hourly(number)
    if unit == "minutes" and number < MIN_INTERVAL_MINUTES:
        problem = f"Interval '{word.text}' in '{excerpt(text)}' is too small"
        allowed = "The minimum permitted interval is 5 minutes: GitHub Actions starts no schedule more often"
        raise sentence_fault(
            "INTERVAL_TOO_SMALL", problem, allowed, word.start, word.end, "write every 5 minutes, or more"
        )
    if number > MAX_INTERVALS[unit]:
        raise _too_long_fault(number, unit, word, text)
    match unit:
        case "minutes":
            return Fixed(f"*/{number} * * * *")
        case "days":
            return Fixed(f"0 0 */{number} * *", days=number)
        case _:  # only weekly always runs on Sunday; longer intervals count days of the month
            return Fixed("0 0 * * 0" if number == 1 else f"0 0 */{7 * number} * *", weeks=number)


def _uneven_hours_fault(number: int, word: Token, text: str) -> Fault:
    nearest_hours = max((hours for hours in HOURS if hours <= number), default=1)
    hint = "write daily" if number == 24 else f"write every {nearest_hours}h"
    allowed = f"Valid hour intervals: {', '.join(f'{hours}h' for hours in HOURS)}"
    return sentence_fault("UNSUPPORTED_INTERVAL", _invalid_interval(word, text), allowed, word.start, word.end, hint)


def _too_long_fault(number: int, unit: str, word: Token, text: str) -> Fault:
    hours = number // 60 if unit == "minutes" and not number % 60 else 0
    hint = f"write every {hours}h" if hours in HOURS else ""
    if unit == "minutes":
        hint = hint or f"choose at most {MAX_INTERVALS[unit]} minutes, or hours that divide a day"
    allowed = f"Valid intervals in {unit}: {MIN_INTERVAL_MINUTES if unit == 'minutes' else 1} to {MAX_INTERVALS[unit]}"
    hint = hint or "write a cron line, such as 23 4 1 * *; sentences cover at most a month"
    return sentence_fault("UNSUPPORTED_INTERVAL", _invalid_interval(word, text), allowed, word.start, word.end, hint)


def _number_fault(word: Token, words: list[Token], text: str) -> Fault:
    allowed = "Intervals are whole numbers; fractional values are not supported"
    if _NEGATIVE.fullmatch(word.text):
        allowed, hint = "Intervals are whole numbers from 1 on", "write 1 or more, such as every 2h"
        return sentence_fault(
            "NON_POSITIVE_INTERVAL", _invalid_interval(word, text), allowed, word.start, word.end, hint
        )
    hint = "write a whole number and a unit, such as every 2h or every 30 minutes"
    if _FRACTION.fullmatch(word.text):
        hint = "write a whole number, in a smaller unit if need be"
    elif word.text in WEEKDAYS:
        hint = f"write weekly on {word.text}"
    elif len(words) == 1 and word.text.removesuffix("s") in _EQUIVALENTS:
        hint = f"write {_EQUIVALENTS[word.text.removesuffix('s')]}"
    elif word.text in ("day", "days"):
        hint = "write daily in place of every day"
    return sentence_fault("NON_INTEGER_INTERVAL", _invalid_interval(word, text), allowed, word.start, word.end, hint)


def _invalid_interval(word: Token, text: str) -> str:
    return f"Invalid interval '{excerpt(word.text)}' in '{excerpt(text)}'"


def _valid_units() -> str:
    return "Valid units: " + ", ".join(f"{unit} ({', '.join(others.split())})" for unit, others in UNITS.items())


def advice(plan: Fixed, text: str) -> list[Finding]:
    """Return the findings about a fixed interval: all workflows share its times, and it can be uneven."""
    days = plan.days or 7 * plan.weeks
    instead = "hourly" if not days else "daily" if days < 4 else "weekly" if days < 11 else "bi-weekly"
    findings = [fixed(text, instead if days < 18 else "tri-weekly")]
    if not days:
        step = int(plan.cron.split()[0].removeprefix("*/"))
        if 60 % step:
            message = f"*/{step} starts again every hour: the last gap of an hour is {60 % step} minutes, not {step}"
            hint = "choose 5, 6, 10, 12, 15, 20 or 30 minutes"
            findings.append(Finding("warning", "UNEVEN_STEP", message, Place(text, 0, len(text)), hint))
    elif days not in (1, 7) or plan.days == 7:
        findings.append(uneven_months(text, days))
    return findings


def fixed(text: str, instead: str) -> Finding:
    """Return the warning of section 9.3 about times that all workflows share."""
    message = f"Consider using '{instead}' instead of fixed interval"
    hint = "Fixed intervals create load spikes when many workflows run simultaneously"
    return Finding("warning", "FIXED_INTERVAL", message, Place(text, 0, len(text)), hint)


def uneven_months(text: str, days: int) -> Finding:
    """Return the warning that a cron line cannot count days across the end of a month."""
    message = f"*/{days} counts from the 1st of each month: the last gap of a month is shorter than {days} days"
    hint = 'parse(..., cadence="exact") keeps the cadence where Kron itself runs the job'
    return Finding("warning", "UNEVEN_CADENCE", message, Place(text, 0, len(text)), hint)
