"""Timers of the lanes: a slow launch leaves its fast slot, and a lane that waits for a limit takes turns again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kron.engine.clock import Timer
from kron.engine.lanes import Lane, Lanes

SLOW_SECONDS = 0.5  # seconds: a launch that takes longer leaves its fast slot
MAX_LIMIT_WAIT_SECONDS = 1.0  # between two checks of lanes that wait for a limit: claims expire, and workers leave
MIN_LIMIT_WAIT_SECONDS = 0.001


class Sending:
    """Launch in progress: its lane, when it began, and whether it has left its fast slot."""

    __slots__ = ("began", "lane", "slow")

    def __init__(self, lane: Lane, began: float) -> None:
        self.lane, self.began, self.slow = lane, began, False


class SlotTimers:
    """Timers of one dispatcher. One timer serves all launches, and one all limits.

    `resume` is called when a launch may be able to begin.
    """

    def __init__(self, lanes: Lanes[Any], timer: Timer, resume: Callable[[], None]) -> None:
        self.lanes, self.timer, self.resume = lanes, timer, resume
        self.sending: dict[Sending, None] = {}  # launches that are not slow yet, oldest first
        self.slow_timer: asyncio.TimerHandle | None = None  # fires when the oldest of them becomes slow
        self.limit_timer: asyncio.TimerHandle | None = None  # fires when a lane may no longer wait for its limit

    def begin(self, lane: Lane) -> Sending:
        """Note that a launch begins."""
        sending = Sending(lane, self.timer.monotonic())
        self.sending[sending] = None
        self._schedule_slow_check()
        return sending

    def end(self, sending: Sending, *, sent: bool) -> float:
        """Note that a launch has ended or was withheld. Returns how many seconds it took."""
        self.sending.pop(sending, None)
        elapsed = self.timer.monotonic() - sending.began
        if self.lanes.limits is not None:
            self.lanes.limits.end(sending.lane.host, sending.began, sent=sent)
        self.lanes.ends(sending.lane, slow=sending.slow, quick=sent and elapsed < SLOW_SECONDS)
        return elapsed

    def check_limits_later(self) -> None:
        """Set the timer for the next launch that a limit allows, if lanes wait for limits."""
        if self.lanes.limits is None or not self.lanes.parked:
            return
        seconds = max(MIN_LIMIT_WAIT_SECONDS, min(MAX_LIMIT_WAIT_SECONDS, self.lanes.limit_wait))
        loop = asyncio.get_running_loop()
        if self.limit_timer is not None:
            if self.limit_timer.when() <= loop.time() + seconds:
                return
            self.limit_timer.cancel()
        self.limit_timer = loop.call_later(seconds, self._check_limits)

    def stop(self) -> None:
        """Cancel the timer of the limits: nothing waits any more."""
        if self.limit_timer is not None:
            self.limit_timer.cancel()
            self.limit_timer = None

    def _check_limits(self) -> None:
        self.limit_timer = None
        self.lanes.unpark()
        self.resume()

    def _schedule_slow_check(self) -> None:
        """Set the timer for the oldest launch that is not slow yet."""
        if self.slow_timer is None and self.sending:
            remaining = SLOW_SECONDS - (self.timer.monotonic() - next(iter(self.sending)).began)
            self.slow_timer = asyncio.get_running_loop().call_later(max(0.0, remaining), self._release_slow_slots)

    def _release_slow_slots(self) -> None:
        """Move slow launches out of their fast slots."""
        self.slow_timer, slots_freed = None, False
        # a timer can fire early by the resolution of the clock
        slow_before = self.timer.monotonic() - SLOW_SECONDS + 0.001
        for sending in [each for each in self.sending if each.began <= slow_before]:
            del self.sending[sending]
            sending.slow = self.lanes.slows(sending.lane)
            slots_freed |= sending.slow
        self._schedule_slow_check()
        if slots_freed:
            self.resume()
