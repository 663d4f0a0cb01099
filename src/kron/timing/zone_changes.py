"""Zone changes: the zones whose offsets differ between two tz databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kron.timing.tzdata import TzDatabase
from kron.timing.zone import Zone, zone_in


class Span(NamedTuple):
    """Interval `start <= t < end` in which a zone has different offsets in two tz databases. All are in seconds."""

    start: int
    end: int
    old_offset: int
    new_offset: int


class ZoneChange(NamedTuple):
    """Zone whose offset differs between two tz databases.

    Attributes:
        name: Name of the zone.
        links: The other names of the zone, in order.
        first: First interval in which the offsets differ.
    """

    name: str
    links: tuple[str, ...]
    first: Span


def zone_changes(old: TzDatabase, new: TzDatabase, names: Iterable[str], start: int, end: int) -> list[ZoneChange]:
    """Return the zones whose offset differs at an instant from `start` (included) to `end` (excluded), in order.

    Args:
        old: The one tz database.
        new: The other tz database.
        names: The names to compare. Both databases must have them.
        start: First instant, in seconds.
        end: End of the comparison, in seconds.
    """
    groups: dict[tuple[bytes, bytes], list[str]] = {}
    for name in names:
        contents = old.read(name), new.read(name)
        if contents[0] != contents[1]:
            groups.setdefault(contents, []).append(name)
    links, changes = old.links() | new.links(), list[ZoneChange]()
    for group in groups.values():
        group.sort(key=lambda name: (name in links, "/" not in name, name))
        first = next(differing_spans(zone_in(old, group[0]), zone_in(new, group[0]), start, end), None)
        if first:
            changes.append(ZoneChange(group[0], tuple(sorted(group[1:])), first))
    return sorted(changes)


def differing_spans(old: Zone, new: Zone, start: int, end: int) -> Iterator[Span]:
    """Yield the intervals from `start` (included) to `end` (excluded) in which the offsets of two zones differ."""
    pending: Span | None = None
    for span in _common_spans(old, new, start, end):
        if pending and pending.end == span.start and pending[2:] == span[2:]:
            pending = pending._replace(end=span.end)
            continue
        if pending:
            yield pending
        pending = span if span.old_offset != span.new_offset else None
    if pending:
        yield pending


def _common_spans(old: Zone, new: Zone, start: int, end: int) -> Iterator[Span]:
    """Yield the intervals in which neither zone changes its offset."""
    new_spells = new.spells_between(start, end)
    _, new_end, new_offset = next(new_spells, (start, end, 0))
    for spell_start, old_end, old_offset in old.spells_between(start, end):
        span_start = spell_start
        while span_start < old_end:
            yield Span(span_start, min(old_end, new_end), old_offset, new_offset)
            span_start = min(old_end, new_end)
            if new_end == span_start and new_end < end:
                _, new_end, new_offset = next(new_spells)
