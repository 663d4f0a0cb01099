"""Threads for plain functions: a bounded number at once, as daemon threads, which do not keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

THREADS = 32  # concurrent plain functions, by default


class Threads:
    """Thread runner: calls each plain function in its own thread, at most `size` at once; other calls wait.

    A thread cannot be stopped. A function whose caller was canceled keeps its slot until it returns.
    """

    def __init__(self, size: int = THREADS) -> None:
        self.size = size
        self.places = asyncio.Semaphore(size)

    @property
    def busy(self) -> bool:
        """Whether the next function has to wait for a slot."""
        return self.places.locked()

    async def run(self, function: Callable[[], Any], begun: Callable[[], None]) -> Any:
        """Return the result of the function, or raise its error.

        `begun` is called when a slot is free, before the thread starts. Until then the call can be canceled without
        effect.
        """
        await self.places.acquire()
        begun()
        loop, context = asyncio.get_running_loop(), copy_context()
        ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = context.run(function), None
            except BaseException as error:  # also SystemExit: it ends only the function
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed: no task waits for the result
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
