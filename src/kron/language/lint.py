"""Lint: warnings and notes about valid schedules that are probably not intended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kron.errors import Place, clip
from kron.language.canonical import canonical
from kron.language.dialect import TABLE
from kron.language.finding import Finding
from kron.language.grammar import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Kind
from kron.language.kron import scan
from kron.language.lint_clock_changes import YEAR_SECONDS, find_clock_changes
from kron.language.lint_plus import find_in_plus
from kron.language.options import Seconds
from kron.language.plus import PLUS_MODIFIERS
from kron.language.tokens import Token, tokens
from kron.timing.decision import MAX_DRAWS, reading, violated_clause
from kron.timing.openings import search_periods
from kron.timing.period import Period
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.days import DayCron

SEARCH_YEARS = 8  # years in which one window must be open; February 29 can be that far away
MAX_MEASURED_WINDOWS = 60  # maximum number of open windows that are measured
MAX_MEASURED_MINUTES = 5_000  # approximate maximum of the minutes of those windows
MAX_SEARCH_STEPS = 20_000  # maximum steps of a search, and minutes of a window, so that lint is fast for every text

_STEP = re.compile(r"(?:\*|([0-9]+|[A-Za-z]+)-([0-9]+|[A-Za-z]+))/([0-9]+)")
_CYCLE_LENGTHS = {SECOND: 60, MINUTE: 60, HOUR: 24, DAY: 31, MONTH: 12, WEEKDAY: 7}


def lint(
    text: str, schedule: Schedule, now: int, *, dialect: str = "kron", seconds: Seconds = "first"
) -> list[Finding]:
    """Return the findings about a valid schedule text.

    Args:
        text: The schedule text.
        schedule: The parsed schedule of the text.
        now: Instant from which DST changes and windows are checked, in seconds since 1970-01-01 UTC.
        dialect: Dialect of the text.
        seconds: Position of the seconds in the six fields of the service dialect.
    """
    if not TABLE[dialect].stored:
        text, dialect = canonical(schedule)  # a text of another scheduler has other fields
    findings = [*find_in_plus(text, schedule, now)]
    if isinstance(schedule.cron, Cron):
        findings += _find_in_fields(text, _field_tokens(text, seconds), schedule, schedule.cron, now)
    if not any(finding.never_runs for finding in findings):
        findings += _find_narrow_windows(text, schedule, now)
    return [*findings, *(_find_zero_deadline(text, schedule) if dialect in ("kron", "plus") else ())]


def clock_change_findings(schedule: Schedule, now: int) -> list[Finding]:
    """Return only the findings about clock changes of a schedule, in its canonical text."""
    text, cron = canonical(schedule).text, schedule.cron
    if not isinstance(cron, Cron) or not possible(cron):
        return []
    return list(find_clock_changes(text, _field_tokens(text, "first"), schedule, cron, now))


def _find_in_fields(text: str, fields: list[Token], schedule: Schedule, cron: Cron, now: int) -> Iterator[Finding]:
    """Yield the findings about cron fields."""
    if not possible(cron):
        yield _never_runs(text, fields)
        return
    yield from _find_either_day(text, fields, cron)
    yield from _find_uneven_steps(text, fields)
    yield from find_clock_changes(text, fields, schedule, cron, now)


def _field_tokens(text: str, seconds: Seconds) -> list[Token]:
    """Return the five fields, or six with the seconds first."""
    words = tokens(scan(text, PLUS_MODIFIERS)[0])
    return [words[5], *words[:5]] if len(words) == 6 and seconds == "last" else words


def _never_runs(text: str, fields: list[Token]) -> Finding:
    day, month = fields[-3:-1]
    hint = "choose a day that one of the months has"
    message, place = "never runs: no selected month has such a day", _place(text, day, month)
    return Finding("warning", "NEVER", message, place, hint, never_runs=True)


def _find_either_day(text: str, fields: list[Token], cron: Cron) -> Iterator[Finding]:
    if not (cron.any_day or cron.any_weekday or (isinstance(cron, DayCron) and cron.rule.both)):
        day, _, weekday = fields[-3:]
        message = "day-of-month and day-of-week are both restricted: this runs if either matches"
        hint = "write * in one of them, or add @days(match=both) in the plus dialect, unless you want either to match"
        yield Finding("warning", "EITHER_DAY", message, _place(text, day, weekday), hint)


def _find_uneven_steps(text: str, fields: list[Token]) -> Iterator[Finding]:
    for field, kind in zip(fields, tuple(_CYCLE_LENGTHS)[-len(fields) :], strict=True):
        for step in _STEP.finditer(field.text):
            message = _describe_uneven_step(step, kind)
            if message:
                place = Place(text, field.start + step.start(), field.start + step.end())
                yield Finding("warning", "UNEVEN_STEP", message, place, _uneven_step_hint(step, kind))


def _uneven_step_hint(step: re.Match[str], kind: Kind) -> str:
    """Return what to write for an uneven step: the values, or the interval of elapsed time."""
    unit = {MINUTE: "m", HOUR: "h"}.get(kind)
    if step[1] or unit is None or _read_number(step[3], kind) > 100_000:
        return "list the values that you want"
    interval = f"every {_read_number(step[3], kind)}{unit} from 2026-01-01T00:00"
    return f"list the values that you want, or write {interval} in the plus dialect for a constant interval"


def _describe_uneven_step(step: re.Match[str], kind: Kind) -> str:
    """Describe how a step that reaches the end of its field is uneven; empty if it is even."""
    first, last = (_read_number(step[1], kind), _read_number(step[2], kind)) if step[1] else (kind.low, kind.high)
    if last < kind.high:
        return ""  # an explicit range does not wrap around
    stride = _read_number(step[3], kind)
    values = range(first, last + 1, stride)
    last_interval = values[0] + _CYCLE_LENGTHS[kind] - values[-1]
    if stride == 1 or (last_interval == stride and kind is not DAY and len(values) > 1):
        return ""
    names = kind.names or range(kind.high + 1)
    low, high = (names[(value - kind.low if kind.names else value) % len(names)] for value in (values[0], values[-1]))
    if len(values) == 1:
        return f"step {clip(step[3])} selects only {low}"
    if kind is DAY:
        return f"months differ in length: day {high} is followed by day {low}"
    return f"step {stride} does not divide {_CYCLE_LENGTHS[kind]}: the interval from {high} to {low} is {last_interval}"


def _read_number(text: str, kind: Kind) -> int:
    if text.upper() in kind.names:
        return kind.names.index(text.upper()) + kind.low
    return int(text.lstrip("0")[:6] or "0")  # a longer number selects as little as a million


def _find_narrow_windows(text: str, schedule: Schedule, now: int) -> Iterator[Finding]:
    """Yield a warning if the constraints allow so little of the window that all draws can miss it."""
    minutes = (schedule.window.last - schedule.window.origin) // 60 + 1
    if not (schedule.constraints.only or schedule.constraints.avoid) or minutes > MAX_SEARCH_STEPS:
        return
    modifiers = [modifier for modifier in scan(text, PLUS_MODIFIERS)[1] if modifier.name in ("only", "avoid")]
    place = Place(text, modifiers[0].start, modifiers[0].end) if modifiers else Place(text, 0, len(text))
    periods = list(
        islice(_open_periods(schedule, now), max(1, min(MAX_MEASURED_WINDOWS, MAX_MEASURED_MINUTES // minutes)))
    )
    if not periods:
        message = f"the constraints exclude every window of the next {SEARCH_YEARS} years: no period can run"
        hint = "move or widen the window, or relax the constraints"
        yield Finding("warning", "UNSCHEDULABLE", message, place, hint)
    lowest_share = min((admissible(schedule, period) for period in periods if period), default=1.0)
    risk = (1 - lowest_share) ** MAX_DRAWS
    if risk > 0.01:
        message = f"only {_percent(lowest_share)} of the draws satisfy the constraints: {_percent(risk)}"
        hint = "fit the window to the times that the constraints allow, or relax the constraints"
        yield Finding("warning", "NARROW", f"{message} of such periods are unschedulable", place, hint)


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.995 else "over 99%"


def _open_periods(schedule: Schedule, now: int) -> Iterator[Period | None]:
    """Yield the periods whose window has at least one allowed second, and finally None if the search was too long."""
    horizon = now + SEARCH_YEARS * YEAR_SECONDS
    for steps, step in enumerate(search_periods(schedule, now, SEARCH_YEARS * YEAR_SECONDS)):
        if steps == MAX_SEARCH_STEPS:
            yield None
        if steps == MAX_SEARCH_STEPS or step.nominal > horizon:
            return
        if step.closed_until is None:
            yield Period(step.nominal)


def admissible(schedule: Schedule, period: Period) -> float:
    """Return the probability that one draw in the period's window satisfies the constraints."""
    window, below = schedule.window, schedule.distribution.below
    if not window.duration:
        return 0.0 if violated_clause(schedule, period.nominal) else 1.0
    origin, last = period.nominal + window.origin, period.nominal + window.last
    start, mass_before, probability = period.nominal + window.first, 0.0, 0.0
    while start <= last:  # one local minute per step: constraints do not look at seconds
        wall = schedule.zone.wall(start)
        end = min(start + 60 - wall.second, last + 1)
        mass_upto = below((end - origin) / (last - origin + 1), window.anchor, window.duration)
        if not schedule.constraints.violated_clause(reading(wall)):
            probability += mass_upto - mass_before
        start, mass_before = end, mass_upto
    return probability


def _find_zero_deadline(text: str, schedule: Schedule) -> Iterator[Finding]:
    if schedule.policy.deadline == 0:
        message = "the deadline is 0s: a run that cannot start within its chosen second is missed"
        hint = "add @policy(deadline=…) with the maximum lateness that you accept"
        yield Finding("note", "DEADLINE_ZERO", message, Place(text, 0, len(text)), hint)


def _place(text: str, first: Token, last: Token) -> Place:
    return Place(text, first.start, last.end)
