"""Time zones: conversion between wall-clock times and instants. The only module that knows DST gaps and DST folds.

One rule applies: a wall-clock time stands for exactly the instants at which a clock in that zone shows it. A time in
a DST gap stands for none, a time in a DST fold for two.

Instants are seconds since 1970-01-01T00:00:00Z. Between two changes of its offset, a zone is plain arithmetic. So a
zone is stored as a sequence of spells (intervals with one offset). Spells are found one stretch of 388 days at a time,
on first use: from the changes that the zone file lists, after them week by week, and 400 years later they repeat.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from kron.timing.calendar import CYCLE_DAYS, date_of, weekday_of
from kron.timing.tzdata import NOT_ZONES, Changes, TzDatabase, ZoneFile, fingerprint_of, host_databases, host_zone_file
from kron.timing.wall import Wall

DAY = 86_400
_STRETCH_BITS = 25  # spells are found 2**25 seconds (388 days) at a time
_WEEK = 7 * DAY
_CYCLE = CYCLE_DAYS * DAY
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # first and last second of the years 1 to 9999
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", re.ASCII)
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)

# With these limits, every period and its longest possible window have dates from the year 1 to the year 9999.
EARLIEST = -52_000_000_000  # the year 322
LATEST = 244_000_000_000  # the year 9702

Search = Callable[[int], int | None]

# Interval `start <= t < end` in which local time is `offset` seconds ahead of UTC: (start, end, offset).
Spell = tuple[int, int, int]


class Shift(NamedTuple):
    """Instant at which a zone's offset changes: a DST gap if the offset grows, a DST fold if it shrinks."""

    at: int
    before: int
    after: int


