"""The functions of this process: called when their jobs are launched, and heard of for as long as they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from kron.apps.embedded.declared import Declared
from kron.clock import Timer
from kron.core.answer import Answer, Receipt, Report
from kron.core.policy import SECOND
from kron.core.run import Run
from kron.errors import KronError
from kron.launcher import Launch
from kron.launchers.python import Function, PythonLauncher, call
from kron.reports import Reports
from kron.store import Store, Transactional

TRIES = 5  # to record the end of a run; after that it falls silent
log = logging.getLogger("kron.scheduler")


class Functions:
    """A launcher of functions. What another process declares and this one does not, it leaves for another time."""

    def __init__(self, declared: Mapping[str, Declared], store: Store, timer: Timer) -> None:
        self.declared, self.store, self.timer = declared, store, timer
        self.ending: Callable[[], None] = lambda: None  # whom to tell that something has ended
        self.reports = Reports(store)
        self.python = PythonLauncher(self._function, self._report)

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start the function, if it is one of this process."""
        name = launch.job.name
        if name not in self.declared:
            log.warning("job %r is due, and this process does not declare it", name)
            return Answer.RETRYABLE
        return await self.python.start(launch)

    async def cancel(self, run: Run) -> None:
        """Cancel an async function; a plain one goes on."""
        await self.python.cancel(run)

    async def ended(self, patience: float) -> None:
        """Wait until nothing runs; then cancel what can be, and wait no more for what cannot."""
        going = set(self.python.tasks.values())
        if going:
            _, late = await asyncio.wait(going, timeout=patience)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=1.0)

    def _function(self, name: str) -> Function:
        return partial(self._call, self.declared[name])

    async def _call(self, declared: Declared, launch: Launch) -> None:
        with self._heard_of(launch):
            if declared.transaction:
                await self._within_a_transaction(declared, launch)
            else:
                await call(partial(declared.function, *declared.args, **declared.kwargs))

    async def _within_a_transaction(self, declared: Declared, launch: Launch) -> None:
        assert isinstance(self.store, Transactional)  # noqa: S101  or the job could not be declared
        async with self.store.transaction(launch.run, launch.job.schedule.policy) as connection:
            await declared.function(connection, *declared.args, **declared.kwargs)

    @contextmanager
    def _heard_of(self, launch: Launch) -> Iterator[None]:
        """Say now and then that it is still going, so that nobody takes it for lost."""
        beat = asyncio.create_task(self._beat(launch))
        try:
            yield
        finally:
            beat.cancel()

    async def _beat(self, launch: Launch) -> None:
        while True:
            await self.timer.sleep(launch.job.schedule.policy.run_lease / SECOND / 3)
            try:
                await self.reports.say(launch, Report.STARTED)
            except Exception as trouble:
                log.warning("job %r could not say that it is going: %s", launch.job.name, trouble)

    async def _report(self, launch: Launch, report: Report, error: Exception | None) -> None:
        if report is Report.SUCCESS and self.declared[launch.job.name].transaction:
            self.ending()
            return  # it was recorded with what the function wrote
        if isinstance(error, KronError) and error.code == "FENCED":
            log.warning("job %r: %s", launch.job.name, error.message)
            return  # it is somebody else's to speak of
        if error is not None:
            log.error("job %r failed", launch.job.name, exc_info=error)
        for tries in range(TRIES):
            try:
                await self.reports.say(launch, report)
                self.ending()
                return
            except Exception as trouble:
                log.warning("the end of job %r could not be recorded: %s", launch.job.name, trouble)
                await self.timer.sleep(2**tries)
