"""Reports of functions of this process. Those that come while others are being written are written together."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from kron.core.answer import Report, look_after, reported
from kron.core.run import Run
from kron.events import Sink, about, guarded, silent
from kron.launcher import Launch
from kron.store import Change, Store

BATCH = 1_000  # reports written together
TRIES = 20  # against others who speak of the same run


class _Said(NamedTuple):
    launch: Launch
    report: Report
    heard: asyncio.Future[bool]


class Reports:
    """Writes what functions report of their runs, many at once. `sink` hears of the runs that end by it."""

    def __init__(self, store: Store, sink: Sink = silent) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)
        self.waiting: list[_Said] = []
        self.writing = False
        self.left: set[asyncio.Task[None]] = set()

    async def say(self, launch: Launch, report: Report) -> bool:
        """Report of the attempt that was launched. Whether that still counts; an error, if it could not be written."""
        said = _Said(launch, report, asyncio.get_running_loop().create_future())
        self.waiting.append(said)
        if not self.writing:
            await self._write_all()
        return await said.heard

    async def _write_all(self) -> None:
        """Write those that are there, and those that come meanwhile. The first who reports does it for all."""
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
            _tell(some, TimeoutError("who wrote it was cancelled"))
            raise

    def _hand_over(self) -> None:
        """Who writes for all is cancelled, and the others wait."""
        if self.waiting:
            task = asyncio.create_task(self._write_all())
            self.left.add(task)
            task.add_done_callback(self.left.discard)

    async def _write(self, some: list[_Said]) -> None:
        """Write them; what somebody else has changed in between is read again."""
        for _ in range(TRIES):
            changes = await self._changes(some)
            held = await self.store.change(list(changes.values()), await self.store.now()) if changes else []
            won = dict(zip(changes, held, strict=True))
            for number, said in enumerate(some):
                if won.get(number, True) and not said.heard.done():
                    said.heard.set_result(number in won)
                if won.get(number) and self.sink is not silent:
                    self._tell(changes[number].after)
            some = [said for number, said in enumerate(some) if not won.get(number, True)]
            if not some:
                return
        raise TimeoutError("others keep changing the same runs")

    def _tell(self, run: Run) -> None:
        if not run.open:
            self.sink(about("run_ended", run.changed, run))

    async def _changes(self, some: list[_Said]) -> dict[int, Change]:
        """What each report comes to, by its number; nothing for those that come too late."""
        runs, now = await self.store.find([said.launch.run.key for said in some]), await self.store.now()
        found = dict[int, Change]()
        for number, (run, said) in enumerate(zip(runs, some, strict=True)):
            policy = said.launch.job.schedule.policy
            after = run and reported(run, said.report, policy, now, said.launch.run.attempt)
            if run and after:
                found[number] = Change(run, after, look_after(after, policy, now))
        return found


def _tell(some: list[_Said], error: Exception) -> None:
    """Why it was not written, or is not known to be."""
    for said in some:
        if not said.heard.done():
            said.heard.set_exception(error)
            said.heard.exception()  # whoever waits is told; nobody has to
