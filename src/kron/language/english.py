"""Schedule -> a sentence, for people who would rather read than decode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.core.calendar import date_of
from kron.core.policy import Overlap, Policy
from kron.core.schedule import Schedule
from kron.core.schedule.chance import Exponential, Lean, Normal, SkewEarly, SkewLate, Strategy
from kron.core.schedule.constraint import Clauses
from kron.core.schedule.cron import HOURS, MINUTES, YEAR, Cron
from kron.core.schedule.window import Mode
from kron.language.duration import UNITS

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
ORDINALS = tuple(f"{day}{_ENDINGS.get(day, 'th')}" for day in range(1, 32))


def english(schedule: Schedule) -> str:
    """What the schedule says, in words."""
    cron = schedule.cron
    place = "UTC" if schedule.zone.name == "UTC" else f"{schedule.zone.name} time"
    head = f"{_clock(cron)} {_days(cron)}, {place}"
    return ", ".join([head[0].upper() + head[1:], *_window(schedule), *_constraints(schedule)]) + "."


def english_policy(policy: Policy) -> str:
    """What the policy says, in words."""
    overlap = {
        Overlap.ALLOW: "runs even while the previous run is going",
        Overlap.SKIP: "is skipped while the previous run is going",
        Overlap.REPLACE: "ends the previous run if that is still going",
        Overlap.QUEUE: "waits while the previous run is going",
        Overlap.COALESCE: "waits while the previous run is going, and gives way to a newer one",
    }[policy.overlap]
    late = f"up to {spell(policy.deadline)} late" if policy.deadline else "in its chosen second or not at all"
    return f"Starts {late}; {overlap}." + (" Suspended: nothing runs." if policy.suspend else "")


def spell(nanoseconds: int) -> str:
    """A duration in words."""
    names = ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
    parts = []
    for name, size in zip(names, UNITS.values(), strict=True):
        number, nanoseconds = divmod(nanoseconds, size)
        if number:
            parts.append(f"{number} {name}{'s' if number > 1 else ''}")
    return _list(parts) or "no time"


def _clock(cron: Cron) -> str:
    if cron.seconds != 1:
        return f"{_seconds(cron)}, {_minutes(cron)}"
    return _minutes(cron)


def _seconds(cron: Cron) -> str:
    seconds = _bits(cron.seconds)
    every = _every(seconds, 60)
    if every:
        return "every second" if every == 1 else f"every {every} seconds"
    return f"at second{'s' if len(seconds) > 1 else ''} {_list(_runs(seconds))}"


def _minutes(cron: Cron) -> str:
    minutes, hours = _bits(cron.minutes), _bits(cron.hours)
    if len(minutes) * len(hours) <= 6 and cron.hours != HOURS:
        return "at " + _list([f"{h:02d}:{m:02d}" for h in hours for m in minutes])
    every = _every(minutes, 60)
    if every:
        often = "every minute" if every == 1 else f"every {every} minutes"
        return often + _in_hours(cron)
    if minutes == [0] and cron.hours == HOURS:
        return "every hour, on the hour,"
    often = f"at minute{'s' if len(minutes) > 1 else ''} {_list(_runs(minutes))}"
    return f"{often} of every hour" if cron.hours == HOURS else often + _of_hours(hours)


def _in_hours(cron: Cron) -> str:
    if cron.hours == HOURS:
        return ""
    runs = [f"from {a:02d}:00 to {b:02d}:59" for a, b in _spans(_bits(cron.hours))]
    return " " + _list(runs)


def _of_hours(hours: list[int]) -> str:
    every = _every(hours, 24)
    if every:
        return f" every {every} hours from midnight"
    return " of hours " + _list(_runs(hours))


def _days(cron: Cron) -> str:
    months = "" if cron.months == YEAR else " in " + _list(_named(_bits(cron.months), MONTHS))
    if cron.any_day and cron.any_weekday:
        return ("every day" if cron.minutes != MINUTES or cron.hours != HOURS else "of every day") + months
    dom = "on the " + _list(_named(_bits(cron.days), ORDINALS)) + " of the month"
    dow = "on " + _list(_named(_bits(cron.weekdays), DAYS))
    if cron.any_day:
        return dow + months
    return (dom if cron.any_weekday else f"{dom} or {dow}") + months


def _window(schedule: Schedule) -> Iterator[str]:
    window, strategy = schedule.window, schedule.seed.strategy
    if not window.duration:
        return
    if window.mode is Mode.AFTER:
        yield f"at a second of the {spell(window.duration)} that follow"
    else:
        half = spell(window.duration // 2)
        yield f"at a second from {half} before to {half} after"
    shape = _shape(schedule)
    if shape:
        yield shape
    if strategy is not Strategy.STABLE:
        yield f"drawn anew each {'day' if strategy is Strategy.DAILY else 'week'}"


def _shape(schedule: Schedule) -> str:
    match schedule.distribution:
        case SkewEarly():
            return "early rather than late"
        case SkewLate():
            return "late rather than early"
        case Exponential(_, lean):
            return f"mostly near the {'start' if lean is Lean.EARLY else 'end'}"
        case Normal() as normal:
            place = {0.0: "start", 0.5: "middle", 1.0: "end"}[normal.mean(schedule.window.anchor)]
            return f"mostly near the {place}"
        case _:
            return ""


def _constraints(schedule: Schedule) -> Iterator[str]:
    if schedule.constraints.only:
        yield "only " + _list(list(_clauses(schedule.constraints.only)))
    if schedule.constraints.avoid:
        yield "never " + _list(list(_clauses(schedule.constraints.avoid)), "or")


def _clauses(clauses: Clauses) -> Iterator[str]:
    if clauses.dow:
        yield "on " + _list(_named(_bits(clauses.dow), DAYS), "or")
    if clauses.hours:
        yield _list([f"from {a:02d}:00 to {b:02d}:59" for a, b in _spans(_bits(clauses.hours))], "or")
    if clauses.between:
        yield _list([f"between {_time(a)} and {_time(b)}" for a, b in clauses.between], "or")
    if clauses.dom:
        yield "on the " + _list(_named([d - 1 for d in _bits(clauses.dom)], ORDINALS), "or")
    if clauses.months:
        yield "in " + _list(_named([m - 1 for m in _bits(clauses.months)], MONTHS), "or")
    if clauses.dates:
        yield _list([_date_span(a, b) for a, b in clauses.dates], "or")


def _date_span(first: int, last: int) -> str:
    if first == last:
        return f"on {date_of(first).text}"
    return f"from {date_of(first).text} to {date_of(last).text}"


def _time(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _bits(bits: int) -> list[int]:
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def _every(values: list[int], size: int) -> int:
    """The step, if the values are evenly spaced all the way round; 0 if they are not."""
    step = size // len(values)
    return step if len(values) > 1 and values == list(range(0, size, step)) and size % step == 0 else 0


def _spans(values: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for value in values:
        if spans and spans[-1][1] == value - 1:
            spans[-1] = (spans[-1][0], value)
        else:
            spans.append((value, value))
    return spans


def _runs(values: list[int]) -> list[str]:
    return [str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in _spans(values)]


def _named(values: list[int], names: Sequence[str]) -> list[str]:
    out: list[str] = []
    for a, b in _spans(values):
        out += [f"{names[a]} to {names[b]}"] if b > a + 1 else [names[v] for v in range(a, b + 1)]
    return out


def _list(words: Sequence[str], last: str = "and") -> str:
    head = ", ".join(words[:-1])
    return f" {last} ".join([head, *words[-1:]] if head else words)
