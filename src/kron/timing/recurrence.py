"""Periods of schedules that are more than cron fields in a zone: other heads, a DST rule, or a validity."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from kron.timing import clock_change
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.dst import AFTER_FIRST, Dst, Fold, Gap
from kron.timing.schedule.head import Every, Moment, Moments
from kron.timing.schedule.terms import PLAIN, Terms, Valid
from kron.timing.zone import EARLIEST, LATEST, Zone, wall_text

_SEARCH_BITS = 25  # the period number `times` is searched 2 ** 25 seconds (388 days) ahead, or more if needed


class Bounds(NamedTuple):
    """First and last instant of a validity, both included."""

    first: int
    last: int


def next_of(schedule: Schedule, t: int) -> int | None:
    """Return the first nominal time later than the instant `t`, or None if there is none."""
    first = _first_instant(schedule.zone, schedule.terms.valid)
    nominal = _first_after(schedule.cron, schedule.zone, schedule.terms.dst, max(t, first - 1))
    return None if nominal is None or nominal > bounds_of(schedule, nominal).last else nominal


def previous_of(schedule: Schedule, t: int) -> int | None:
    """Return the last nominal time not later than the instant `t`, or None if there is none."""
    first, last = bounds_of(schedule, t)
    nominal = _last_upto(schedule.cron, schedule.zone, schedule.terms.dst, min(t, last))
    return None if nominal is None or nominal < first else nominal


def count_of(schedule: Schedule, after: int, upto: int) -> int:
    """Return the number of nominal times that are later than `after` and not later than `upto`."""
    first, last = bounds_of(schedule, upto)
    return _count(schedule.cron, schedule.zone, schedule.terms.dst, max(after, first - 1), min(upto, last))


def is_limited(schedule: Schedule) -> bool:
    """Return whether a schedule ends by itself: it lists moments, or has a validity with an end or a count."""
    valid = schedule.terms.valid
    return isinstance(schedule.cron, Moments) or valid.until is not None or valid.times is not None


def stands_for(schedule: Schedule, nominal: int) -> str | None:
    """Return the wall-clock time that did not exist and for which a period runs, such as `2026-03-29 02:30`.

    None if the period runs at the time that its schedule names.
    """
    cron, dst = schedule.cron, schedule.terms.dst
    if schedule.terms is PLAIN or isinstance(cron, Every):
        return None
    if isinstance(cron, Moments):
        wall = _missing_moment(cron, schedule.zone, dst, nominal)
    else:
        wall = clock_change.missing_wall(cron, schedule.zone, dst.applied_to(cron), nominal)
    return None if wall is None else wall_text(wall)


def _missing_moment(head: Moments, zone: Zone, dst: Dst, nominal: int) -> int | None:
    """Return the listed wall-clock time in a gap for which a period stands; None if the period itself is listed."""
    shown = nominal + zone.spell(nominal)[2]
    if Moment(nominal, is_instant=True) in head.moments or Moment(shown) in head.moments:
        return None
    walls = (moment.second for moment in head.moments if not moment.is_instant)
    missing = (wall for wall in walls if abs(wall - shown) < clock_change.REACH and not zone.instants(wall))
    return next((wall for wall in missing if nominal in _instants_of(wall, zone, dst)), None)


def bounds_of(schedule: Schedule, t: int) -> Bounds:
    """Return the first and the last instant at which a schedule is valid, as far as it matters up to the instant `t`.

    The period number `times` is searched only up to `t`, because it can be thousands of years later.
    """
    zone, terms = schedule.zone, schedule.terms
    first = _first_instant(zone, terms.valid)
    last = LATEST if terms.valid.until is None else _edge(terms.valid.until, zone, is_start=False)
    if terms.valid.times is None:
        return Bounds(first, last)
    search_bits = max(max(min(t, last) - first, 0).bit_length(), _SEARCH_BITS)
    return Bounds(first, min(_last_of_times(schedule.cron, zone, terms, search_bits), last))


def _first_instant(zone: Zone, valid: Valid) -> int:
    return EARLIEST if valid.start is None else _edge(valid.start, zone, is_start=True)


@lru_cache(16_384)
def _last_of_times(cron: Head, zone: Zone, terms: Terms, search_bits: int) -> int:
    """Return the instant of the period number `times`; LATEST if it is later than 2 ** `search_bits` seconds."""
    first, times, dst = _first_instant(zone, terms.valid), terms.valid.times or 0, terms.dst
    end = min(first + (1 << search_bits), LATEST)
    low, step, counted = first - 1, 1, 0  # `counted` periods are not later than `low`
    while True:
        high = min(low + step, end)
        number = _count(cron, zone, dst, low, high)
        if counted + number >= times:
            break
        if high == end:
            return LATEST
        low, step, counted = high, step * 2, counted + number
    while high - low > 1:
        middle = (low + high) // 2
        number = _count(cron, zone, dst, low, middle)
        if counted + number < times:
            low, counted = middle, counted + number
        else:
            high = middle
    return high


def _first_after(cron: Head, zone: Zone, dst: Dst, t: int) -> int | None:
    if isinstance(cron, Cron):
        return clock_change.first_after(cron, zone, dst.applied_to(cron), t)
    if isinstance(cron, Moments):
        instants = _instants(cron, zone, dst)
        index = bisect_right(instants, t)
        return instants[index] if index < len(instants) else None
    anchor = _anchor(cron.anchor, zone)
    nominal = anchor if t < anchor else t - (t - anchor) % cron.seconds + cron.seconds
    return nominal if nominal <= LATEST else None


def _last_upto(cron: Head, zone: Zone, dst: Dst, t: int) -> int | None:
    if isinstance(cron, Cron):
        return clock_change.last_upto(cron, zone, dst.applied_to(cron), t)
    if isinstance(cron, Moments):
        instants = _instants(cron, zone, dst)
        index = bisect_right(instants, t)
        return instants[index - 1] if index else None
    anchor = _anchor(cron.anchor, zone)
    return None if t < anchor else t - (t - anchor) % cron.seconds


def _count(cron: Head, zone: Zone, dst: Dst, after: int, upto: int) -> int:
    if upto <= after:
        return 0
    if isinstance(cron, Cron):
        return clock_change.count(cron, zone, dst.applied_to(cron), after, upto)
    if isinstance(cron, Moments):
        instants = _instants(cron, zone, dst)
        return bisect_right(instants, upto) - bisect_right(instants, after)
    anchor = _anchor(cron.anchor, zone)
    return max((upto - anchor) // cron.seconds + 1, 0) - max((after - anchor) // cron.seconds + 1, 0)


@lru_cache(4_096)
def _instants(moments: Moments, zone: Zone, dst: Dst) -> tuple[int, ...]:
    """Return the instants of listed moments, in order and without duplicates."""
    instants = set[int]()
    for moment in moments.moments:
        instants.update([moment.second] if moment.is_instant else _instants_of(moment.second, zone, dst))
    return tuple(sorted(instants))


@lru_cache(16_384)
def _anchor(moment: Moment, zone: Zone) -> int:
    return moment.second if moment.is_instant else _instants_of(moment.second, zone, AFTER_FIRST)[0]


def _instants_of(wall: int, zone: Zone, dst: Dst) -> list[int]:
    """Return the instants of a wall-clock time under a rule for clock changes."""
    instants = zone.instants(wall)
    if not instants:
        gap = clock_change.gap_around(wall, zone)
        return {Gap.SKIP: [], Gap.AFTER: [gap.at], Gap.SHIFT: [wall - gap.before]}[dst.gap]
    return {Fold.BOTH: instants, Fold.FIRST: instants[:1], Fold.LAST: instants[-1:]}[dst.fold]


def _edge(moment: Moment, zone: Zone, is_start: bool) -> int:
    """Return the first instant not before a moment, or the last instant not after it."""
    if moment.is_instant:
        return moment.second
    instants = zone.instants(moment.second)
    if not instants:
        change = clock_change.gap_around(moment.second, zone).at
        return change if is_start else change - 1
    return instants[0] if is_start else instants[-1]
