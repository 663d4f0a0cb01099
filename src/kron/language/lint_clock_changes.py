"""Findings about clock changes: the next DST gap and the next DST fold that affect a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kron.errors import Place
from kron.language.finding import Finding
from kron.language.tokens import Token
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import HOURS, MINUTES, Cron
from kron.timing.schedule.dst import ONCE, WALL, Dst, Fold, Gap
from kron.timing.zone import DAY, Shift, wall_text

HOUR = 3_600
YEAR_SECONDS = 366 * DAY  # how far ahead clock changes are searched


class _Change(NamedTuple):
    """Clock change that affects a schedule, and the first wall-clock time that it skips or repeats."""

    shift: Shift
    affected_wall: int

    @property
    def is_gap(self) -> bool:
        return self.shift.after > self.shift.before

    @property
    def size(self) -> int:
        return abs(self.shift.after - self.shift.before)


def find_clock_changes(text: str, fields: list[Token], schedule: Schedule, cron: Cron, now: int) -> Iterator[Finding]:
    """Yield a finding about the next gap and about the next fold, each if it affects the schedule."""
    dst, reported = schedule.terms.dst.applied_to(cron), set[bool]()
    for change in _changes(schedule, cron, now):
        if change.is_gap in reported:
            continue
        reported.add(change.is_gap)
        field = fields[-5] if cron.hours == HOURS and change.size % HOUR else fields[-4]
        place = Place(text, field.start, field.end)
        subject = f"in {schedule.zone.name} the time {wall_text(change.affected_wall)}"
        finding = _gap_finding if change.is_gap else _fold_finding
        yield from finding(subject, place, change, dst, cron)


def _changes(schedule: Schedule, cron: Cron, now: int) -> Iterator[_Change]:
    if schedule.zone.fixed is not None:
        return
    for shift in schedule.zone.shifts(now, now + YEAR_SECONDS):
        low, high = sorted((shift.at + shift.before, shift.at + shift.after))
        affected_wall = cron.after(low - 1)
        if affected_wall is None or affected_wall >= high:
            continue
        change = _Change(shift, affected_wall)
        dst = schedule.terms.dst.applied_to(cron)
        follows_wall = dst.gap is Gap.SKIP if change.is_gap else dst.fold is Fold.BOTH
        if not (follows_wall and _is_even(cron, low, high)):
            yield change


def _gap_finding(subject: str, place: Place, change: _Change, dst: Dst, cron: Cron) -> Iterator[Finding]:
    shift = change.shift
    if dst.gap is Gap.SKIP:
        message = f"{subject} does not exist, so there is no run"
        yield Finding("warning", "DST_GAP", message, place, _hint(change, dst, cron))
        return
    instead = shift.at + shift.after if dst.gap is Gap.AFTER else change.affected_wall + change.size
    message = f"{subject} does not exist, so it runs at {wall_text(instead)[11:]} instead (gap={dst.gap})"
    yield Finding("note", "DST_GAP", message, place, "nothing is needed if this is what you want")


def _fold_finding(subject: str, place: Place, change: _Change, dst: Dst, cron: Cron) -> Iterator[Finding]:
    if dst.fold is Fold.BOTH:
        message = f"{subject} occurs twice, so there are two runs"
        yield Finding("note", "DST_FOLD", message, place, _hint(change, dst, cron))
    elif cron.minutes.bit_count() > 1 or cron.hours == HOURS:
        message = (
            f"{subject} occurs twice and runs once (fold={dst.fold}), so nothing runs for {change.size // 60} minutes"
        )
        hint = "use @dst(once) or the default for schedules that repeat within an hour"
        yield Finding("warning", "STANDS_STILL", message, place, hint)


def _hint(change: _Change, dst: Dst, cron: Cron) -> str:
    if cron.hours == HOURS and change.size % HOUR:
        return f"choose minutes that repeat every {change.size % HOUR // 60} minutes, or a time zone without DST"
    if dst != WALL:
        return "choose a time outside that hour, or a time zone without DST"
    rule = "@dst(gap=after,fold=first)" if ONCE.applied_to(cron) == WALL else "@dst(once)"
    return f"choose a time outside that hour, a time zone without DST, or {rule} of the plus dialect"


def _is_even(cron: Cron, low: int, high: int) -> bool:
    """Return whether the runs keep their intervals over a DST gap or DST fold from `low` to `high` (wall-clock times).

    They do if every hour of every day around the change matches, and the minutes repeat with the size of the change.
    """
    first_day, last_day = (low - 1) // DAY, high // DAY
    if cron.hours != HOURS or cron.days_between(first_day, last_day + 1) != last_day + 1 - first_day:
        return False
    minutes, rest = divmod((high - low) % HOUR, 60)
    return not rest and cron.minutes == (cron.minutes << minutes | cron.minutes >> 60 - minutes) & MINUTES
