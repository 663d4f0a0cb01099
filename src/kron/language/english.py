"""Descriptions of schedules in English."""

from __future__ import annotations

from collections.abc import Iterator

from kron.language.duration import UNITS
from kron.language.english_days import describe_days, describe_dst, describe_moments, describe_valid, moment_text
from kron.language.english_words import (
    MONTHS,
    ORDINALS,
    bits_of,
    in_months,
    join_names,
    join_words,
    number_texts,
    spans_of,
    step_of,
    write_numbers,
    write_weekdays,
)
from kron.timing.calendar import date_of
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.constraint import Clauses
from kron.timing.schedule.cron import HOURS, MINUTES, WEEK, YEAR, Cron
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.head import Moments
from kron.timing.schedule.policy import Overlap, Policy
from kron.timing.schedule.sampling import Direction, Exponential, Normal, SkewEarly, SkewLate, Strategy
from kron.timing.schedule.window import Mode

MAX_LISTED_TIMES = 6  # up to this number, times of day are listed; more are summarized


def describe(schedule: Schedule) -> str:
    """Return an English sentence that describes when a schedule runs."""
    zone_name = "UTC" if schedule.zone.name == "UTC" else f"{schedule.zone.name} time"
    times = describe_head(schedule.cron)
    more = [*_window(schedule), *_constraints(schedule), *describe_dst(schedule), *describe_valid(schedule)]
    return ", ".join([times[0].upper() + times[1:], zone_name, *more]) + "."


def english_policy(policy: Policy) -> str:
    """Return English sentences that describe a policy."""
    overlap = {
        Overlap.ALLOW: "runs even while the previous run is active",
        Overlap.SKIP: "is skipped while the previous run is active",
        Overlap.REPLACE: "cancels the previous run if that is still active",
        Overlap.QUEUE: "waits while the previous run is active",
        Overlap.COALESCE: "waits while the previous run is active, and is replaced by a newer one",
    }[policy.overlap]
    deadline = _describe_deadline(policy.deadline)
    return f"{deadline}; {overlap}." + (" Suspended: nothing runs." if policy.suspend else "")


def _describe_deadline(deadline: int | None) -> str:
    """Describe how late a run can start. The catch-up policy can refuse a late run even without a deadline."""
    if deadline is None:
        return "Has no deadline"
    return f"Starts up to {spell(deadline)} late" if deadline else "Starts in its chosen second or not at all"


def spell(nanoseconds: int) -> str:
    """Return a duration in words."""
    names = ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
    parts = []
    for name, size in zip(names, UNITS.values(), strict=True):
        number, nanoseconds = divmod(nanoseconds, size)
        if number:
            parts.append(f"{number} {name}{'s' if number > 1 else ''}")
    return join_words(parts) or "no time"


def describe_head(head: Head) -> str:
    """Describe the times and the days of cron fields, moments or an interval."""
    if isinstance(head, Cron):
        return _describe_cron(head)
    if isinstance(head, Moments):
        return describe_moments(head)
    interval = spell(head.seconds * UNITS["s"])
    interval = interval if " and " in interval else interval.removeprefix("1 ")
    return f"every {interval} of elapsed time, counted from {moment_text(head.anchor)}"


def _describe_cron(cron: Cron) -> str:
    """Describe the times of day and the days."""
    minutes, hours, seconds = bits_of(cron.minutes), bits_of(cron.hours), bits_of(cron.seconds)
    if len(hours) * len(minutes) * len(seconds) <= MAX_LISTED_TIMES:
        seconds_format = ":{:02d}" if cron.seconds != 1 else ""
        listed_times = [f"{h:02d}:{m:02d}{seconds_format.format(s)}" for h in hours for m in minutes for s in seconds]
        return f"at {join_words(listed_times)} {_days(cron) or 'every day'}"
    times_of_day = _minutes(minutes, hours)
    if cron.seconds != 1:
        times_of_day = _seconds(cron, seconds, times_of_day)
    days = _days(cron) or ("" if cron.hours == HOURS else "every day")
    return f"{times_of_day}, {days}" if days else times_of_day


def _seconds(cron: Cron, seconds: list[int], times_of_day: str) -> str:
    """Describe the seconds, in the minutes that `times_of_day` names."""
    step, numbers = step_of(seconds, 60), write_numbers("second", seconds)
    frequency = f"every {'second' if step == 1 else f'{step} seconds'}" if step and not seconds[0] else ""
    if cron.minutes == MINUTES:
        hours = times_of_day.removeprefix("every minute")
        return f"{frequency}{hours}" if frequency else f"at {numbers} of every minute{hours}"
    return f"{times_of_day}, {frequency} of that minute" if frequency else f"{times_of_day}, at {numbers}"


def _minutes(minutes: list[int], hours: list[int]) -> str:
    step = step_of(minutes, 60)
    if len(minutes) == 1:
        return _one_minute_hourly(minutes[0], hours)
    if step and not minutes[0]:
        return f"every {'minute' if step == 1 else f'{step} minutes'}{_in_hours(hours)}"
    if len(hours) == 1 and len(spans_of(minutes)) == 1:
        return f"every minute from {hours[0]:02d}:{minutes[0]:02d} to {hours[0]:02d}:{minutes[-1]:02d}"
    in_hours = _in_hours(hours)
    of_every_hour = "" if len(hours) == 1 or in_hours.startswith(" of") else " of every hour"
    return f"at {write_numbers('minute', minutes)}{of_every_hour}{in_hours}"


