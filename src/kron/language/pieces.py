"""Pieces of a schedule text: each field and each modifier, with its meaning in English."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kron.language.canonical import canonical, unparse
from kron.language.dialect import TABLE
from kron.language.english import (
    describe_clauses,
    describe_head,
    describe_redraw,
    describe_shape,
    describe_window,
    english_policy,
)
from kron.language.english_days import (
    describe_dates,
    describe_days,
    describe_dst,
    describe_valid,
    describe_weekdays,
)
from kron.language.english_words import (
    MONTHS,
    ORDINALS,
    bits_of,
    join_names,
    join_words,
    step_of,
    write_numbers,
    write_weekdays,
)
from kron.language.grammar import DAY, FIELD_KINDS, HOUR, MINUTE, MONTH, SECOND, Kind
from kron.language.kron import Modifier, scan
from kron.language.plus import PLUS_MODIFIERS
from kron.language.tokens import tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import WEEK, Cron
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.window import INSTANT


class Piece(NamedTuple):
    """Field, head or modifier of a text: what is written, where it begins, and what it means."""

    name: str  # `second` to `weekday`, the name of a modifier such as `win`, or `schedule`
    text: str
    start: int
    meaning: str

    @property
    def end(self) -> int:
        """Where the piece ends in the text."""
        return self.start + len(self.text)


class Pieces(NamedTuple):
    """Text that was taken apart, its dialect, and its pieces in their order."""

    text: str
    dialect: str
    pieces: list[Piece]


def pieces_of(text: str, dialect: str, schedule: Schedule) -> Pieces:
    """Take a valid text apart. A sentence, and a text of another scheduler, is replaced by its canonical text.

    Args:
        text: The text, without the name of its dialect. Six fields start with the seconds.
        dialect: Dialect of the text.
        schedule: Schedule that the text was parsed into.
    """
    if TABLE[dialect].sentences or not TABLE[dialect].stored:
        text, dialect = unparse(schedule), canonical(schedule).dialect
    head, modifiers = scan(text, PLUS_MODIFIERS) if dialect in ("kron", "plus") else (text, [])
    parts = [
        *_head_pieces(head, schedule),
        *(_modifier_piece(text, each, schedule) for each in modifiers),
    ]
    return Pieces(text, dialect, parts)


def _modifier_piece(text: str, modifier: Modifier, schedule: Schedule) -> Piece:
    written = text[modifier.start : modifier.end]
    return Piece(modifier.name, written, modifier.start, _MEANINGS[modifier.name](schedule))


def _head_pieces(head: str, schedule: Schedule) -> Iterator[Piece]:
    words = tokens(head)
    cron = schedule.cron
    if not isinstance(cron, Cron):
        first = words[0].start
        yield Piece("schedule", head[first : words[-1].end], first, describe_head(cron))
        return
    for word, kind in zip(words, FIELD_KINDS[-len(words) :], strict=True):
        yield Piece(kind.name, word.text, word.start, _field_meaning(cron, kind))


def _field_meaning(cron: Cron, kind: Kind) -> str:
    if kind in (SECOND, MINUTE, HOUR):
        bits = {SECOND: cron.seconds, MINUTE: cron.minutes, HOUR: cron.hours}[kind]
        return _clock_meaning(kind, bits_of(bits))
    if kind is MONTH:
        return "any month" if cron.months == MONTH.all else join_names(bits_of(cron.months), MONTHS)
    return _day_meaning(cron) if kind is DAY else _weekday_meaning(cron)


def _clock_meaning(kind: Kind, values: list[int]) -> str:
    step = step_of(values, kind.high + 1)
    if step and not values[0]:
        return f"every {kind.name}" if step == 1 else f"every {step} {kind.name}s"
    return write_numbers(kind.name, values)


def _day_meaning(cron: Cron) -> str:
    if cron.any_day:
        return "any day of the month"
    if isinstance(cron, DayCron):
        return f"on {join_words(list(describe_dates(cron)))}"
    is_all = cron.days == DAY.all
    return "on every day of the month" if is_all else f"on the {join_names(bits_of(cron.days), ORDINALS)}"


def _weekday_meaning(cron: Cron) -> str:
    if cron.any_weekday:
        return "any day of the week"
    if isinstance(cron, DayCron):
        return f"on {join_words(list(describe_weekdays(cron)))}"
    return "every day of the week" if cron.weekdays == WEEK else write_weekdays(bits_of(cron.weekdays), "on", "and")


def _zone_meaning(schedule: Schedule) -> str:
    return f"times are those of {schedule.zone.name}"


def _window_meaning(schedule: Schedule) -> str:
    return "at the nominal time" if schedule.window == INSTANT else describe_window(schedule)


def _shape_meaning(schedule: Schedule) -> str:
    return describe_shape(schedule) or "every second is equally likely"


def _seed_meaning(schedule: Schedule) -> str:
    salt = ", with a salt" if schedule.seed.salt else ""
    return (describe_redraw(schedule) or "drawn for each period") + salt


def _policy_meaning(schedule: Schedule) -> str:
    return english_policy(schedule.policy)


def _only_meaning(schedule: Schedule) -> str:
    return describe_clauses("only", schedule.constraints.only) if schedule.constraints.only else "no constraint"


def _avoid_meaning(schedule: Schedule) -> str:
    return describe_clauses("never", schedule.constraints.avoid) if schedule.constraints.avoid else "no constraint"


def _days_meaning(schedule: Schedule) -> str:
    days = describe_days(schedule.cron) if isinstance(schedule.cron, DayCron) else ""
    return days or "no other days than without it"


def _dst_meaning(schedule: Schedule) -> str:
    return join_words(list(describe_dst(schedule))) or "no other times than without it"


def _valid_meaning(schedule: Schedule) -> str:
    return join_words(list(describe_valid(schedule))) or "at any time"


_MEANINGS: dict[str, Callable[[Schedule], str]] = {
    "tz": _zone_meaning,
    "win": _window_meaning,
    "dist": _shape_meaning,
    "seed": _seed_meaning,
    "policy": _policy_meaning,
    "only": _only_meaning,
    "avoid": _avoid_meaning,
    "days": _days_meaning,
    "dst": _dst_meaning,
    "valid": _valid_meaning,
}
