"""Runs functions of this process. It reports the end of a run itself, and knows a key that it has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from kron.core.answer import Answer, Receipt, Report
from kron.core.run import Run
from kron.launcher import Launch
from kron.launchers.threads import Threads

Function = Callable[[Launch], Awaitable[None]]
Reporter = Callable[[Launch, Report, BaseException | None], Awaitable[None]]


class PythonLauncher:
    """Starts `python:name` by calling the async function of that name; see `call` for those of others."""

    def __init__(
        self,
        function_of: Callable[[str], Function | None],
        report: Reporter,
        names: Callable[[], Collection[str]] | None = None,
    ) -> None:
        """`names` gives the functions that this process has, where others may have others; None: it has them all."""
        self.function_of, self.report, self.names = function_of, report, names
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.going: set[str] = set()  # those of them whose functions have not ended
        self.fewer = asyncio.Event()

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start the function, unless the key is running already."""
        function = self.function_of(launch.job.target.partition(":")[2])
        if function is None:
            return Answer.REJECTED
        key = launch.run.key
        if key not in self.tasks:
            self.going.add(key)
            self.tasks[key] = asyncio.create_task(self._run(function, launch))
            await asyncio.sleep(0)  # many a function waits for nothing, and is over by then
        return Answer.OK if key in self.going else Receipt(Answer.OK, over=True)

    def holds(self, key: str) -> bool:
        """Whether the function of that key is running here, or its end is not yet recorded."""
        return key in self.tasks

    async def cancel(self, run: Run) -> None:
        """Cancel the task of the run. A plain function in its thread cannot be ended, and goes on."""
        task = self.tasks.get(run.key)
        if task:
            task.cancel()

    async def ended(self) -> None:
        """Wait until nothing is running, and everything is reported."""
        while self.tasks:
            await asyncio.wait(self.tasks.values())

    async def recorded(self, most: int) -> None:
        """Wait until no more than so many have ended that nobody has recorded."""
        while len(self.tasks) - len(self.going) > most:
            self.fewer.clear()
            await self.fewer.wait()

    async def _run(self, function: Function, launch: Launch) -> None:
        """Run it and say how it ended; until that is said, the key is known."""
        try:
            report, error = await _outcome(function, launch)
            self.going.discard(launch.run.key)
            await self.report(launch, report, error)
        finally:
            self.going.discard(launch.run.key)
            self.tasks.pop(launch.run.key, None)
            self.fewer.set()


async def _outcome(function: Function, launch: Launch) -> tuple[Report, BaseException | None]:
    """How it ended. `sys.exit()` ends the function that calls it, and not the application; Ctrl-C ends all."""
    try:
        await function(launch)
    except asyncio.CancelledError:  # by somebody, or by itself: it has not succeeded
        return Report.FAILED, None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return Report.FAILED, error
    return Report.SUCCESS, None


def plain(function: Callable[[], Any]) -> bool:
    """Whether a function needs a thread: it is not async."""
    called = function.func if isinstance(function, partial) else function
    return not (iscoroutinefunction(called) or iscoroutinefunction(getattr(called, "__call__", None)))  # noqa: B004


async def call(function: Callable[[], Any], threads: Threads, begun: Callable[[], None] = lambda: None) -> None:
    """Call a function to its end: an async one here, a plain one in a thread. What can be awaited, is."""
    if plain(function):
        result = await threads.run(function, begun)
    else:
        begun()
        result = function()
    if isawaitable(result):
        await result
