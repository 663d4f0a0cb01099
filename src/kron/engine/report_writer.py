"""Report writer: reports of functions in this process. Reports that arrive during a write are written together."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from kron.engine.events import Sink, about, guarded, silent
from kron.engine.launcher import Launch
from kron.engine.store import Store
from kron.rules.launch_result import Report, next_check_after, reported
from kron.rules.run import Run
from kron.rules.update import RunUpdate

BATCH = 1_000  # reports written together
TRIES = 20  # attempts of a write that concurrent writers can defeat


class _Said(NamedTuple):
    launch: Launch
    report: Report
    heard: asyncio.Future[bool]


class Reports:
    """Batched writer of the reports of functions. `sink` receives the runs that end by them."""

    def __init__(self, store: Store, sink: Sink = silent) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)
        self.waiting: list[_Said] = []
        self.writing = False
        self.left: set[asyncio.Task[None]] = set()

    async def say(self, launch: Launch, report: Report) -> bool:
        """Report on a launched attempt. Returns whether the report counts; raises if it could not be written."""
        said = _Said(launch, report, asyncio.get_running_loop().create_future())
        self.waiting.append(said)
        if not self.writing:
            await self._write_all()
        return await said.heard

    async def _write_all(self) -> None:
        """Write the waiting reports, and those that arrive meanwhile. The first reporting task writes for all."""
        self.writing = True
        try:
            while self.waiting:
                some, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
                await self._attempt(some)
        except asyncio.CancelledError:
            self._hand_over()
            raise
        finally:
            self.writing = False

    async def _attempt(self, some: list[_Said]) -> None:
        try:
            await self._write(some)
        except Exception as error:
            _tell(some, error)
        except asyncio.CancelledError:
            _tell(some, TimeoutError("the task that wrote the report was canceled"))
            raise

    def _hand_over(self) -> None:
        """Start a task for the waiting reports, because the task that writes for all is canceled."""
        if self.waiting:
            task = asyncio.create_task(self._write_all())
            self.left.add(task)
            task.add_done_callback(self.left.discard)

    async def _write(self, some: list[_Said]) -> None:
        """Write reports. Runs that were modified concurrently are read again."""
        for _ in range(TRIES):
            changes = await self._changes(some)
            held = await self.store.update_runs(list(changes.values()), await self.store.now()) if changes else []
            won = dict(zip(changes, held, strict=True))
            for number, said in enumerate(some):
                if won.get(number, True) and not said.heard.done():
                    said.heard.set_result(number in won)
                if won.get(number) and self.sink is not silent:
                    self._tell(changes[number].after)
            some = [said for number, said in enumerate(some) if not won.get(number, True)]
            if not some:
                return
        raise TimeoutError(f"runs were modified concurrently; gave up after {TRIES} attempts")

    def _tell(self, run: Run) -> None:
        if not run.open:
            self.sink(about("run_finished", run.changed, run))

    async def _changes(self, some: list[_Said]) -> dict[int, RunUpdate]:
        """Return the run update of each report, by its number; none for reports that are too late."""
        runs, now = await self.store.runs_by_key([said.launch.run.key for said in some]), await self.store.now()
        found = dict[int, RunUpdate]()
        for number, (run, said) in enumerate(zip(runs, some, strict=True)):
            policy = said.launch.job.schedule.policy
            after = run and reported(run, said.report, policy, now, said.launch.run.attempt)
            if run and after:
                found[number] = RunUpdate(run, after, next_check_after(after, policy, now))
        return found


def _tell(some: list[_Said], error: Exception) -> None:
    """Give the waiting tasks the error because of which a report was not written, or may not have been."""
    for said in some:
        if not said.heard.done():
            said.heard.set_exception(error)
            said.heard.exception()  # marks the error as retrieved: a task may wait for it, but need not
