"""Event ring: the newest events of all processes that use a store, for people who watch.

Nothing depends on it. It is written only while a process listens, and it keeps a bounded number of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

RING_SIZE = 10_000  # events that the ring keeps
LISTEN_MS = 10_000  # milliseconds for which a process registers as listening


class RingEvent(NamedTuple):
    """Event about a schedule, as a process wrote it."""

    at: int  # milliseconds
    identity: str
    name: str
    facts: dict[str, Any]  # JSON values


class RingPage(NamedTuple):
    """Part of the ring."""

    events: list[tuple[int, RingEvent]]  # with their numbers, which grow by one
    position: int  # number after which to read on
    lost: bool = False  # events between the requested position and the first one are gone


def is_within(until: int, now: int) -> bool:
    """Return whether a registration counts, also if the clock was set back since."""
    return now < until <= now + LISTEN_MS


def page_of(position: int | None, newest: int, events: list[tuple[int, RingEvent]]) -> RingPage:
    """Return the page after a position. A number that is missing stands for events that are lost.

    Args:
        position: The requested position; None for the present one.
        newest: Newest number that was given.
        events: Events after the position, in order.
    """
    if position is None or position > newest:
        return RingPage([], newest, lost=position is not None)  # a larger position is that of another store
    if not events:
        return RingPage([], newest, lost=position < newest)
    last = events[-1][0]
    return RingPage(events, last, lost=last - position != len(events))


class EventRing(Protocol):
    """Events of all processes, in the order in which they were written."""

    async def write(self, events: Sequence[RingEvent]) -> None:
        """Append events. The oldest are removed if RING_SIZE remain; a store can remove them by the batch."""

    async def read(self, position: int | None, limit: int) -> RingPage:
        """Return at most `limit` events after a position; with None, no events and the present position."""

    async def listen(self) -> None:
        """Register that a process listens, for LISTEN_MS milliseconds.

        If no process listened before, one number is left out, because events of that time were not written.
        """

    async def is_listened(self) -> bool:
        """Return whether a process listens."""
