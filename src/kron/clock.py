"""The one place that asks what time it is. Everything else is told."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the current instant, in seconds from 1970-01-01T00:00:00Z."""

    def now(self) -> float:
        """The current instant."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """The current instant."""
        return time.time()
