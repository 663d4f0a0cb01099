"""Clock skew: how far the clock of the store is ahead of that of the API server.

The store decides when a period is due, so that Jobs are created at wrong times if its clock is wrong. The API server
tells its time in the `Date` header of each answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import NamedTuple, Protocol

from kron.engine.store import Store
from kron.kube.server_clock import DATE_ERROR_SECONDS, told_time

LIMIT_SECONDS = 5.0
INTERVAL_SECONDS = 5.0  # between two measurements
MAX_AGE_SECONDS = 30.0  # of the time that an answer told; then the API server is asked again
REASON = "ClockSkew"
MESSAGE = f"The clocks of the store and of the API server differ by more than {LIMIT_SECONDS:.0f} s."
log = logging.getLogger("kron.operator")


class Answer(Protocol):
    """Answer of the API server."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer."""


class Reading(NamedTuple):
    """Time that the API server told, in seconds since 1970, and when, by a clock that never goes back."""

    time: float
    at: float


class ClockSkew:
    """Comparer of the clocks.

    Args:
        store: The store.
        ask: Sends a request to the API server.
        changed: Called when the skew has become too large, and when it no longer is.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self,
        store: Store,
        ask: Callable[[], Awaitable[object]],
        changed: Callable[[], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store, self.ask, self.changed, self.clock = store, ask, changed, clock
        self.seconds = 0.0  # by which the clock of the store is ahead, by the last measurement
        self.is_large = False
        self._reading: Reading | None = None

    @property
    def message(self) -> str:
        """What is wrong; empty if the clocks agree."""
        return MESSAGE if self.is_large else ""

    async def note(self, answer: Answer) -> None:
        """Note the time that an answer tells."""
        told = told_time(answer.headers)
        if told is not None:
            self._reading = Reading(told, self.clock())

    async def run(self) -> None:
        """Compare the clocks until canceled."""
        while True:
            try:
                await self.measure()
            except Exception as error:
                log.info("the clocks were not compared: %s", error)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def measure(self) -> None:
        """Compare the clocks once. Without a recent answer of the API server, ask it."""
        if self._reading is None or self.clock() - self._reading.at > MAX_AGE_SECONDS:
            await self.ask()
        reading, began = self._reading, self.clock()
        if reading is None:
            return
        store_seconds, trip = await self.store.now() / 1000, self.clock() - began
        self.seconds = store_seconds - (reading.time + began + trip / 2 - reading.at)
        is_large = abs(self.seconds) - DATE_ERROR_SECONDS - trip / 2 > LIMIT_SECONDS
        if is_large != self.is_large:
            self.is_large = is_large
            log.warning("clock skew: the clock of the store is %.1f s ahead of the API server's", self.seconds)
            self.changed()
