"""Trips: to a moment that is written as people write it, with time that passes at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

from kron.core.zone import Zone, instant_of, moment, wall_text, zone, zone_names
from kron.errors import KronError
from kron.testing.clock import VirtualClock, VirtualTimer
from kron.testing.loop import VirtualLoop

T = TypeVar("T")

_WALL = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?: +([A-Za-z][\w+/-]*))?", re.ASCII
)


def instant_at(text: str, home: str = "UTC") -> int:
    """The second of `2026-03-08 01:59 America/New_York`, or of RFC 3339. Without a zone, it is on the clock of `home`.

    A time that occurs twice is the first of the two; one that does not occur is refused.
    """
    found = _WALL.fullmatch(text)
    if not found:
        try:
            return instant_of(text)
        except ValueError as error:
            hint = "write it as 2026-03-08 01:59 America/New_York"
            raise KronError("BAD_TIME", str(error), hint=hint) from None
    date, minute, second, name = found.groups()
    place, wall = _zone(name or home), instant_of(f"{date}T{minute}{second or ':00'}Z")
    instants = place.instants(wall)
    if not instants:
        message = f"{wall_text(wall)} does not occur in {place.name}: the clocks are set forward over it"
        raise KronError("NO_SUCH_TIME", message, hint="take a time before or after")
    return instants[0]


class Trip:
    """A world of its own that begins at an instant: a clock, a timer, and a loop in which time passes at once."""

    def __init__(self, instant: int, home: str = "UTC") -> None:
        self.loop, self.home = VirtualLoop(), home
        self.clock, self.timer = VirtualClock(self.loop, float(instant)), VirtualTimer(self.loop)

    @property
    def now(self) -> datetime:
        """What time it is, on the clock of where the trip went."""
        return moment(int(self.clock.now())).astimezone(_zone(self.home).rules)

    def run(self, script: Callable[[Trip], Coroutine[Any, Any, T]]) -> T:
        """Run a script to its end: it is called with the trip, and whatever it waits for has passed at once."""
        return self.loop.run_until_complete(script(self))

    def end(self) -> None:
        """Leave, whatever is still going."""
        if not self.loop.is_closed():
            self.loop.abandon()


def travel(text: str) -> Trip:
    """A trip to `2026-03-08 01:59 America/New_York`."""
    found = _WALL.fullmatch(text)
    home = (found[4] if found else None) or "UTC"
    return Trip(instant_at(text, home), home)


def _zone(name: str) -> Zone:
    try:
        return zone(name)
    except LookupError:
        hint = "write a name such as Europe/Paris" if zone_names() else "install a tz database: pip install tzdata"
        raise KronError("UNKNOWN_ZONE", f"there is no zone {name!r}", hint=hint) from None