def _one_minute_hourly(minute: int, hours: list[int]) -> str:
    """Describe one minute of each of the hours."""
    step, spans = step_of(hours, 24), spans_of(hours)
    if len(hours) == 1:
        return f"at {hours[0]:02d}:{minute:02d}"
    if step == 1:
        return f"at minute {minute} of every hour" if minute else "every hour, on the hour"
    if step:
        return f"every {step} hours from {hours[0]:02d}:{minute:02d}"
    if len(spans) <= 3:
        ends = [(f"{a:02d}:{minute:02d}", f"{b:02d}:{minute:02d}") for a, b in spans]
        return "every hour " + join_words([f"at {a}" if a == b else f"from {a} to {b}" for a, b in ends])
    return f"at minute {minute}{_in_hours(hours)}"


def _in_hours(hours: list[int]) -> str:
    step, spans = step_of(hours, 24), spans_of(hours)
    if step == 1:
        return ""
    if step and len(hours) > 3:
        return f" of every {ORDINALS[step - 1]} hour from {hours[0]:02d}:00"
    if len(spans) <= 3:
        return " " + join_words([f"from {a:02d}:00 to {b:02d}:59" for a, b in spans])
    return " of the hours " + join_words(number_texts(hours))


def _days(cron: Cron) -> str:
    """Describe the days; empty if it is every day of the year."""
    if isinstance(cron, DayCron):
        return describe_days(cron)
    months = "" if cron.months == YEAR else join_names(bits_of(cron.months), MONTHS)
    if cron.any_day and cron.any_weekday:
        return f"every day {in_months(months)}" if months else ""
    dow = write_weekdays(bits_of(cron.weekdays), "every", "and") if cron.weekdays != WEEK else "every day of the week"
    if cron.any_day:
        return f"{dow} {in_months(months)}" if months else dow
    if cron.any_weekday:
        return _days_of_month(bits_of(cron.days), months)
    return f"{_days_of_month(bits_of(cron.days), 'the month')} as well as {dow}" + (
        f", {in_months(months)}" if months else ""
    )


def _days_of_month(days: list[int], months: str) -> str:
    step = step_of(days, 31)
    if len(days) == 31:
        return f"on every day of {months or 'every month'}"
    if step > 1 and len(days) > MAX_LISTED_TIMES:
        return f"on every {ORDINALS[step - 1]} day of {months or 'every month'}, from the {ORDINALS[days[0]]}"
    every = "every month that has one" if days[0] >= 28 and len(days) == 1 else "every month"
    return f"on the {join_names(days, ORDINALS)} of {months or every}"


def _window(schedule: Schedule) -> Iterator[str]:
    if schedule.window.at(0).end:
        yield from filter(None, (describe_window(schedule), describe_shape(schedule), describe_redraw(schedule)))


def describe_window(schedule: Schedule) -> str:
    """Describe the interval in which the run is placed, relative to the nominal time."""
    window = schedule.window
    length, half, is_short = spell(window.duration), spell(window.duration // 2), window.last < 60
    if window.mode is Mode.AROUND:
        return f"{'' if is_short else 'at a second '}from {half} before to {half} after"
    is_one_unit = length.startswith("1 ") and " and " not in length
    interval = f"{length[2:]} that follows" if is_one_unit else f"{length} that follow"
    return f"{'within' if is_short else 'at a second of'} the {interval}"


def describe_redraw(schedule: Schedule) -> str:
    """Describe how often a second is drawn again; empty if each period has a draw of its own."""
    strategy = schedule.seed.strategy
    unit = "day" if strategy is Strategy.DAILY else "week"
    return "" if strategy is Strategy.STABLE else f"drawn again each {unit}"


def describe_shape(schedule: Schedule) -> str:
    """Describe where in the window runs are likely; empty if every second is equally likely."""
    match schedule.distribution:
        case SkewEarly(shape) | SkewLate(shape) if shape == 1:
            return ""
        case SkewEarly(shape):
            return "early rather than late" if shape > 1 else "late rather than early"
        case SkewLate(shape):
            return "late rather than early" if shape > 1 else "early rather than late"
        case Exponential(_, lean):
            return f"mostly near the {'start' if lean is Direction.EARLY else 'end'}"
        case Normal() as normal:
            position = {0.0: "start", 0.5: "middle", 1.0: "end"}[normal.mean(schedule.window.anchor)]
            return f"mostly near the {position}"
        case _:
            return ""


def _constraints(schedule: Schedule) -> Iterator[str]:
    if schedule.constraints.only:
        yield describe_clauses("only", schedule.constraints.only)
    if schedule.constraints.avoid:
        yield describe_clauses("never", schedule.constraints.avoid)


def describe_clauses(word: str, clauses: Clauses) -> str:
    """Describe constraints, each clause after a word such as `only` or `never`."""
    return join_words([f"{word} {clause}" for clause in _clauses(clauses)])


def _clauses(clauses: Clauses) -> Iterator[str]:
    if clauses.dow:
        yield write_weekdays(bits_of(clauses.dow), "on", "or")
    if clauses.hours:
        yield join_words([f"from {a:02d}:00 to {b:02d}:59" for a, b in spans_of(bits_of(clauses.hours))], "or")
    if clauses.between:
        yield join_words([_time_span(a, b) for a, b in clauses.between], "or")
    if clauses.dom:
        yield f"on the {join_names([d - 1 for d in bits_of(clauses.dom)], ORDINALS, 'or')} of the month"
    if clauses.months:
        yield in_months(join_names([m - 1 for m in bits_of(clauses.months)], MONTHS, "or"))
    if clauses.dates:
        yield join_words([_date_span(a, b) for a, b in clauses.dates], "or")


def _time_span(first: int, last: int) -> str:
    start, end = (f"{minute // 60:02d}:{minute % 60:02d}" for minute in (first, last))
    return f"at {start}" if first == last else f"between {start} and {end}"


def _date_span(first: int, last: int) -> str:
    if first == last:
        return f"on {date_of(first).text}"
    return f"from {date_of(first).text} to {date_of(last).text}"
