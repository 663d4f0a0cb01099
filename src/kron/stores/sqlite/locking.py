"""Retries while other processes lock the file. SQLite's own wait backs off and can starve one of the processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from time import sleep
from typing import TypeVar

RETRY_SECONDS = 0.002  # seconds between two attempts
T = TypeVar("T")


def retry_locked(work: Callable[[], T], patience: float) -> T:
    """Return the result of `work`. Retry it while the file is locked, for `patience` seconds, then raise its error."""
    for _ in range(int(patience / RETRY_SECONDS)):
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise
            sleep(RETRY_SECONDS)
    return work()
