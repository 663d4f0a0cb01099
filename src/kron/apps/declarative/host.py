"""Local time zone of this host."""

from __future__ import annotations

import os
from pathlib import Path

from kron.errors import InvalidSetting
from kron.timing.zone import zone, zone_names

_LINK, _FILE = Path("/etc/localtime"), Path("/etc/timezone")
_REMEDY = 'pass the zone: DeclarativeScheduler(timezone="Europe/Paris")'


def local_zone() -> str:
    """Return the zone of TZ, else of /etc/localtime, else of /etc/timezone; UTC on a host that has none of them."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        return _checked_zone(name.partition("zoneinfo/")[2] or name, "TZ", _REMEDY)
    return system_zone()


def system_zone(remedy: str = _REMEDY) -> str:
    """Return the zone of system services: that of /etc/localtime, else of /etc/timezone, else UTC.

    The error for a host without one says the remedy.
    """
    if _LINK.is_symlink():
        return _checked_zone(str(_LINK.resolve()).partition("zoneinfo/")[2], str(_LINK), remedy)
    if _FILE.exists():
        return _checked_zone(_FILE.read_text(encoding="utf-8").strip(), str(_FILE), remedy)
    if _LINK.exists():
        raise _no_zone_error(str(_LINK), remedy)
    return "UTC"


def _checked_zone(name: str, source: str, remedy: str) -> str:
    try:
        return zone(name).name
    except LookupError:
        raise _no_zone_error(source, remedy) from None


def _no_zone_error(source: str, remedy: str) -> InvalidSetting:
    hint = remedy if zone_names() else "install a tz database: pip install tzdata"
    return InvalidSetting("NO_LOCAL_ZONE", f"{source} names no zone of the tz database", hint=hint)
