"""Descriptions in English of what the plus dialect adds: moments, days, rules for clock changes, and a validity."""

from __future__ import annotations

from collections.abc import Iterator

from kron.language.english_words import DAYS, MONTHS, ORDINALS, bits_of, in_months, join_names, join_words
from kron.language.moment import write_date, write_moment
from kron.timing.calendar import weekday_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import YEAR, Cron
from kron.timing.schedule.days import DayCron, Days
from kron.timing.schedule.dst import AFTER_FIRST, ONCE, WALL, Fold, Gap
from kron.timing.schedule.head import Moment, Moments
from kron.timing.zone import DAY

MAX_LISTED_MOMENTS = 6

_GAPS = {
    Gap.SKIP: "a time that the clocks skip has no run",
    Gap.AFTER: "a time that the clocks skip runs right after the change",
    Gap.SHIFT: "a time that the clocks skip runs later by the length of the change",
}
_FOLDS = {
    Fold.BOTH: "a time that comes twice runs twice",
    Fold.FIRST: "a time that comes twice runs the first time only",
    Fold.LAST: "a time that comes twice runs the second time only",
}


def moment_text(moment: Moment) -> str:
    """Return a moment for people, such as `2026-12-01 09:00`."""
    return write_moment(moment).replace("T", " ").replace("Z", " UTC")


def describe_moments(head: Moments) -> str:
    """Describe listed moments."""
    listed = [_moment_with_weekday(moment) for moment in head.moments[:MAX_LISTED_MOMENTS]]
    rest = len(head.moments) - len(listed)
    count = {1: "once", 2: "twice"}.get(len(head.moments), f"{len(head.moments)} times")
    return f"{count}, on {join_words(listed + ([f'{rest} more'] if rest else []))}"


def _moment_with_weekday(moment: Moment) -> str:
    date, _, time = moment_text(moment).partition(" ")
    return f"{DAYS[weekday_of(moment.second // DAY)]} {date} at {time}"


def describe_days(cron: DayCron) -> str:
    """Describe the days of a cron line with a rule for days."""
    rule = cron.rule
    months = "" if cron.months == YEAR else join_names(bits_of(cron.months), MONTHS)
    dates, weekdays = join_words(list(describe_dates(cron))), join_words(list(describe_weekdays(cron)))
    of_months = f"of {months or 'every month'}"
    if cron.any_day and cron.any_weekday:
        days = f"every day {in_months(months)}" if months else ""
    elif cron.any_day:
        of_months = of_months if rule.nth or rule.last_of else in_months(months) if months else ""
        days = f"on {weekdays} {of_months}".rstrip()
    elif cron.any_weekday:
        days = f"on {dates} {of_months}"
    else:
        days = f"on {dates} {of_months}, {'if it is' if rule.both else 'as well as on'} {weekdays}"
    return f"{days}{_cadence(rule, separator=' ' if days else '')}".strip()


def describe_dates(cron: Cron) -> Iterator[str]:
    """Yield the dates that the day-of-month field selects."""
    rule = cron.rule if isinstance(cron, DayCron) else Days()
    if cron.days:
        yield f"the {join_names(bits_of(cron.days), ORDINALS)}"
    for distance in bits_of(rule.last):
        yield f"the {ORDINALS[distance - 1]} day before the last" if distance else "the last day"
    if rule.last_weekday:
        yield "the last weekday (Monday to Friday)"
    for index in bits_of(rule.near):
        yield f"the weekday (Monday to Friday) nearest to the {ORDINALS[index]}"


def describe_weekdays(cron: DayCron) -> Iterator[str]:
    """Yield the weekdays that the day-of-week field selects."""
    rule = cron.rule
    if cron.weekdays:
        yield join_names(bits_of(cron.weekdays), DAYS, "or" if rule.both else "and", cycle=7)
    for bit in bits_of(rule.nth):
        yield f"the {ORDINALS[bit // 7]} {DAYS[bit % 7]}"
    for weekday in bits_of(rule.last_of):
        yield f"the last {DAYS[weekday]}"


def _cadence(rule: Days, separator: str) -> str:
    if rule.start is None:
        return ""
    unit = "week" if rule.weeks else "day"
    days_apart = rule.every * (7 if rule.weeks else 1)
    start = f"that of {write_date(rule.start)}" if rule.weeks else write_date(rule.start)
    counted = "" if 0 <= rule.start < days_apart else f", counted from {start}"  # 1970: a phase, not a beginning
    if separator:
        every = {1: f"every {unit}", 2: f"every second {unit}"}.get(rule.every, f"every {rule.every}th {unit}")
        return f"{separator}{'of' if rule.weeks else 'if it is'} {every}{counted}"
    every = f"every {unit}" if rule.every == 1 else f"every {rule.every} {unit}s"
    return f"{'every day of ' if rule.weeks else ''}{every}{counted}"


def describe_dst(schedule: Schedule) -> Iterator[str]:
    """Yield the rule for clock changes, unless it is the default of the head."""
    head, dst = schedule.cron, schedule.terms.dst
    if schedule.zone.fixed is not None or dst == (WALL if isinstance(head, Cron) else AFTER_FIRST):
        return
    if dst == ONCE:
        repeats = isinstance(head, Cron) and dst.applied_to(head) == WALL
        yield f"{'by the wall clock' if repeats else 'once'} also on days when the clocks change"
        return
    if dst.gap is not Gap.SKIP or not isinstance(head, Cron):
        yield _GAPS[dst.gap]
    if dst.fold is not Fold.BOTH or not isinstance(head, Cron):
        yield _FOLDS[dst.fold]


def describe_valid(schedule: Schedule) -> Iterator[str]:
    """Yield the validity, if there is one."""
    valid = schedule.terms.valid
    if valid.start is not None:
        yield f"from {moment_text(valid.start)} on"
    if valid.until is not None:
        yield f"until {moment_text(valid.until)}"
    if valid.times is not None:
        yield f"the first {valid.times} times" if valid.times > 1 else "the first time only"
