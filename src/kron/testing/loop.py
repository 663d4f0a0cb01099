"""An event loop whose time passes at once: where asyncio would wait for a second, a number grows by one.

Tasks, futures, timeouts and cancellation are the stock ones, so what runs here is what runs outside. One thing
happens after another in an order that depends on nothing but the program.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from heapq import heappop
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):
    """Everything waits for something else, and no timer is set: nothing can ever happen again."""


class _Instant(selectors.BaseSelector):
    """Waits for nothing: it moves the time forward instead."""

    def __init__(self) -> None:
        self.time = 0.0
        self.keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Remember a file; nothing will ever come of it."""
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self.keys[number] = selectors.SelectorKey(fileobj, number, events, data)
        return self.keys[number]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Forget it."""
        return self.keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """What is remembered."""
        return self.keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass."""
        if timeout is None:
            raise Deadlock("nothing can ever happen again")
        if timeout > 0:
            self.time += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. Its time starts at nought, and moves when there is nothing left to do."""

    def __init__(self) -> None:
        self._instant = _Instant()
        super().__init__(self._instant)
        self._clock_resolution = 1e-6  # so that a year of sums of fractions still meets its timers
        self._dead: list[asyncio.Future[None]] = []

    def time(self) -> float:
        """How many seconds have passed."""
        return self._instant.time

    def _run_once(self) -> None:
        """One round of the stock loop without what virtual time has no use for: files, signals, waiting."""
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]
        if not ready:
            while timers and timers[0]._cancelled:
                heappop(timers)._scheduled = False
            if not timers:
                raise Deadlock("nothing can ever happen again")
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
        """Wait for ever: what a killed process does. It is kept, so that it does not even get to clean up."""
        grave = self.create_future()
        self._dead.append(grave)
        while True:
            await grave

    def abandon(self) -> None:
        """Forget whatever is still going, without letting any of it clean up, and close."""
        self.set_exception_handler(lambda loop, context: None)
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run it to its end in virtual time; whatever it left behind is abandoned."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.abandon()