@dataclass(frozen=True, eq=False, repr=False)
class Zone:
    """Time zone of the tz database. Get one with `zone(name)`, which returns the same Zone for the same name."""

    name: str
    rules: tzinfo
    changes: Changes
    fixed: int | None  # the offset, if it never changes
    version: str | None  # of the tz database, such as 2026f, or `unknown`; None if the offset never changes
    fingerprint: str  # identifies the zone file; if the offset never changes, the offset
    stretches: dict[int, list[Spell]]  # found so far

    def __repr__(self) -> str:
        return f"zone({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], Zone], tuple[str]]:
        return zone, (self.name,)

    def first_after(self, after: Search, t: int) -> int | None:
        """Return the first instant later than `t` whose local time is one that `after` returns, or None."""
        if self.fixed is not None:
            wall = after(t + self.fixed)
            return None if wall is None or wall > LATEST else wall - self.fixed
        _, spell_end, offset = self.spell(t)
        searched_wall = t + offset
        wall = after(searched_wall)
        while wall is not None and wall <= LATEST:
            candidate = wall - offset
            if candidate < spell_end:
                return candidate
            spell_start, spell_end, offset = self.spell(spell_end)
            first_wall = spell_start + offset
            if wall < first_wall or first_wall <= searched_wall:  # in a DST gap, or a DST fold repeats passed times
                wall = after(first_wall - 1)
            searched_wall = first_wall - 1
        return None

    def last_upto(self, upto: Search, t: int) -> int | None:
        """Return the last instant not later than `t` whose local time is one that `upto` returns, or None."""
        if self.fixed is not None:
            wall = upto(t + self.fixed)
            return None if wall is None or wall - self.fixed < EARLIEST else wall - self.fixed
        spell_start, _, offset = self.spell(t)
        searched_wall = t + offset
        wall = upto(searched_wall)
        while wall is not None and wall - offset >= EARLIEST:
            if wall - offset >= spell_start:
                return wall - offset
            spell_start, spell_end, offset = self.spell(spell_start - 1)
            last_wall = spell_end + offset - 1
            if wall > last_wall or last_wall > searched_wall:
                wall = upto(last_wall)
            searched_wall = last_wall
        return None if wall is not None else self._last_before_fold(upto, searched_wall - offset)

    def _last_before_fold(self, upto: Search, t: int) -> int | None:
        """Return the last instant not later than `t` whose local time is later than the local time at `t`, or None.

        The first matching day can begin shortly before a DST fold that sets the clock back to the day before it.
        """
        for start, end, offset in reversed(list(self.spells_between(t - 2 * DAY, t + 1))):
            wall = upto(end - 1 + offset)
            if wall is not None and wall - offset >= start:
                return wall - offset
        return None

    def wall(self, t: int) -> Wall:
        """Return the local date and time at an instant."""
        offset = self.fixed if self.fixed is not None else self.spell(t)[2]
        day, second = divmod(t + offset, DAY)
        return Wall(date_of(day), day, second // 3600, second // 60 % 60, second % 60, weekday_of(day), offset)

    def instants(self, wall: int) -> list[int]:
        """Return the instants of a wall-clock time: one, none in a DST gap, two in a DST fold."""
        nearby_spells = self.spells_between(wall - 2 * DAY, wall + 2 * DAY)
        return [wall - offset for start, end, offset in nearby_spells if start <= wall - offset < end]

    def shifts(self, start: int, end: int) -> Iterator[Shift]:
        """Yield the offset changes from `start` (included) to `end` (excluded)."""
        _, change, offset_before = self.spell(start - 1)
        while change < end:
            _, spell_end, offset = self.spell(change)
            if offset != offset_before and change >= start:
                yield Shift(change, offset_before, offset)
            change, offset_before = spell_end, offset

    def spells_between(self, start: int, end: int) -> Iterator[Spell]:
        """Yield the spells from `start` (included) to `end` (excluded), cut to this interval."""
        while start < end:
            _, spell_end, offset = self.spell(start) if self.fixed is None else (start, end, self.fixed)
            yield start, min(spell_end, end), offset
            start = spell_end

    def spell(self, t: int) -> Spell:
        """Return the spell that contains an instant. A spell ends with its stretch even if the offset continues."""
        index = t >> _STRETCH_BITS
        try:
            stretch = self.stretches[index]
        except KeyError:
            stretch = self.stretches[index] = list(self._find_spells(index))
        for spell in stretch:
            if t < spell[1]:
                return spell
        raise AssertionError("the spells of a stretch must cover it completely")

    def _find_spells(self, index: int) -> Iterator[Spell]:
        start, end = index << _STRETCH_BITS, (index + 1) << _STRETCH_BITS
        offset, spell_start = self._offset_at(start), start
        for change in self._changes_between(start, end):
            yield spell_start, change, offset
            offset, spell_start = self._offset_at(change), change
        yield spell_start, end, offset

    def _changes_between(self, start: int, end: int) -> Iterator[int]:
        """Yield the instants later than `start` and before `end` at which the offset changes."""
        listed = self.changes.listed
        for change in listed[bisect_right(listed, start) : bisect_left(listed, end)]:
            if self._offset_at(change - 1) != self._offset_at(change):
                yield change
        last_listed = listed[-1] if listed else EARLIEST
        if not self.changes.repeats or end <= last_listed:
            return
        if start - _CYCLE > last_listed:  # the calendar, and with it the yearly rule, repeats every 400 years
            yield from (shift.at + _CYCLE for shift in self.shifts(start + 1 - _CYCLE, end - _CYCLE))
            return
        offset = self._offset_at(max(start, last_listed))
        for week_start in range(max(start, last_listed), end, _WEEK):  # no rule changes the clocks twice in one week
            week_end = min(week_start + _WEEK, end - 1)
            if self._offset_at(week_end) != offset:
                change = self._find_change(week_start, week_end)
                yield change
                offset = self._offset_at(change)

    def _find_change(self, last_before: int, first_after: int) -> int:
        old_offset = self._offset_at(last_before)
        while first_after - last_before > 1:
            middle = (last_before + first_after) // 2
            if self._offset_at(middle) == old_offset:
                last_before = middle
            else:
                first_after = middle
        return first_after

    def _offset_at(self, t: int) -> int:
        offset = datetime.fromtimestamp(min(max(t, EARLIEST), LATEST), self.rules).utcoffset()
        assert offset is not None  # noqa: S101  a ZoneInfo always knows
        return offset.days * DAY + offset.seconds


@lru_cache(1024)
def zone(name: str) -> Zone:
    """Return the time zone with this name in the tz database of this host.

    Raises:
        LookupError: The name is unknown.
    """
    if not _NAME.fullmatch(name) or name.partition("/")[0] in NOT_ZONES or len(name) > 64:
        raise LookupError(name)
    return _fixed_zone(name, UTC, 0) if name == "UTC" else _zone_of(name, host_zone_file(name))


def zone_in(database: TzDatabase, name: str) -> Zone:
    """Return the time zone with this name in a given tz database.

    Raises:
        LookupError: The database does not have the name.
    """
    return _zone_of(name, database.zone_file(name))


def _zone_of(name: str, file: ZoneFile) -> Zone:
    offset = file.rules.utcoffset(None)
    if offset is not None:
        return _fixed_zone(name, file.rules, offset.days * DAY + offset.seconds)
    return Zone(name, file.rules, file.changes, None, file.version, file.fingerprint, {})


def _fixed_zone(name: str, rules: tzinfo, offset: int) -> Zone:
    """Return a zone that is the same in every version and build of the tz database."""
    return Zone(name, rules, Changes((), repeats=False), offset, None, fingerprint_of(f"UTC{offset:+d}".encode()), {})


@lru_cache(1)  # because it reads a directory tree
def zone_names() -> frozenset[str]:
    """Return all names that `zone` accepts and that the tz database lists."""
    return frozenset[str]().union(*(database.names() for database in host_databases()))


UTC_ZONE = zone("UTC")


def instant(moment: datetime) -> int:
    """Return the whole second that contains a datetime.

    Raises:
        ValueError: The datetime has no time zone.
    """
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"{moment.isoformat()} has no zone; pass an aware datetime, such as one in datetime.UTC")
    return (moment - _EPOCH) // timedelta(seconds=1)


