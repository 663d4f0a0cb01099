"""Throttle: admits a few events per minute and counts the rest."""

from __future__ import annotations

from kron.engine.clock import Timer


class Throttle:
    """Limit for log lines that any caller can cause."""

    def __init__(self, timer: Timer, per_minute: int) -> None:
        self.timer, self.limit = timer, per_minute
        self.minute_start, self.admitted, self.suppressed = float("-inf"), 0, 0

    def admit(self) -> int | None:
        """Return how many were suppressed since the last admitted one; None to suppress this one."""
        now = self.timer.monotonic()
        if now - self.minute_start >= 60:
            self.minute_start, self.admitted = now, 0
        if self.admitted >= self.limit:
            self.suppressed += 1
            return None
        self.admitted += 1
        return self.drain()

    def drain(self) -> int:
        """Return how many were suppressed, and reset the count."""
        suppressed, self.suppressed = self.suppressed, 0
        return suppressed
