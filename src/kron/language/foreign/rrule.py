"""The rrule reader: iCalendar recurrences (RFC 5545), a DTSTART and an RRULE, with EXDATE as dates.

A recurrence that Kron cannot express exactly is refused with NOT_SAYABLE, and the fault names the part.
"""

from __future__ import annotations

from dataclasses import replace

from kron.language.fault import Fault
from kron.language.foreign.assembly import assemble
from kron.language.foreign.recurrence_clock import Clock, clock_of, clocks_change, interval_of
from kron.language.foreign.recurrence_days import Selection, day_bits, selection_of, weekday_bits
from kron.language.foreign.recurrence_rule import Rule, read_rule
from kron.language.foreign.recurrence_text import Property, Recurrence, Stamp, read_recurrence, read_stamp, zone_of
from kron.language.options import Options
from kron.language.plus import with_days
from kron.language.plus_text import write_head
from kron.language.tokens import elements
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Clauses, Constraints
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.dst import Dst, Fold, Gap
from kron.timing.schedule.head import Every, Moment
from kron.timing.schedule.terms import Valid
from kron.timing.zone import DAY, Zone

SHIFT_FIRST = Dst(Gap.SHIFT, Fold.FIRST)  # RFC 5545, section 3.3.5


def read_schedule(text: str, options: Options) -> Schedule:
    """Return the schedule of a recurrence. `zone` applies if DTSTART names none."""
    recurrence = read_recurrence(text)
    rule = read_rule(recurrence.rule.value)
    zone = recurrence.zone or options.zone
    head = _head(text, rule, recurrence.start, zone)
    valid = Valid(
        None if isinstance(head, Every) else Moment(recurrence.start.wall), _until(rule, recurrence), rule.count
    )
    constraints = _exclusions(recurrence, head)
    return assemble(text, head, zone, options.policy, SHIFT_FIRST, valid, constraints)


def _head(text: str, rule: Rule, start: Stamp, zone: Zone) -> Head:
    interval = interval_of(rule, start)
    if interval is not None:
        _check_zone(rule, interval, zone)
        return interval
    clock = clock_of(rule, start)
    selection = selection_of(rule, start, clock)
    if not all((clock.seconds, clock.minutes, clock.hours, selection.months)):
        hint = "choose times and months that INTERVAL reaches from DTSTART"
        raise Fault("NEVER", "never runs: the parts of the rule contradict each other", 0, len(text), hint)
    return _cron(clock, selection)


def _check_zone(rule: Rule, interval: Every, zone: Zone) -> None:
    """Refuse elapsed time where clocks change: a recurrence with a time zone counts on the wall clock."""
    if clocks_change(zone, interval.anchor.second):
        reason = f"can only be counted in elapsed time, and the clocks of {zone.name} change"
        text = f"{write_head(interval)} @tz({zone.name})"
        hint = f"count in UTC: end DTSTART with Z; or write {text} in the plus dialect, which counts elapsed time"
        raise rule.unsayable("INTERVAL", reason, hint)


def _cron(clock: Clock, selection: Selection) -> Cron:
    any_day, any_weekday = selection.any_day, selection.any_weekday
    days, weekdays = day_bits(selection), weekday_bits(selection)
    base = Cron(
        clock.minutes, clock.hours, days or 1, selection.months, weekdays or 1, any_day, any_weekday, clock.seconds
    )
    empty = ({} if days else {"days": 0}) | ({} if weekdays else {"weekdays": 0})
    return with_days(base, replace(selection.rule, both=True), **empty)


def _until(rule: Rule, recurrence: Recurrence) -> Moment | None:
    until = rule.until
    if until is None:
        return None
    if until.is_date and not recurrence.start.is_date:
        hint = f"write UNTIL={rule.places['UNTIL'].text}T235959 to include that day"
        raise rule.invalid("UNTIL", "is a date, and DTSTART has a time", hint)
    return Moment(until.wall, until.is_utc)


def _exclusions(recurrence: Recurrence, head: Head) -> Constraints:
    days = set[int]()
    for exclusion in recurrence.exclusions:
        for element in elements(exclusion.value):
            stamp = read_stamp(element)
            if not stamp.is_date:
                _check_time(stamp, exclusion, recurrence, head)
            days.add(stamp.wall // DAY)
    if not days:
        return UNCONSTRAINED
    return Constraints(avoid=Clauses(dates=tuple((day, day) for day in sorted(days))))


def _check_time(stamp: Stamp, exclusion: Property, recurrence: Recurrence, head: Head) -> None:
    """Reject an excluded time unless it excludes all runs of its day, as @avoid(date=…) does."""
    place, hint = exclusion.value, "exclude whole days, as in EXDATE;VALUE=DATE:20261225"
    if zone_of(exclusion, stamp) is not recurrence.zone:
        raise Fault("NOT_SAYABLE", "EXDATE has another time zone than DTSTART", place.start, place.end, hint)
    if not isinstance(head, Cron) or not Clock(head.seconds, head.minutes, head.hours).is_single:
        raise Fault("NOT_SAYABLE", "EXDATE excludes one of several times a day", place.start, place.end, hint)
    if head.times[0] != stamp.wall % DAY:
        raise Fault("NOT_SAYABLE", "EXDATE has a time at which nothing runs", place.start, place.end, hint)
