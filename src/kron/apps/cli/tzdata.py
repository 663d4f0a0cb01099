"""Version of this machine's tz database. Two machines agree on a decision only if their tz databases agree."""

from __future__ import annotations

import zoneinfo
from importlib import metadata
from pathlib import Path


def tz_version() -> str:
    """Return the version of the tz database in use: the system's, else that of the tzdata package, else `unknown`."""
    for folder in zoneinfo.TZPATH:
        listing = Path(folder) / "tzdata.zi"
        if listing.is_file():
            with listing.open(encoding="ascii", errors="replace") as file:
                return file.readline().removeprefix("# version ").strip()
    try:
        return metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return "unknown"
