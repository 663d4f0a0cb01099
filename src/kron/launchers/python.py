"""Runs functions of this process. It reports the end of a run itself, and knows a key that it has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from kron.core.answer import Answer, Report
from kron.core.run import Run
from kron.launcher import Launch

Function = Callable[[Launch], Awaitable[None] | None]
Reporter = Callable[[str, Report], Awaitable[object]]


class PythonLauncher:
    """Starts `python:name` by calling the function of that name; plain functions run in a thread."""

    def __init__(self, functions: Mapping[str, Function], report: Reporter) -> None:
        self.functions, self.report = functions, report
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, launch: Launch) -> Answer:
        """Start the function, unless the key is running already."""
        function = self.functions.get(launch.job.target.partition(":")[2])
        if function is None:
            return Answer.REJECTED
        key = launch.run.key
        if key not in self.tasks:
            self.tasks[key] = asyncio.create_task(self._run(function, launch))
        return Answer.OK

    async def cancel(self, run: Run) -> None:
        """Cancel the task of the run. A plain function in its thread cannot be ended, and goes on."""
        task = self.tasks.get(run.key)
        if task:
            task.cancel()

    async def _run(self, function: Function, launch: Launch) -> None:
        await asyncio.sleep(0)  # the start is recorded before the end can be
        try:
            if asyncio.iscoroutinefunction(function):
                await function(launch)
            else:
                await asyncio.to_thread(function, launch)
            outcome = Report.SUCCESS
        except Exception:
            outcome = Report.FAILED
        finally:
            self.tasks.pop(launch.run.key, None)
        await self.report(launch.run.key, outcome)