def instant_of(text: str) -> int:
    """Return the second of an RFC 3339 text.

    Raises:
        ValueError: The text is not an RFC 3339 time, or it names a leap second.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not an instant such as 2026-03-01T00:00:00Z")
    if text[17:19] == "60":
        raise ValueError(f"{text!r} is a leap second, which Kron does not count: write second 59 or the next second")
    try:
        return instant(datetime.fromisoformat(text))
    except ValueError:
        raise ValueError(f"{text!r} has a date, a time or an offset that does not exist") from None


def moment(t: int) -> datetime:
    """Return an instant as a UTC datetime; if it is out of the range of datetime, the nearest one in the range."""
    return _EPOCH + timedelta(seconds=min(max(t, _FIRST_SECOND), _LAST_SECOND))


def wall_text(wall: int) -> str:
    """Return a wall-clock time as text, such as 2026-03-29 02:30, with seconds only if they are not zero."""
    day, second = divmod(wall, DAY)
    seconds_text = f":{second % 60:02d}" if second % 60 else ""
    return f"{date_of(day).text} {second // 3600:02d}:{second // 60 % 60:02d}{seconds_text}"


def rfc3339(t: int, nanos: int = 0) -> str:
    """Return an instant as RFC 3339 in UTC, such as 2026-03-01T00:00:00Z, with a fraction only if it is not zero."""
    day, second = divmod(t, DAY)
    minute = second // 60
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return "%sT%02d:%02d:%02d%sZ" % (_date_text(day), minute // 60, minute % 60, second % 60, fraction)  # noqa: UP031


def rfc3339_ms(milliseconds: int) -> str:
    """Return milliseconds as RFC 3339 in UTC, always with three decimals, so that texts sort like instants."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{rfc3339(seconds)[:-1]}.{rest:03d}Z"


@lru_cache(1024)
def _date_text(day: int) -> str:
    return date_of(day).text
