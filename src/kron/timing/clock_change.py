"""Rules for clock changes applied: the instants of a cron line in a zone whose gaps and folds follow a `Dst` rule.

The wall-clock rule is the base: a time in a gap has no instant, a time in a fold has two. A rule drops one of the two,
and adds instants for times in a gap. Instants are a set: an added instant that is also an ordinary one is one period.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.timing.count import count_matches
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.dst import Dst, Fold, Gap
from kron.timing.zone import DAY, Shift, Zone

REACH = 2 * DAY  # no clock change has moved a clock by more


def first_after(cron: Cron, zone: Zone, dst: Dst, t: int) -> int | None:
    """Return the first instant later than `t`, or None if there is none."""
    nearest = cron.after(t - REACH)
    if nearest is None:
        return None
    t = max(t, nearest - REACH - 1)  # a rule for days can begin centuries later, and a search visits every change
    kept = zone.first_after(cron.after, t)
    while kept is not None and (dropped := _dropped_around(zone, dst, kept)) is not None:
        kept = zone.first_after(cron.after, dropped[1] - 1)
    if kept is None or dst.gap is Gap.SKIP:
        return kept
    added = (instant for shift in _gaps(zone, t - REACH, kept) for instant in _added(cron, dst, shift, t, kept))
    return next(added, kept)


def last_upto(cron: Cron, zone: Zone, dst: Dst, t: int) -> int | None:
    """Return the last instant not later than `t`, or None if there is none."""
    kept = zone.last_upto(cron.upto, t)
    while kept is not None and (dropped := _dropped_around(zone, dst, kept)) is not None:
        kept = zone.last_upto(cron.upto, dropped[0] - 1)
    if dst.gap is Gap.SKIP:
        return kept
    earliest = kept
    if earliest is None:
        if not isinstance(cron, DayCron) or cron.rule.start is None:
            return None
        earliest = cron.rule.start * DAY - REACH  # the first match can be in a gap
    for shift in reversed(list(_gaps(zone, earliest - REACH, t))):
        added = list(_added(cron, dst, shift, earliest, t))
        if added:
            return added[-1]
    return kept


def count(cron: Cron, zone: Zone, dst: Dst, after: int, upto: int) -> int:
    """Return the number of instants that are later than `after` and not later than `upto`."""
    total = sum(
        count_matches(cron, start + offset, end + offset)
        for start, end, offset in zone.spells_between(after + 1, upto + 1)
    )
    if zone.fixed is not None or (dst.gap is Gap.SKIP and dst.fold is Fold.BOTH):
        return total
    for shift in zone.shifts(after - REACH, upto + REACH):
        if shift.after > shift.before and dst.gap is not Gap.SKIP:
            added = _added(cron, dst, shift, after, upto)
            total += sum(not _is_match(cron, instant + shift.after) for instant in added)
        elif shift.after < shift.before and dst.fold is not Fold.BOTH:
            start, end, offset = _dropped(shift, dst.fold)
            start, end = max(start, after + 1), min(end, upto + 1)
            if start < end:
                total -= count_matches(cron, start + offset, end + offset)
    return total


def missing_wall(cron: Cron, zone: Zone, dst: Dst, t: int) -> int | None:
    """Return the wall-clock time in a gap for which a period at `t` stands; None if `t` is an ordinary match."""
    if dst.gap is Gap.SKIP or zone.fixed is not None or _is_match(cron, t + zone.spell(t)[2]):
        return None
    for shift in _gaps(zone, t - REACH, t):
        if t in _added(cron, dst, shift, t - 1, t):
            return t + shift.before if dst.gap is Gap.SHIFT else cron.after(shift.at + shift.before - 1)
    return None


def fold_pass(zone: Zone, t: int) -> int:
    """Return which pass of a DST fold an instant is in: 1 or 2; 0 if its wall-clock time occurs once."""
    if zone.fixed is not None:
        return 0
    instants = zone.instants(t + zone.spell(t)[2])
    return instants.index(t) + 1 if len(instants) > 1 else 0


def gap_around(wall: int, zone: Zone) -> Shift:
    """Return the clock change whose gap contains a wall-clock time that has no instant."""
    for shift in zone.shifts(wall - REACH, wall + REACH):
        if shift.at + shift.before <= wall < shift.at + shift.after:
            return shift
    raise AssertionError("a wall-clock time without an instant is in a gap")


def _gaps(zone: Zone, start: int, last: int) -> Iterator[Shift]:
    if zone.fixed is None:
        yield from (shift for shift in zone.shifts(start, last + 1) if shift.after > shift.before)


def _added(cron: Cron, dst: Dst, shift: Shift, after: int, upto: int) -> Iterator[int]:
    """Yield the instants that a rule adds for the times in one gap, later than `after` and not later than `upto`."""
    end = shift.at + shift.after  # the first wall-clock time after the gap
    if dst.gap is Gap.AFTER:
        wall = cron.after(shift.at + shift.before - 1)
        if wall is not None and wall < end and after < shift.at <= upto:
            yield shift.at
        return
    wall = cron.after(max(shift.at, after + 1) + shift.before - 1)
    while wall is not None and wall < end and wall - shift.before <= upto:
        yield wall - shift.before
        wall = cron.after(wall)


def _dropped_around(zone: Zone, dst: Dst, t: int) -> tuple[int, int, int] | None:
    """Return the dropped interval that contains the instant `t`: start, end and offset; None if there is none."""
    if dst.fold is Fold.BOTH or zone.fixed is not None:
        return None
    for shift in zone.shifts(t - REACH, t + REACH):
        if shift.after < shift.before:
            dropped = _dropped(shift, dst.fold)
            if dropped[0] <= t < dropped[1]:
                return dropped
    return None


def _dropped(shift: Shift, fold: Fold) -> tuple[int, int, int]:
    """Return the interval of a fold that is dropped, and its offset: the second pass, or the first one."""
    length = shift.before - shift.after
    if fold is Fold.FIRST:
        return shift.at, shift.at + length, shift.after
    return shift.at - length, shift.at, shift.before


def _is_match(cron: Cron, wall: int) -> bool:
    return cron.upto(wall) == wall
