"""Days of a recurrence: BYMONTH, BYMONTHDAY, BYDAY and BYSETPOS, and intervals of days, weeks and months."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kron.language.foreign.recurrence_clock import Clock, bit_set
from kron.language.foreign.recurrence_rule import Rule
from kron.language.foreign.recurrence_text import Stamp
from kron.timing.calendar import Date, date_of, weekday_of
from kron.timing.schedule.cron import MONTH_DAYS, WEEK, YEAR
from kron.timing.schedule.days import MAX_EVERY, PLAIN_DAYS, Days
from kron.timing.zone import DAY

_WORKDAYS = bit_set([1, 2, 3, 4, 5])
_ALWAYS_IN_JANUARY = range(1, 5)  # the first to fourth of each weekday of a year
_LIST_MOMENTS = "list the moments: at 2026-12-01T09:00,…"


@dataclass(frozen=True, slots=True)
class Selection:
    """Days that a recurrence selects. `days` and `weekdays` are 0 if the field is not used, or has only tokens."""

    days: int = 0
    months: int = YEAR
    weekdays: int = 0
    rule: Days = PLAIN_DAYS

    @property
    def any_day(self) -> bool:
        """Whether the day of the month is not restricted."""
        return not (self.days or self.rule.last or self.rule.near or self.rule.last_weekday)

    @property
    def any_weekday(self) -> bool:
        """Whether the day of the week is not restricted."""
        return not (self.weekdays or self.rule.nth or self.rule.last_of)


def selection_of(rule: Rule, start: Stamp, clock: Clock) -> Selection:
    """Return the days of a recurrence."""
    first = date_of(start.wall // DAY)
    months = _months(rule, first)
    if rule.positions:
        selection = _by_position(rule, Selection(months=months), clock)
    else:
        selection = _by_number(rule, Selection(months=months), first)
    if rule.days and not rule.positions:
        selection = _by_day(rule, selection)
    elif rule.frequency == "WEEKLY":
        selection = replace(selection, weekdays=1 << weekday_of(start.wall // DAY))
    return _with_cadence(rule, selection, start.wall // DAY, clock)


def _months(rule: Rule, first: Date) -> int:
    months = bit_set(rule.months, 1) or YEAR
    if rule.frequency == "YEARLY":
        if rule.interval > 1:
            raise rule.unsayable("INTERVAL", "years cannot be skipped", _LIST_MOMENTS)
        is_bare = not rule.months and not rule.days and not rule.month_days
        return 1 << first.month - 1 if is_bare else months
    if rule.frequency != "MONTHLY" or rule.interval == 1:
        return months
    if 12 % rule.interval:
        reason = f"FREQ=MONTHLY with this interval from {first.text} has other months each year"
        raise rule.unsayable("INTERVAL", reason, "use an interval that divides 12, or list the months with BYMONTH")
    return months & bit_set(range((first.month - 1) % rule.interval, 12, rule.interval))


def _by_number(rule: Rule, selection: Selection, first: Date) -> Selection:
    if rule.month_days and rule.frequency == "WEEKLY":
        raise rule.invalid("BYMONTHDAY", "does not go with FREQ=WEEKLY", "use FREQ=DAILY")
    numbers = rule.month_days
    if not numbers and not rule.days and rule.frequency in ("MONTHLY", "YEARLY"):
        numbers = (first.day,)
    days = bit_set((number for number in numbers if number > 0), 1)
    last = bit_set(-number - 1 for number in numbers if number < 0)
    return replace(selection, days=days, rule=replace(selection.rule, last=last))


def _by_day(rule: Rule, selection: Selection) -> Selection:
    weekdays = bit_set(weekday for ordinal, weekday in rule.days if not ordinal)
    numbered = [(ordinal, weekday) for ordinal, weekday in rule.days if ordinal]
    if numbered and rule.frequency not in ("MONTHLY", "YEARLY"):
        raise rule.invalid("BYDAY", f"numbers do not go with FREQ={rule.frequency}", "use FREQ=MONTHLY")
    if numbered and rule.frequency == "YEARLY" and not rule.months:
        return _by_day_of_year(rule, selection, numbered)
    if any(not 1 <= ordinal <= 5 and ordinal != -1 for ordinal, _ in numbered):
        hint = "use 1 to 5 for the first to fifth one of a month, or -1 for the last"
        raise rule.unsayable("BYDAY", "cannot be counted in a month", hint)
    nth = bit_set(7 * (ordinal - 1) + weekday for ordinal, weekday in numbered if ordinal > 0)
    last_of = bit_set(weekday for ordinal, weekday in numbered if ordinal < 0)
    return replace(selection, weekdays=weekdays, rule=replace(selection.rule, nth=nth, last_of=last_of))


def _by_day_of_year(rule: Rule, selection: Selection, numbered: list[tuple[int, int]]) -> Selection:
    """Return the days of numbers that count in the year. Only those at its ends are always in the same month."""
    ordinals = {ordinal for ordinal, _ in numbered}
    if len(numbered) < len(rule.days) or not (ordinals <= set(_ALWAYS_IN_JANUARY) or ordinals == {-1}):
        hint = "add BYMONTH, in which the numbers then count, or list the moments: at 2026-12-01T09:00,…"
        raise rule.unsayable("BYDAY", "cannot be counted in a year", hint)
    if ordinals == {-1}:
        last_of = bit_set(weekday for _, weekday in numbered)
        return replace(selection, months=1 << 11, rule=replace(selection.rule, last_of=last_of))
    nth = bit_set(7 * (ordinal - 1) + weekday for ordinal, weekday in numbered)
    return replace(selection, months=1, rule=replace(selection.rule, nth=nth))


def _by_position(rule: Rule, selection: Selection, clock: Clock) -> Selection:
    is_monthly = rule.frequency == "MONTHLY" or (rule.frequency == "YEARLY" and len(rule.months) == 1)
    is_plain = rule.days and not rule.month_days and all(not ordinal for ordinal, _ in rule.days)
    hint = "only positions of weekdays in a month with one time a day can be expressed, such as BYDAY=MO;BYSETPOS=-1"
    if not is_monthly or not is_plain or not clock.is_single:
        raise rule.unsayable("BYSETPOS", "cannot be expressed with these parts", hint)
    weekdays = bit_set(weekday for _, weekday in rule.days)
    days = selection.rule
    for position in rule.positions:
        if weekdays == _WORKDAYS and position in (1, -1):
            days = replace(days, near=1) if position == 1 else replace(days, last_weekday=True)
        elif weekdays.bit_count() == 1 and 1 <= position <= 5:
            days = replace(days, nth=days.nth | weekdays << 7 * (position - 1))
        elif weekdays.bit_count() == 1 and position == -1:
            days = replace(days, last_of=weekdays)
        elif weekdays == WEEK and -31 <= position < 0:
            days = replace(days, last=days.last | 1 << -position - 1)
        elif weekdays == WEEK and 0 < position <= 31:
            selection = replace(selection, days=selection.days | 1 << position - 1)
        else:
            raise rule.unsayable("BYSETPOS", "cannot be expressed with these weekdays", hint)
    return replace(selection, rule=days)


def _with_cadence(rule: Rule, selection: Selection, start: int, clock: Clock) -> Selection:
    every = rule.interval if rule.frequency in ("DAILY", "WEEKLY") else clock.every_days
    if every == 1:
        return selection
    if every > MAX_EVERY:
        raise rule.unsayable("INTERVAL", "is too long", f"count at most {MAX_EVERY} days or weeks")
    if rule.frequency != "WEEKLY":
        return replace(selection, rule=replace(selection.rule, every=every, start=start))
    start = _start_of_weeks(rule, selection.weekdays, start)
    return replace(selection, rule=replace(selection.rule, every=every, weeks=True, start=start))


def _start_of_weeks(rule: Rule, weekdays: int, start: int) -> int:
    """Return the day from which ISO weeks count like the weeks of the rule, which can begin on another weekday."""
    shifts = {_week_shift(weekday, rule.week_start) for weekday in range(7) if weekdays >> weekday & 1}
    if len(shifts) > 1:
        hint = "use WKST=MO, or write a rule for each weekday"
        key = "WKST" if "WKST" in rule.places else "INTERVAL"
        raise rule.unsayable(key, "weeks that begin on another day cannot be counted for these weekdays", hint)
    shift = _week_shift(weekday_of(start), rule.week_start) - shifts.pop()
    if not shift:
        return start
    monday = start - (start + 3) % 7 + 7 * shift
    return monday if monday <= start else monday - 7 * rule.interval


def _week_shift(weekday: int, week_start: int) -> int:
    """Return -1 if the week of a day, by its own first weekday, began in the ISO week before; otherwise 0."""
    return -1 if (weekday - 1) % 7 < (week_start - 1) % 7 else 0


def weekday_bits(selection: Selection) -> int:
    """Return the weekdays of a selection; all if the day of the week is not restricted."""
    return WEEK if selection.any_weekday else selection.weekdays


def day_bits(selection: Selection) -> int:
    """Return the days of a selection; all if the day of the month is not restricted."""
    return MONTH_DAYS if selection.any_day else selection.days
