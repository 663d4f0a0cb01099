"""Moments in forms: local times in the zone of the viewer."""

from __future__ import annotations

import re

from kron.errors import InvalidInput, clip
from kron.timing.zone import instant_of, zone

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?", re.ASCII)


def read_moment(text: str, zone_name: str) -> int:
    """Return the milliseconds of a local time such as 2026-10-27T09:00. In a DST fold, the first one is meant.

    Raises:
        InvalidInput: The text is no time, or the clocks of the zone skip it.
    """
    match = _LOCAL.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        wall = instant_of(f"{match[1]}T{match[2]}{match[3] or ':00'}Z")
    except ValueError:
        message = f"{clip(text)!r} is not a local time"
        raise InvalidInput("BAD_FIELD", message, hint="use one such as 2026-10-27T09:00") from None
    instants = zone(zone_name).instants(wall)
    if not instants:
        message = f"the clocks in {zone_name} skip {match[1]} {match[2]}"
        raise InvalidInput("TIME_IN_GAP", message, hint="use a time before or after the clock change")
    return instants[0] * 1000


def write_moment(at: int, zone_name: str) -> str:
    """Return milliseconds as a local time for a form, to the minute."""
    wall = zone(zone_name).wall(at // 1000)
    return f"{wall.date.text}T{wall.hour:02d}:{wall.minute:02d}"
