"""Throttle: admits a few events per minute and counts the rest."""

from __future__ import annotations

from kron.engine.clock import Timer


class Throttle:
    """Limit for log lines that any caller can cause."""

    def __init__(self, timer: Timer, a_minute: int) -> None:
        self.timer, self.most = timer, a_minute
        self.begin, self.passed, self.held = float("-inf"), 0, 0

    def admit(self) -> int | None:
        """Return how many were suppressed since the last admitted one; None to suppress this one."""
        now = self.timer.monotonic()
        if now - self.begin >= 60:
            self.begin, self.passed = now, 0
        if self.passed >= self.most:
            self.held += 1
            return None
        self.passed += 1
        return self.drain()

    def drain(self) -> int:
        """Return how many were suppressed, and reset the count."""
        held, self.held = self.held, 0
        return held
