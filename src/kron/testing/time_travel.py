"""Time travel: virtual time that starts at a given local time."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

from kron.errors import InvalidInput, InvalidSchedule
from kron.testing.clock import VirtualClock, VirtualTimer
from kron.testing.loop import VirtualLoop
from kron.timing.zone import Zone, instant_of, moment, wall_text, zone, zone_names

T = TypeVar("T")

_WALL = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?: +([A-Za-z][\w+/-]*))?", re.ASCII
)


def instant_at(text: str, home: str = "UTC") -> int:
    """Return the second of a time such as `2026-03-08 01:59 America/New_York`, or of an RFC 3339 time.

    Args:
        text: The time. Of a local time in a DST fold, the first of the two instants is returned.
        home: Time zone of a local time that names none.

    Raises:
        InvalidInput: The text is not a time, the local time is in a DST gap, or the time zone is unknown.
    """
    match = _WALL.fullmatch(text)
    if not match:
        try:
            return instant_of(text)
        except ValueError as error:
            hint = "write it as 2026-03-08 01:59 America/New_York"
            raise InvalidSchedule("BAD_TIME", str(error), hint=hint) from None
    date, minute, second, name = match.groups()
    local_zone, wall = _zone(name or home), instant_of(f"{date}T{minute}{second or ':00'}Z")
    instants = local_zone.instants(wall)
    if not instants:
        message = f"{wall_text(wall)} does not exist in {local_zone.name}: clocks skip it (DST gap)"
        raise InvalidInput("TIME_IN_GAP", message, hint="use a time before or after the gap")
    return instants[0]


class VirtualTime:
    """Virtual time from an instant on: an event loop, and a clock and a timer for the components under test."""

    def __init__(self, instant: int, home: str = "UTC") -> None:
        self.loop, self.home = VirtualLoop(), home
        self.clock, self.timer = VirtualClock(self.loop, float(instant)), VirtualTimer(self.loop)

    @property
    def now(self) -> datetime:
        """Current virtual time, in the time zone of the start."""
        return moment(int(self.clock.now())).astimezone(_zone(self.home).rules)

    def run(self, script: Callable[[VirtualTime], Coroutine[Any, Any, T]]) -> T:
        """Call `script` with this object, run the coroutine in virtual time, and return its result."""
        return self.loop.run_until_complete(script(self))

    def close(self) -> None:
        """Close the loop. Tasks that still run are dropped. Closing twice is allowed."""
        if not self.loop.is_closed():
            self.loop.abandon()


def travel(text: str) -> VirtualTime:
    """Return virtual time that starts at a time such as `2026-03-08 01:59 America/New_York`; see `instant_at`."""
    match = _WALL.fullmatch(text)
    home = (match[4] if match else None) or "UTC"
    return VirtualTime(instant_at(text, home), home)


def _zone(name: str) -> Zone:
    try:
        return zone(name)
    except LookupError:
        hint = "write a name such as Europe/Paris" if zone_names() else "install a tz database: pip install tzdata"
        raise InvalidSchedule("UNKNOWN_ZONE", f"unknown time zone {name!r}", hint=hint) from None
