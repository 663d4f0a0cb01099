"""Waiting for others who have the file. SQLite can wait too, but looks ever more seldom, and may starve one of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from time import sleep
from typing import TypeVar

STEP = 0.002  # seconds between two looks
T = TypeVar("T")


def patiently(deed: Callable[[], T], patience: float) -> T:
    """The result of a deed that others may be in the way of, as soon as they are not; for so many seconds."""
    for _ in range(int(patience / STEP)):
        try:
            return deed()
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise
            sleep(STEP)
    return deed()
