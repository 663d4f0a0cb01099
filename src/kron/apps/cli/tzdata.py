"""Which tz database this machine has. Two machines agree on a decision only if their databases do."""

from __future__ import annotations

import zoneinfo
from importlib import metadata
from pathlib import Path


def tz_version() -> str:
    """The version of the database in use, or `unknown`: the system's own, else the tzdata package's."""
    for folder in zoneinfo.TZPATH:
        listing = Path(folder) / "tzdata.zi"
        if listing.is_file():
            with listing.open(encoding="ascii", errors="replace") as file:
                return file.readline().removeprefix("# version ").strip()
    try:
        return metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return "unknown"
