"""Local time zone of this host."""

from __future__ import annotations

import os
from pathlib import Path

from kron.errors import InvalidSetting
from kron.timing.zone import zone, zone_names

_LINK, _FILE = Path("/etc/localtime"), Path("/etc/timezone")


def local_zone() -> str:
    """Return the zone of TZ, else of /etc/localtime, else of /etc/timezone; UTC on a host that has none of them."""
    said = os.environ.get("TZ", "").removeprefix(":")
    if said:
        return _known(said.partition("zoneinfo/")[2] or said, "TZ")
    if _LINK.is_symlink():
        return _known(str(_LINK.resolve()).partition("zoneinfo/")[2], str(_LINK))
    if _FILE.exists():
        return _known(_FILE.read_text(encoding="utf-8").strip(), str(_FILE))
    if _LINK.exists():
        raise _nameless(str(_LINK))
    return "UTC"


def _known(name: str, source: str) -> str:
    try:
        return zone(name).name
    except LookupError:
        raise _nameless(source) from None


def _nameless(source: str) -> InvalidSetting:
    hint = 'pass the zone: DeclarativeScheduler(timezone="Europe/Paris")'
    if not zone_names():
        hint = "install a tz database: pip install tzdata"
    return InvalidSetting("NO_LOCAL_ZONE", f"{source} names no zone of the tz database", hint=hint)
