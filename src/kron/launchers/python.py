"""Python launcher: runs functions in this process, reports how each run ended, and recognizes keys that are running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from kron.engine.launcher import Launch
from kron.launchers.threads import Threads
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run

Function = Callable[[Launch], Awaitable[None]]
Reporter = Callable[[Launch, Report, BaseException | None], Awaitable[None]]


class PythonLauncher:
    """Launcher of `python:name` targets: calls the async function of that name. For plain functions see `call`."""

    is_local = True

    def __init__(
        self,
        function_of: Callable[[str], Function | None],
        report: Reporter,
        names: Callable[[], Collection[str]] | None = None,
    ) -> None:
        """Create a launcher.

        Args:
            function_of: Returns the function of a name; None if it is unknown.
            report: Records how a run ended, with the error that the function raised.
            names: Returns the names of the functions of this process, where other processes can have other functions;
                None if this process has all functions.
        """
        self.function_of, self.report, self.names = function_of, report, names
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.running: set[str] = set()  # keys of `tasks` whose functions have not ended
        self.failures: dict[str, int] = {}  # failures of the runs of `tasks` before their functions started
        self.canceled: set[asyncio.Task[None]] = set()  # canceled tasks that have not ended; not part of `tasks`

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Start the function, unless the key is running already. `over` in the response: the function has ended.

        If the record says that the running execution has failed, another worker found that it timed out. It is
        canceled, and the function starts again.
        """
        function = self.function_of(launch.job.target.partition(":")[2])
        if function is None:
            return LaunchResponse(LaunchResult.REJECTED, excerpt="this process has no such function")
        key = launch.run.key
        if not self.continues(launch):
            await self.cancel(launch.run)
            self.running.add(key)
            self.failures[key] = launch.run.failures
            self.tasks[key] = asyncio.create_task(self._run(function, launch))
            await asyncio.sleep(0)  # a function that never waits has ended after this
        return LaunchResult.OK if key in self.running else LaunchResponse(LaunchResult.OK, over=True)

    def continues(self, launch: Launch) -> bool:
        """Return whether the function runs already, and the record does not say that this execution has failed."""
        key = launch.run.key
        return key in self.tasks and launch.run.failures <= self.failures[key]

    def holds(self, key: str) -> bool:
        """Return whether the function of that key is running here, or its end is not recorded yet."""
        return key in self.tasks

    async def cancel(self, run: Run) -> None:
        """Cancel the task of the run. A plain function continues, because its thread cannot be stopped."""
        task = self.tasks.get(run.key)
        if task:
            if run.key in self.running:
                task.cancel()
            self.canceled.add(task)
            task.add_done_callback(self.canceled.discard)
            self._forget(run.key, task)

    async def ended(self) -> None:
        """Wait until no function is running and every end is reported."""
        while tasks := self.unfinished():
            await asyncio.wait(tasks)

    def unfinished(self) -> set[asyncio.Task[None]]:
        """Return the tasks of all functions that are running or whose end is not recorded, also of canceled ones."""
        return {*self.tasks.values(), *self.canceled}

    def unrecorded(self) -> int:
        """Return how many functions have ended without a record of their end."""
        return len(self.tasks) - len(self.running)

    async def _run(self, function: Function, launch: Launch) -> None:
        """Run the function and report how it ended. The key stays known until the report is recorded."""
        key, task = launch.run.key, asyncio.current_task()
        try:
            report, error = await _outcome(function, launch)
            if self.tasks.get(key) is task:
                self.running.discard(key)
            await self.report(launch, report, error)
        finally:
            self._forget(key, task)

    def _forget(self, key: str, task: asyncio.Task[None] | None) -> None:
        """Forget a key, unless a later attempt is running."""
        if self.tasks.get(key) is task:
            self.running.discard(key)
            self.tasks.pop(key, None)
            self.failures.pop(key, None)


async def _outcome(function: Function, launch: Launch) -> tuple[Report, BaseException | None]:
    """Return how the function ended. `sys.exit()` ends only the function that calls it; Ctrl-C ends the application."""
    try:
        await function(launch)
    except asyncio.CancelledError:  # canceled from outside or by itself: no success
        return Report.FAILED, None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return Report.FAILED, error
    return Report.SUCCESS, None


def plain(function: Callable[[], Any]) -> bool:
    """Return whether a function is not async and therefore needs a thread."""
    callee = function.func if isinstance(function, partial) else function
    return not (iscoroutinefunction(callee) or iscoroutinefunction(getattr(callee, "__call__", None)))  # noqa: B004


async def call(function: Callable[[], Any], threads: Threads, on_start: Callable[[], None] = lambda: None) -> None:
    """Call a function and wait for its end: an async function in this loop, a plain function in a thread.

    For a plain function, the caller has taken a slot of `threads`. An awaitable result is awaited. `on_start` is called
    when the function starts.
    """
    if plain(function):
        result = await threads.run_in_slot(function, on_start)
    else:
        on_start()
        result = function()
    if isawaitable(result):
        await result
