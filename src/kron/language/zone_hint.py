"""Hints for time zones that the tz database does not have: offsets such as UTC+2, and abbreviations such as PST."""

from __future__ import annotations

import re

OFFSET = "(?:UTC|GMT)[+-][0-9]{1,2}(?::?00)?"
_OFFSET = re.compile("(?:UTC|GMT)([+-])([0-9]{1,2})(?::?00)?", re.IGNORECASE | re.ASCII)
_MAX_HOURS = {"+": 14, "-": 12}  # of the zones Etc/GMT-14 to Etc/GMT+12
_CITIES = {
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "MDT": "America/Denver",
    "CDT": "America/Chicago",
    "EDT": "America/New_York",
    "BST": "Europe/London",
    "CEST": "Europe/Paris",
    "EEST": "Europe/Athens",
    "MSK": "Europe/Moscow",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "AEST": "Australia/Brisbane",
    "AEDT": "Australia/Sydney",
}
ABBREVIATED = f"(?:{'|'.join([*_CITIES, 'CST', 'IST', 'ET', 'CT', 'MT', 'PT'])})"


def zone_of_offset(name: str) -> str:
    """Return the zone of an offset in whole hours, whose sign the tz database reverses; otherwise an empty text."""
    match = _OFFSET.fullmatch(name)
    if not match or int(match[2]) > _MAX_HOURS[match[1]]:
        return ""
    return f"Etc/GMT{'-' if match[1] == '+' else '+'}{int(match[2])}" if int(match[2]) else "UTC"


def zone_hint(name: str) -> str:
    """Return what to write for an offset or an abbreviation; empty if the name is neither."""
    zone = zone_of_offset(name)
    if zone:
        return f"write {zone}, or the zone of a city, such as Europe/Paris, whose clocks change"
    city = _CITIES.get(name.upper())
    return f"write the zone of a city, such as {city}; an abbreviation names no zone" if city else ""
