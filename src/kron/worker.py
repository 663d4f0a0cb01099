"""The worker: look, plan, settle, send, record what came of it. It remembers nothing that a crash may not take."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from kron.clock import Clock, Timer
from kron.core.case import Case
from kron.core.plan import Plan, plan
from kron.events import Event, Sink, about, silent
from kron.failpoint import fail_point
from kron.foresight import Batch, Foresight
from kron.launcher import Launcher
from kron.pause import awoken
from kron.sender import Sender
from kron.settings import Settings
from kron.skew import Skew, compare
from kron.store import SHARDS, Store, settlement

ALL = frozenset(range(SHARDS))
GATHERING = 0.01  # seconds from a nudge to the look


class Pass(NamedTuple):
    """What a pass has written, and what it went by."""

    plans: list[Plan]
    shards: frozenset[int]
    began: float
    now: int
    full: bool  # there may be more to look at already


class Worker:
    """One worker process. `owner` names this incarnation of it, and never another.

    `clock` is this host's: only to be compared with the store's, which decides. Without it nothing is compared.
    """

    def __init__(
        self,
        store: Store,
        launchers: Mapping[str, Launcher],
        timer: Timer,
        *,
        owner: str,
        settings: Settings = Settings(),  # noqa: B008  a frozen value
        sink: Sink = silent,
        clock: Clock | None = None,
    ) -> None:
        self.store, self.timer, self.clock = store, timer, clock
        self.owner, self.settings, self.sink = owner, settings, sink
        self.sender = Sender(store, launchers, timer, settings, sink)
        self.foresight = Foresight(store, owner, settings)
        self.sending: set[asyncio.Task[None]] = set()
        self.unanswered = 0
        self.skew, self.holding = Skew(0), True
        self.nudged = asyncio.Event()
        self.full = False  # whether the last pass has left some for the next

    async def run(self, stop: asyncio.Event) -> None:
        """Make passes until told to stop. What is being sent goes on beside them; in the end it is waited for."""
        stopped, failures = asyncio.ensure_future(stop.wait()), 0
        while not stop.is_set():
            try:
                pause, failures = await self._go_on(), 0
            except Exception as error:
                failures += 1
                pause = min(self.settings.backoff, 100 << min(failures, 10))
                self._failed(error)
            await self._rest(pause, stopped)
        stopped.cancel()
        if self.sending:
            await asyncio.wait(self.sending, timeout=self.settings.lease / 2000)

    def nudge(self) -> None:
        """A hint that there is something to look at: who rests looks now, and not when its tick is over."""
        self.nudged.set()

    async def tick(self) -> int:
        """One pass, to the last answer. How many milliseconds to sleep before the next."""
        passed = await self._settle()
        await self.sender.carry_out(passed.plans, passed.began, passed.now)
        return await self._pause(passed)

    async def _go_on(self) -> int:
        """One pass, without waiting for the answers, unless too many are awaited already."""
        if self.unanswered >= self.settings.inflight:
            return self.settings.tick
        passed = await self._settle()
        if any(p.launches or p.cancels for p in passed.plans):
            task = asyncio.ensure_future(self._send(passed))
            self.sending.add(task)
            task.add_done_callback(self.sending.discard)
        return await self._pause(passed)

    async def _settle(self) -> Pass:
        """Look, plan and write with one `now`. The plans that were written, by this worker and nobody else."""
        began, settings = self.timer.monotonic(), self.settings
        self.skew = await compare(self.store, self.clock, self.timer)
        now = self.skew.now
        shards = await (self._let_go(self.skew) if self.skew.beyond(settings.skew) else self._lease(now))
        fail_point("K9")
        if not shards:
            if self.holding:  # it stands by, and says that it lives
                self._tell_all([], 0, now)
            return Pass([], shards, began, now, full=False)
        fail_point("K0")
        ripe = self.foresight.ripe(now, settings.inflight - self.unanswered)
        if ripe:
            return await self._write(ripe, shards, began, now)
        cases = await self._awaken(await self.store.look(shards, now, settings.batch), now)
        plans = [plan(case, now, owner=self.owner, lease=settings.lease) for case in cases]
        fail_point("K10" if any(p.changed for p in plans) else "K1")
        won = await self.store.settle([settlement(p) for p in plans], now)
        mine = [p for p, held in zip(plans, won, strict=True) if held]
        self._tell_all(mine, len(plans), now)
        return Pass(mine, shards, began, now, len(cases) == settings.batch)

    async def _write(self, batches: list[Batch], shards: frozenset[int], began: float, now: int) -> Pass:
        """Write what was planned ahead for an instant that has come; then there may be more to look at."""
        mine, lanes = list[Plan](), asyncio.Semaphore(self.settings.lanes)

        async def write(batch: Batch) -> None:
            async with lanes:
                fail_point("K1")
                won = await self.store.settle(batch.settlements, now)
                mine.extend(p for p, held in zip(batch.plans, won, strict=True) if held)

        for failed in await asyncio.gather(*map(write, batches), return_exceptions=True):
            if isinstance(failed, Exception):
                self._failed(failed)
        self._tell_all(mine, sum(len(batch.plans) for batch in batches), now)
        first = min(batch.at for batch in batches)  # since when what was claimed is claimed
        return Pass(mine, shards, began - (now - first) / 1000, first, full=True)

    async def _lease(self, now: int) -> frozenset[int]:
        length, self.holding = self.settings.shard_lease, True
        if not length:
            return ALL
        shards = await self.store.lease(self.owner, now, now + length)
        if self.settings.lead:  # who has the first shard leads
            return ALL if 0 in shards else frozenset()
        return shards

    async def _let_go(self, skew: Skew) -> frozenset[int]:
        """Hold no shard while this clock and the store's disagree: one of them is wrong, and nobody knows which."""
        self.sink(Event("clock_astray", skew.now, {"owner": self.owner, "skew": skew.ahead, "error": skew.error}))
        if self.settings.shard_lease and self.holding:
            await self.store.lease(self.owner, skew.now, skew.now)
        self.holding = False
        return frozenset()

    async def _awaken(self, cases: list[Case], now: int) -> list[Case]:
        """End the pauses that are over. The other cases; those that awoke are looked at again in the next pass."""
        over = [case for case in cases if case.until is not None and case.awakes(now)]
        if not over:
            return cases
        won = await self.store.settle([awoken(case) for case in over], now)
        for case, held in zip(over, won, strict=True):
            if held:
                self.sink(Event("pause_ended", now, {"identity": case.identity, "until": case.until}))
        return [case for case in cases if not case.awakes(now)]

    async def _send(self, passed: Pass) -> None:
        count = len(passed.plans)
        self.unanswered += count
        try:
            await self.sender.carry_out(passed.plans, passed.began, passed.now)
        except Exception as error:
            self._failed(error)
        finally:
            self.unanswered -= count

    async def _pause(self, passed: Pass) -> int:
        self.full = passed.full
        if passed.full:
            return 0
        if not passed.shards:
            return self.settings.tick
        if self.settings.lookahead and await self.foresight.look(passed.shards, await self.store.now()):
            return 0
        wake, now = await self.store.wake(passed.shards), await self.store.now()
        return self.settings.tick if wake is None else max(0, min(self.settings.tick, wake - now))

    async def _rest(self, pause: int, stopped: asyncio.Future[Any]) -> None:
        """Sleep; but not on, once something was answered, somebody nudges or the end has come."""
        nap = asyncio.ensure_future(self.timer.sleep(pause / 1000))
        nudge = asyncio.ensure_future(self.nudged.wait())
        await asyncio.wait({nap, nudge, stopped, *self.sending}, return_when=asyncio.FIRST_COMPLETED)
        nap.cancel()
        nudge.cancel()
        if self.nudged.is_set():
            await self.timer.sleep(GATHERING)  # those who ask at once are served at once, and many together
            self.nudged.clear()

    def _failed(self, error: Exception) -> None:
        self.sink(Event("pass_failed", 0, {"owner": self.owner, "error": repr(error)}))

    def _tell_all(self, plans: list[Plan], looked: int, now: int) -> None:
        if self.sink is silent:
            return
        for p in plans:
            self._tell(p, now)
        done = {"owner": self.owner, "looked": looked, "settled": len(plans), "skew": self.skew.ahead}
        self.sink(Event("pass", now, done))

    def _tell(self, p: Plan, now: int) -> None:
        for run in p.new:
            self.sink(about("run_recorded" if run.open else "run_ended", now, run, p.case.job))
        for _, run in p.changed:
            self.sink(about("run_recorded" if run.open else "run_ended", now, run))
        if p.gap:
            facts = {"identity": p.case.identity, "first": p.gap.first, "last": p.gap.last, "count": p.gap.count}
            why = {"verdict": str(p.gap.verdict), "reason": str(p.gap.reason)}
            self.sink(Event("gap_recorded", now, facts | why))
