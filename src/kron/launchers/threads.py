"""Threads for plain functions: a bounded number at once, as daemon threads, which do not keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from kron.launchers.slots import Slots

THREADS = 32  # concurrent plain functions, by default


class Threads:
    """Thread runner: calls each plain function in its own thread, at most `size` at once; other calls wait.

    A thread cannot be stopped. A function whose caller was canceled keeps its slot until it returns.
    """

    def __init__(self, size: int = THREADS) -> None:
        self.slots = Slots(size)

    async def run(self, function: Callable[[], Any], on_start: Callable[[], None]) -> Any:
        """Wait for a slot, and return the result of the function, or raise its error.

        `on_start` is called when a slot is free, before the thread starts. Until then the call can be canceled without
        effect.
        """
        await self.slots.take()
        return await self.run_in_slot(function, on_start)

    async def run_in_slot(self, function: Callable[[], Any], on_start: Callable[[], None]) -> Any:
        """Return the result of the function, or raise its error. The caller has taken a slot, which is freed here."""
        on_start()
        loop, context = asyncio.get_running_loop(), copy_context()
        completion: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def call_function() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = context.run(function), None
            except BaseException as error:  # also SystemExit: it ends only the function
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed: no task waits for the result
                loop.call_soon_threadsafe(self._complete, completion, outcome)

        try:
            threading.Thread(target=call_function, name="kron-job", daemon=True).start()
        except BaseException:
            self.slots.free()
            raise
        result, error = await completion
        if error is not None:
            raise error
        return result

    def _complete(
        self, completion: asyncio.Future[tuple[Any, BaseException | None]], outcome: tuple[Any, BaseException | None]
    ) -> None:
        self.slots.free()
        if not completion.done():
            completion.set_result(outcome)
