"""Weighted pool of time slots: the quiet hours of the day. Slots of the quietest hours are three times as likely."""

from __future__ import annotations

from typing import NamedTuple


class Slot(NamedTuple):
    """Hour and minute, in UTC."""

    hour: int
    minute: int


class Tier(NamedTuple):
    """Hours and minutes of one preference, and how often each of their slots is in the pool."""

    name: str
    weight: int
    hours: range
    minutes: tuple[int, ...]


TIERS = (
    Tier("BEST", 3, range(2, 6), (7, 13, 23, 37, 43, 53)),
    Tier("GOOD", 2, range(10, 13), tuple(range(5, 55))),
    Tier("OK", 1, range(19, 24), tuple(range(5, 55))),
)

# Every compiled schedule depends on this order, so it must not change: tiers, hours, minutes, copies of a slot.
POOL: tuple[Slot, ...] = tuple(
    Slot(hour, minute) for tier in TIERS for hour in tier.hours for minute in tier.minutes for _ in range(tier.weight)
)
