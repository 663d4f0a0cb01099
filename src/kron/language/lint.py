"""What is allowed and yet rarely meant: the warnings and notes about a schedule that parses."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from kron.core.calendar import date_of, weekday_of
from kron.core.decision import BUDGET, objection, reading
from kron.core.period import Period, next_nominal
from kron.core.schedule import Schedule
from kron.core.schedule.constraint import Clauses, Constraints, Reading
from kron.core.schedule.cron import HOURS, possible
from kron.core.zone import DAY as SECONDS_A_DAY
from kron.core.zone import Search, wall_text
from kron.errors import Place, clip
from kron.language.extended import Seconds
from kron.language.grammar import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Kind
from kron.language.modifiers import scan
from kron.language.words import Token, tokens

YEAR = 366 * SECONDS_A_DAY  # how far ahead gaps and folds are looked for
AHEAD = 8  # years in which some window must be open; the 29th of February may be as far away as that
PERIODS = 60  # how many open windows are measured, at most
MINUTES = 5_000  # and how many minutes of windows, about
TRIES = 20_000  # steps of a search, and minutes of a window: no text may keep lint busy

_STEP = re.compile(r"(?:\*|([0-9]+|[A-Za-z]+)-([0-9]+|[A-Za-z]+))/([0-9]+)")
_CYCLES = {SECOND: 60, MINUTE: 60, HOUR: 24, DAY: 31, MONTH: 12, WEEKDAY: 7}


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning or a note: where, what, and what would do."""

    level: str  # warning | note
    code: str
    message: str
    place: Place
    hint: str = ""


def lint(
    text: str, schedule: Schedule, now: int, *, dialect: str = "kron", seconds: Seconds = "first"
) -> list[Finding]:
    """What to look at twice in a text, whose schedule is given, from the instant `now` on."""
    fields = _fields(text, seconds)
    found = [*_never(text, fields, schedule)]
    if not found:
        found += _days(text, fields, schedule)
        found += _steps(text, fields)
        found += _shifts(text, fields, schedule, now)
        found += _share(text, schedule, now)
    return [*found, *(_deadline(text, schedule) if dialect == "kron" else ())]


def _fields(text: str, seconds: Seconds) -> list[Token]:
    """The five fields, or six with the seconds first."""
    words = tokens(scan(text)[0])
    return [words[5], *words[:5]] if len(words) == 6 and seconds == "last" else words


def _never(text: str, fields: list[Token], schedule: Schedule) -> Iterator[Finding]:
    if not possible(schedule.cron):
        day, month = fields[-3:-1]
        hint = "choose a day that one of the months has"
        yield Finding("warning", "NEVER", "no month has such a day: this never runs", _at(text, day, month), hint)


def _days(text: str, fields: list[Token], schedule: Schedule) -> Iterator[Finding]:
    if not (schedule.cron.any_day or schedule.cron.any_weekday):
        day, _, weekday = fields[-3:]
        message = "day-of-month and day-of-week are both restricted, so this runs when either matches"
        hint = "write * in one of them, unless either is what you mean"
        yield Finding("warning", "EITHER_DAY", message, _at(text, day, weekday), hint)


def _steps(text: str, fields: list[Token]) -> Iterator[Finding]:
    for field, kind in zip(fields, tuple(_CYCLES)[-len(fields) :], strict=True):
        for step in _STEP.finditer(field.text):
            message = _step(step, kind)
            if message:
                place = Place(text, field.start + step.start(), field.start + step.end())
                yield Finding("warning", "UNEVEN_STEP", message, place, "list the values that you mean")


def _step(step: re.Match[str], kind: Kind) -> str:
    """What is uneven about a step that runs to the end of its field; empty if nothing is."""
    first, last = (_number(step[1], kind), _number(step[2], kind)) if step[1] else (kind.low, kind.high)
    if last < kind.high:
        return ""  # a range of its own does not go round
    stride = _number(step[3], kind)
    values = range(first, last + 1, stride)
    around = values[0] + _CYCLES[kind] - values[-1]
    if stride == 1 or (around == stride and kind is not DAY and len(values) > 1):
        return ""
    names = kind.names or range(kind.high + 1)
    low, high = (names[(value - kind.low if kind.names else value) % len(names)] for value in (values[0], values[-1]))
    if len(values) == 1:
        return f"the step {clip(step[3])} leaves only {low}"
    if kind is DAY:
        return f"months differ in length: after day {high} the next is day {low}"
    return f"{stride} does not divide {_CYCLES[kind]}: from {high} to {low} it is {around}, not {stride}"


def _number(text: str, kind: Kind) -> int:
    if text.upper() in kind.names:
        return kind.names.index(text.upper()) + kind.low
    return int(text.lstrip("0")[:6] or "0")  # a step of a million leaves as little as a longer one


def _shifts(text: str, fields: list[Token], schedule: Schedule, now: int) -> Iterator[Finding]:
    """The next gap and the next fold that hit a schedule which names its hours."""
    cron, zone = schedule.cron, schedule.zone
    if cron.hours == HOURS or zone.fixed is not None:
        return
    hour, seen = fields[-4], set[str]()
    for shift in zone.shifts(now, now + YEAR):
        gap = shift.after > shift.before
        low, high = sorted((shift.at + shift.before, shift.at + shift.after))
        hit = cron.after(low - 1)
        code = "DST_GAP" if gap else "DST_FOLD"
        if hit is None or hit >= high or code in seen:
            continue
        seen.add(code)
        what = "does not exist, so nothing runs then" if gap else "comes twice, and so does the run"
        message = f"in {zone.name} the time {wall_text(hit)} {what}"
        hint = "choose a time outside of that hour, or a zone without such changes"
        yield Finding("warning" if gap else "note", code, message, Place(text, hour.start, hour.end), hint)


