"""Clock changes: the next ones in the zones of schedules that run at fixed local hours."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.calendar_facts import CLOCK_CHANGE_DAYS, CalendarFacts, ClockChange, next_clock_change
from kron.timing.zone import DAY, zone

MAX_LINES = 3  # clock changes that the page shows
MAX_ZONES = 3  # zones that a line names
SOON_DAYS = 7  # days before a clock change in which the overview names it


class ClockLine(NamedTuple):
    """Clock change of one or several zones at the same instant.

    Attributes:
        at: When the clocks change, in seconds.
        is_forward: Whether they go forward.
        zones: Zones with most schedules.
        other_zones: How many other zones change with them.
        schedules: How many schedules run at fixed local hours of these zones.
        inside: How many of them can run in an hour that is left out or repeated.
    """

    at: int
    is_forward: bool
    zones: tuple[str, ...]
    other_zones: int
    schedules: int
    inside: int


def clock_lines(facts: CalendarFacts, now: int, days: int = CLOCK_CHANGE_DAYS) -> list[ClockLine]:
    """Return the first clock changes of the coming days, up to 60, the earliest first; `now` is in seconds."""
    groups = dict[tuple[int, bool], list[ClockChange]]()
    for hours in facts.zones:
        try:
            change = next_clock_change(hours, zone(hours.zone), now)
        except LookupError:  # a zone that the tz database of this host does not have
            continue
        if change is not None and change.at <= now + days * DAY:
            groups.setdefault((change.at, change.shift > 0), []).append(change)
    return [_line(*key, groups[key]) for key in sorted(groups)[:MAX_LINES]]


def _line(at: int, is_forward: bool, changes: list[ClockChange]) -> ClockLine:
    most = sorted(changes, key=lambda change: (-change.schedules, change.zone))
    return ClockLine(
        at,
        is_forward,
        tuple(change.zone for change in most[:MAX_ZONES]),
        max(0, len(most) - MAX_ZONES),
        sum(change.schedules for change in most),
        sum(change.inside for change in most),
    )
