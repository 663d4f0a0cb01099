"""Pieces of a schedule text: each field and each modifier, with its place and its meaning in words."""

from __future__ import annotations

from typing import NamedTuple

from kron.language.dialect import TABLE
from kron.language.english import (
    describe,
    describe_constraints,
    describe_head,
    describe_hours,
    describe_shape,
    describe_window,
    english_policy,
)
from kron.language.english_days import describe_days, describe_dst, describe_valid
from kron.language.english_words import (
    MONTHS,
    ORDINALS,
    bits_of,
    in_months,
    join_names,
    step_of,
    write_numbers,
    write_weekdays,
)
from kron.language.kron import Modifier, scan
from kron.language.options import Seconds
from kron.language.plus import PLUS_MODIFIERS
from kron.language.tokens import tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import HOURS, MINUTES, WEEK, YEAR, Cron
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.sampling import Strategy

FIELDS = ("minute", "hour", "day", "month", "weekday")
_SEED_MEANINGS = {
    Strategy.STABLE: "drawn again for each period",
    Strategy.DAILY: "drawn again each day",
    Strategy.WEEKLY: "drawn again each week",
}


class Piece(NamedTuple):
    """Part of a schedule text: `second` to `weekday`, the name of a modifier such as `win`, or `schedule`."""

    name: str
    text: str
    start: int
    end: int
    meaning: str


def pieces(text: str, schedule: Schedule, *, dialect: str, seconds: Seconds = "first") -> list[Piece]:
    """Return the pieces of a valid schedule text, in the order of the text.

    A sentence, and a text of another scheduler, is one piece.

    Args:
        text: The schedule text, without the name of its dialect.
        schedule: The parsed schedule of the text.
        dialect: Dialect of the text.
        seconds: Position of the seconds in the six fields of the service dialect.
    """
    entry = TABLE[dialect]
    if entry.sentences or not entry.stored:
        return [_piece("schedule", text, 0, len(text), describe(schedule))]
    head, modifiers = scan(text, PLUS_MODIFIERS) if "@" in text else (text, [])
    fields = tokens(head)
    names = FIELDS if len(fields) == 5 else ("second", *FIELDS) if seconds == "first" else (*FIELDS, "second")
    cron = schedule.cron
    if isinstance(cron, Cron) and len(fields) == len(names):
        found = [
            _piece(name, text, field.start, field.end, _field_meaning(name, cron))
            for name, field in zip(names, fields, strict=True)
        ]
    else:
        found = [_piece("schedule", text, fields[0].start, fields[-1].end, describe_head(cron))]
    return [*found, *(_piece(m.name, text, m.start, m.end, _modifier_meaning(m, schedule)) for m in modifiers)]


def _piece(name: str, text: str, start: int, end: int, meaning: str) -> Piece:
    return Piece(name, text[start:end], start, end, meaning)


def _field_meaning(name: str, cron: Cron) -> str:
    match name:
        case "second" | "minute":
            bits = cron.seconds if name == "second" else cron.minutes
            return _numbers_meaning(name, bits_of(bits), bits == MINUTES)
        case "hour":
            return "every hour" if cron.hours == HOURS else describe_hours(bits_of(cron.hours)).strip()
        case "month":
            return "every month" if cron.months == YEAR else in_months(join_names(bits_of(cron.months), MONTHS))
        case _:
            return describe_days(cron) if isinstance(cron, DayCron) else _days_meaning(name, cron)


def _days_meaning(name: str, cron: Cron) -> str:
    if name == "weekday":
        is_every = cron.weekdays == WEEK
        return "every day of the week" if is_every else write_weekdays(bits_of(cron.weekdays), "every", "and")
    return (
        "every day of the month" if cron.any_day else f"on the {join_names(bits_of(cron.days), ORDINALS)} of the month"
    )


def _numbers_meaning(name: str, numbers: list[int], is_every: bool) -> str:
    step = step_of(numbers, 60)
    if is_every:
        return f"every {name}"
    return f"every {step} {name}s" if step and not numbers[0] else write_numbers(name, numbers)


def _modifier_meaning(modifier: Modifier, schedule: Schedule) -> str:
    meanings = {
        "tz": [f"in the time of {schedule.zone.name}"],
        "win": [*describe_window(schedule), "in its nominal second"][:1],
        "dist": [describe_shape(schedule) or "every second is equally likely"],
        "seed": [_SEED_MEANINGS[schedule.seed.strategy]],
        "only": [*describe_constraints(schedule)][:1],
        "avoid": [*describe_constraints(schedule)][-1:],
        "policy": [english_policy(schedule.policy)],
        "dst": [*describe_dst(schedule)],
        "days": [describe_days(schedule.cron)] if isinstance(schedule.cron, DayCron) else [],
        "valid": [*describe_valid(schedule)],
    }
    return ", ".join(meanings.get(modifier.name, ())) or describe_head(schedule.cron)