def _share(text: str, schedule: Schedule, now: int) -> Iterator[Finding]:
    """Constraints that leave so little of the window that the draws may well miss it."""
    minutes = (schedule.window.last - schedule.window.origin) // 60 + 1
    if not (schedule.constraints.only or schedule.constraints.avoid) or minutes > TRIES:
        return
    written = [modifier for modifier in scan(text)[1] if modifier.name in ("only", "avoid")]
    place = Place(text, written[0].start, written[0].end) if written else Place(text, 0, len(text))
    found = list(islice(_open(schedule, now), max(1, min(PERIODS, MINUTES // minutes))))
    if not found:
        message = f"the constraints close every window of the next {AHEAD} years: none of them can run"
        hint = "move or widen the window, or relax the constraints"
        yield Finding("warning", "UNSCHEDULABLE", message, place, hint)
    least = min((admissible(schedule, period) for period in found if period), default=1.0)
    risk = (1 - least) ** BUDGET
    if risk > 0.01:
        message = f"as few as {_percent(least)} of the draws pass the constraints: {_percent(risk)}"
        hint = "fit the window to what the constraints leave of it, or relax them"
        yield Finding("warning", "NARROW", f"{message} of such periods find no time to run", place, hint)


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.995 else "over 99%"


def _open(schedule: Schedule, now: int) -> Iterator[Period | None]:
    """The periods whose window the constraints leave open somewhere. None: it was too long a search to tell.

    Two walks leap over one another: to the first open second of the window, to the first window that it is in.
    """
    horizon, window, after = now + AHEAD * YEAR, schedule.window, _open_after(schedule.constraints, now)
    nominal = next_nominal(schedule, now)
    for _ in range(TRIES):
        if nominal is None or nominal > horizon:
            return
        second = schedule.zone.first_after(after, nominal + window.first - 1)
        if second is None:
            return
        if second <= nominal + window.last:
            yield Period(nominal)
        nominal = next_nominal(schedule, max(nominal, second - window.last - 1))
    yield None


def _open_after(constraints: Constraints, now: int) -> Search:
    """Finds the first wall-clock time later than a given one that the constraints allow; None beyond the horizon."""
    of_clock, of_day = _parts(constraints, dates=False), _parts(constraints, dates=True)
    clock = [minute for minute in range(1440) if not of_clock.objection(Reading(0, 0, 0, 0, minute))]
    end = (now + (AHEAD + 1) * YEAR) // SECONDS_A_DAY  # no window that is looked at reaches farther

    def free(day: int) -> bool:
        date = date_of(day)
        return not of_day.objection(Reading(day, date.month, date.day, weekday_of(day), 0))

    def after(wall: int) -> int | None:
        day, second = divmod(wall + 1, SECONDS_A_DAY)
        next_open = bisect_left(clock, second // 60)
        if next_open < len(clock) and free(day):
            return day * SECONDS_A_DAY + max(second, 60 * clock[next_open])
        later = next((d for d in range(day + 1, end) if free(d)), None) if clock else None
        return None if later is None else later * SECONDS_A_DAY + 60 * clock[0]

    return after


def _parts(constraints: Constraints, *, dates: bool) -> Constraints:
    """The clauses about the day, or those about the time of day: a second is allowed if both kinds allow it."""

    def part(clauses: Clauses | None) -> Clauses | None:
        if clauses is None:
            return None
        return replace(clauses, hours=0, between=()) if dates else replace(clauses, dow=0, dom=0, months=0, dates=())

    return Constraints(part(constraints.only), part(constraints.avoid))


def admissible(schedule: Schedule, period: Period) -> float:
    """The chance that one draw in the period's window satisfies the constraints."""
    window, below = schedule.window, schedule.distribution.below
    if not window.duration:
        return 0.0 if objection(schedule, period.nominal) else 1.0
    origin, last = period.nominal + window.origin, period.nominal + window.last
    start, before, chance = period.nominal + window.first, 0.0, 0.0
    while start <= last:  # a minute of the wall clock at a time: constraints do not look at seconds
        wall = schedule.zone.wall(start)
        end = min(start + 60 - wall.second, last + 1)
        upto = below((end - origin) / (last - origin + 1), window.anchor, window.duration)
        if not schedule.constraints.objection(reading(wall)):
            chance += upto - before
        start, before = end, upto
    return chance


def _deadline(text: str, schedule: Schedule) -> Iterator[Finding]:
    if not schedule.policy.deadline:
        message = "the deadline is 0s: a run that cannot start within its chosen second is missed"
        hint = "add @policy(deadline=…) with the lateness that you can bear"
        yield Finding("note", "DEADLINE_ZERO", message, Place(text, 0, len(text)), hint)


def _at(text: str, first: Token, last: Token) -> Place:
    return Place(text, first.start, last.end)
