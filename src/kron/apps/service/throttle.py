"""Throttle: lets a few through each minute, and counts the rest."""

from __future__ import annotations

from kron.clock import Timer


class Throttle:
    """For log lines that anyone can cause."""

    def __init__(self, timer: Timer, a_minute: int) -> None:
        self.timer, self.most = timer, a_minute
        self.begin, self.passed, self.held = float("-inf"), 0, 0

    def admit(self) -> int | None:
        """How many were held back since the last that passed; None to hold this one back."""
        now = self.timer.monotonic()
        if now - self.begin >= 60:
            self.begin, self.passed = now, 0
        if self.passed >= self.most:
            self.held += 1
            return None
        self.passed += 1
        return self.drain()

    def drain(self) -> int:
        """How many were held back; from now on none."""
        held, self.held = self.held, 0
        return held
