"""Threads for plain functions: a bounded number at once, and none of them keeps the process from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

THREADS = 32  # plain functions at once, by default


class Threads:
    """Calls plain functions in threads of their own, at most `size` at once; the others wait their turn.

    A thread cannot be ended. One that is given up keeps its place until its function returns.
    """

    def __init__(self, size: int = THREADS) -> None:
        self.size = size
        self.places = asyncio.Semaphore(size)

    @property
    def busy(self) -> bool:
        """Whether the next function would have to wait."""
        return self.places.locked()

    async def run(self, function: Callable[[], Any], begun: Callable[[], None]) -> Any:
        """The result of the function. `begun` is called when it has a thread; until then it can be cancelled."""
        await self.places.acquire()
        begun()
        loop, context = asyncio.get_running_loop(), copy_context()
        ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = context.run(function), None
            except BaseException as error:  # also SystemExit: it ends the function, and not the application
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._ended, ended, outcome)

        try:
            threading.Thread(target=work, name="kron-job", daemon=True).start()
        except BaseException:
            self.places.release()
            raise
        result, error = await ended
        if error is not None:
            raise error
        return result

    def _ended(
        self, ended: asyncio.Future[tuple[Any, BaseException | None]], outcome: tuple[Any, BaseException | None]
    ) -> None:
        self.places.release()
        if not ended.done():
            ended.set_result(outcome)
