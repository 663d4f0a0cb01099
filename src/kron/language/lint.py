"""What is allowed and yet rarely meant: the warnings and notes about a schedule that parses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kron.core.decision import BUDGET, objection
from kron.core.period import Period, periods
from kron.core.schedule import Schedule
from kron.core.schedule.cron import HOURS, possible
from kron.core.schedule.window import SECOND as NANOS
from kron.core.zone import DAY as SECONDS_A_DAY
from kron.core.zone import moment, wall_text
from kron.errors import Place
from kron.language.fields import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Kind, Token, tokens

HORIZON = 366 * SECONDS_A_DAY  # how far ahead gaps and folds are looked for
PERIODS = 60  # how many periods the constraints are tried on
LONGEST = 10_080  # minutes of a window; the constraints of a longer one are not tried
TRIES = 20_000  # minutes tried in all

_STEP = re.compile(r"(?:\*|([0-9]+)-([0-9]+))/([0-9]+)")
_CYCLES = {SECOND: 60, MINUTE: 60, HOUR: 24, DAY: 31, MONTH: 12, WEEKDAY: 7}


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning or a note: where, what, and what would do."""

    level: str  # warning | note
    code: str
    message: str
    place: Place
    hint: str = ""


def lint(text: str, schedule: Schedule, now: int) -> list[Finding]:
    """What to look at twice in a text, whose schedule is given, from the instant `now` on."""
    found = [*_never(text, schedule)]
    if not found:
        found += [*_days(text, schedule), *_steps(text), *_shifts(text, schedule, now), *_share(text, schedule, now)]
    return [*found, *_deadline(text, schedule)]


def _fields(text: str) -> list[Token]:
    words = tokens(text)
    return words[: next((i for i, word in enumerate(words) if word.text.startswith("@")), len(words))]


def _never(text: str, schedule: Schedule) -> Iterator[Finding]:
    if not possible(schedule.cron):
        day, month = _fields(text)[-3:-1]
        hint = "choose a day that one of the months has"
        yield Finding("warning", "NEVER", "no month has such a day: this never runs", _at(text, day, month), hint)


def _days(text: str, schedule: Schedule) -> Iterator[Finding]:
    if not (schedule.cron.any_day or schedule.cron.any_weekday):
        day, _, weekday = _fields(text)[-3:]
        message = "day-of-month and day-of-week are both restricted, so this runs when either matches"
        hint = "write * in one of them, unless either is what you mean"
        yield Finding("warning", "EITHER_DAY", message, _at(text, day, weekday), hint)


def _steps(text: str) -> Iterator[Finding]:
    fields = _fields(text)
    for field, kind in zip(fields, tuple(_CYCLES)[-len(fields) :], strict=True):
        for step in _STEP.finditer(field.text):
            finding = _step(step, kind)
            if finding:
                place = Place(text, field.start + step.start(), field.start + step.end())
                yield Finding("warning", "UNEVEN_STEP", finding, place, "list the values that you mean")


def _step(step: re.Match[str], kind: Kind) -> str:
    """What is uneven about a step that runs to the end of its field; empty if nothing is."""
    first, last = int(step[1] or kind.low), int(step[2] or kind.high)
    size, stride = _CYCLES[kind], int(step[3][-6:])
    if step[1] is not None and last < kind.high:
        return ""  # a range of its own does not go round
    values = range(first, last + 1, stride)
    around = values[0] + size - values[-1]
    if len(values) < 2:
        return f"the step {stride} leaves only {values[0]}" if stride > 1 else ""
    if around == stride and kind is not DAY:
        return ""
    if kind is DAY:
        return f"months differ in length: after day {values[-1]} the next is day {values[0]}" if stride > 1 else ""
    return f"{stride} does not divide {size}: from {values[-1]} to {values[0]} it is {around}, not {stride}"


def _shifts(text: str, schedule: Schedule, now: int) -> Iterator[Finding]:
    """The next gap and the next fold that hit a schedule which names its hours."""
    cron, zone = schedule.cron, schedule.zone
    if cron.hours == HOURS or zone.fixed is not None:
        return
    hour, seen = _fields(text)[-4], set[str]()
    for shift in zone.shifts(now, now + HORIZON):
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
    minutes = schedule.window.duration // (60 * NANOS) + 1
    if not (schedule.constraints.only or schedule.constraints.avoid) or minutes > LONGEST:
        return
    ahead = islice(periods(schedule, moment(now)), min(PERIODS, TRIES // minutes))
    shares = [admissible(schedule, period) for period in ahead]
    word = next((w for w in tokens(text) if w.text.startswith(("@only", "@avoid"))), None)
    place = Place(text, word.start, word.end) if word else Place(text, 0, len(text))
    hint = "widen the window or relax the constraints"
    if shares and max(shares) == 0:
        message = f"the constraints leave nothing of the next {len(shares)} windows: none of them can run"
        yield Finding("warning", "UNSCHEDULABLE", message, place, hint)
        return
    least = min((share for share in shares if share), default=1.0)
    risk = (1 - least) ** BUDGET
    if risk > 0.01:
        message = f"the constraints leave {least:.1%} of a window: {risk:.0%} of such periods find no time to run"
        yield Finding("warning", "NARROW", message, place, hint)


def admissible(schedule: Schedule, period: Period) -> float:
    """The chance that one draw in the period's window satisfies the constraints."""
    window, duration, anchor = schedule.window.at(period.nominal), schedule.window.duration, schedule.window.anchor
    if not duration:
        return 0.0 if objection(schedule, period.nominal) else 1.0
    below, seconds = schedule.distribution.below, window.last - window.origin + 1
    starts = range(window.origin, window.last + 1, 60)  # constraints look at minutes
    chances = [below(min(1.0, (start - window.origin) / seconds), anchor, duration) for start in starts] + [1.0]
    return sum(
        after - before
        for start, before, after in zip(starts, chances, chances[1:], strict=False)
        if not objection(schedule, max(window.first, start))
    )


def _deadline(text: str, schedule: Schedule) -> Iterator[Finding]:
    if not schedule.policy.deadline:
        message = "the deadline is 0s: a run that cannot start within its chosen second is missed"
        hint = "add @policy(deadline=…) with the lateness that you can bear"
        yield Finding("note", "DEADLINE_ZERO", message, Place(text, 0, len(text)), hint)


def _at(text: str, first: Token, last: Token) -> Place:
    return Place(text, first.start, last.end)
