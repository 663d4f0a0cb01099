"""Reports of functions of this process. Those that come while others are being written are written together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kron.core.answer import Report, look_after, reported
from kron.core.run import Run
from kron.launcher import Launch
from kron.store import Change, Store

BATCH = 1_000  # reports written together
TRIES = 20  # against others who speak of the same run


class _Said(NamedTuple):
    launch: Launch
    report: Report
    heard: asyncio.Future[bool]


class Reports:
    """Writes what functions report of their runs, many at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
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
        """Write them, as if each run stood as who reports believes; else, as often as others change it, it is read."""
        some = await self._attempted(some, [said.launch.run for said in some], sure=False)
        for _ in range(TRIES):
            if not some:
                return
            some = await self._attempted(some, await self.store.find([s.launch.run.key for s in some]), sure=True)
        if some:
            raise TimeoutError("others keep changing the same runs")

    async def _attempted(self, some: list[_Said], runs: Sequence[Run | None], *, sure: bool) -> list[_Said]:
        """Write what each report comes to where the runs stand so. Those that are to be tried again."""
        now = await self.store.now()
        changes = _changes(some, runs, now)
        held = await self.store.change(list(changes.values()), now) if changes else []
        won, again = dict(zip(changes, held, strict=True)), list[_Said]()
        for number, said in enumerate(some):
            if not won.get(number, sure):
                again.append(said)
            elif not said.heard.done():
                said.heard.set_result(number in won)
        return again


def _changes(some: list[_Said], runs: Sequence[Run | None], now: int) -> dict[int, Change]:
    """What each report comes to, by its number; nothing for those that come too late."""
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
