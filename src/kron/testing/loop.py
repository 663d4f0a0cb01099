"""Event loop with virtual time: where asyncio would wait for a second, the loop adds one to its time.

Tasks, futures, timeouts and cancellation are those of asyncio, so programs behave as they do on a normal loop. The
order of events is deterministic: it depends on the program alone.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from heapq import heappop
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):
    """All tasks are waiting and no timer is set, so the program cannot continue."""


class _Instant(selectors.BaseSelector):
    """Selector that never waits: it advances the virtual time instead."""

    def __init__(self) -> None:
        self.time = 0.0
        self.keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Register a file. It never becomes ready."""
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self.keys[number] = selectors.SelectorKey(fileobj, number, events, data)
        return self.keys[number]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Remove a registered file."""
        return self.keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Return the registered files."""
        return self.keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Advance the time by `timeout` seconds. Raises Deadlock if there is no timeout."""
        if timeout is None:
            raise Deadlock("all tasks are waiting and no timer is set")
        if timeout > 0:
            self.time += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop with virtual time. Its time starts at 0, and advances when no callback is ready."""

    def __init__(self) -> None:
        self._instant = _Instant()
        super().__init__(self._instant)
        self._clock_resolution = 1e-6  # so that timers still fire after rounding errors of a simulated year
        self._dead: list[asyncio.Future[None]] = []

    def time(self) -> float:
        """Return the virtual seconds that have passed."""
        return self._instant.time

    def _run_once(self) -> None:
        """Run one iteration of the asyncio loop, without the parts that virtual time does not need.

        Those parts are files, signals and waiting.
        """
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]
        if not ready:
            while timers and timers[0]._cancelled:
                heappop(timers)._scheduled = False
            if not timers:
                raise Deadlock("all tasks are waiting and no timer is set")
            self._instant.time = max(self._instant.time, timers[0]._when)
        until = self._instant.time + self._clock_resolution
        while timers and timers[0]._when <= until:
            timer = heappop(timers)
            timer._scheduled = False
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    async def never(self) -> NoReturn:
        """Wait permanently, as a killed process does. The loop keeps the future alive so that no cleanup code runs."""
        future = self.create_future()
        self._dead.append(future)
        while True:
            await future

    def abandon(self) -> None:
        """Drop all tasks that still run without their cleanup, and close the loop."""
        self.set_exception_handler(lambda loop, context: None)
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time and return its result. Tasks that it leaves behind are dropped."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.abandon()
