"""The worker: reads what is due, plans, commits, launches. It is stateless: everything durable is in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kron.clock import Clock, Timer
from kron.core.case import Case
from kron.core.plan import Plan, plan
from kron.dispatcher import Dispatcher
from kron.events import Event, Sink, about, guarded, silent
from kron.failpoint import fail_point
from kron.fleet import Share
from kron.foresight import Batch, Foresight
from kron.launcher import Launcher
from kron.membership import Membership
from kron.pause import awoken
from kron.setting_aside import SettingAside
from kron.settings import Settings
from kron.skew import Skew, compare
from kron.store import Store, Unreadable, settlement

GATHERING = 0.01  # seconds from a nudge to the look
AFTER_OUTAGE = 2.0  # seconds after an outage of the store in which every process records what it knows


class Pass(NamedTuple):
    """What a pass has written, and what it went by."""

    plans: list[Plan]
    began: float
    now: int
    pause: int  # milliseconds until the next pass
    looked: int = 0  # schedules that were read, or had been planned ahead
    made: bool = True  # False: the clocks disagree, and nothing was looked at


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
        self.store, self.launchers, self.timer, self.clock = store, launchers, timer, clock
        self.owner, self.settings = owner, settings
        self.sink = sink if sink is silent else guarded(sink)
        self.membership = Membership(store, owner, launchers, timer, settings)
        self.dispatcher = Dispatcher(store, launchers, timer, settings, self.sink)
        self.foresight = Foresight(store, owner, settings)
        self.aside = SettingAside(store, self.sink)
        self.skew = Skew(0)
        self.nudged = asyncio.Event()
        self.full = False  # whether the last pass has left some for the next
        self.batch = settings.batch  # schedules committed at once: fewer after a commit that failed

    async def run(self, stop: asyncio.Event) -> None:
        """Make passes until told to stop, then launch nothing more, record what is on its way, and leave the fleet."""
        stopped, failures = asyncio.ensure_future(stop.wait()), 0
        while not stop.is_set():
            try:
                pause, failures = await self._go_on(failures), 0
            except Exception as error:
                failures += 1
                pause = min(self.settings.backoff, 100 << min(failures, 10))
                self._failed(error)
            await self._rest(pause, stopped)
        stopped.cancel()
        await self.leave()

    async def leave(self) -> None:
        """Launch nothing more, and hand over: others need not wait for the lease to end."""
        await self.dispatcher.stop(self.settings.lease / 2000)
        try:
            await self.membership.leave()
        except Exception as error:
            self._failed(error)

    def nudge(self) -> None:
        """A hint that there is something to look at: a worker that rests looks now, and not when its tick is over."""
        self.nudged.set()

    async def tick(self) -> int:
        """One pass, to the last result. How many milliseconds to sleep before the next."""
        passed = await self._pass()
        await self._launch(passed)
        await self.dispatcher.drain()
        return passed.pause

    async def _go_on(self, failures: int) -> int:
        """One pass, without waiting for the results, unless there is no room for more."""
        if failures:
            await self._after_outage()
        passed = await self._pass()
        await self._launch(passed)
        return passed.pause

    async def _after_outage(self) -> None:
        """The store answers again: say that this worker lives, and let each process record what it knows before runs
        are taken for silent."""
        now = await self.store.now()
        if self.membership.renewed is not None and self.membership.due(now):
            await self.membership.renew(now)
        await self.timer.sleep(AFTER_OUTAGE)

    async def _launch(self, passed: Pass) -> None:
        """Launch first; then tell about it."""
        if any(p.launches or p.cancels for p in passed.plans):
            self.dispatcher.submit(passed.plans, passed.began, passed.now)
            await asyncio.sleep(0)  # what is launched is on its way
        self._tell_all(passed)

    async def _pass(self) -> Pass:
        """Read, plan and commit with one `now`."""
        began, settings = self.timer.monotonic(), self.settings
        shares = self.membership.shares
        self.skew, wake = await compare(self.store, self.clock, self.timer, shares)
        now = self.skew.now
        if self.skew.beyond(settings.skew):
            return await self._stand_aside(began, now)
        if self.membership.due(now):
            changed = await self.membership.renew(now)
            fail_point("K9")
            if changed:  # there is more to look at, or less
                shares, wake = self.membership.shares, now
        self.full = False
        if not shares:
            return Pass([], began, now, settings.tick)
        fail_point("K0")
        ripe = self.foresight.ripe(now, self.dispatcher.room)
        if ripe:
            return await self._write(ripe, began, now)
        if wake is None or wake > now:
            return Pass([], began, now, await self._pause(shares, now, wake))
        return await self._look(shares, began, now)

    async def _look(self, shares: Sequence[Share], began: float, now: int) -> Pass:
        """Read what is due, as much of it as there is room for, plan it and commit."""
        room = min(self.dispatcher.room, self.batch)
        if room <= 0:
            return Pass([], began, now, self.settings.tick)  # a result that comes ends the rest before
        found = list[Case | Unreadable]()
        for share in shares:
            found += await self.store.look(share, now, room - len(found)) if len(found) < room else []
        cases = [self.membership.informed(case) for case in await self.aside.unreadable(found, now)]
        cases = await self._awaken([case for case in cases if not self._held(case)], now)
        planned = [plan(case, now, owner=self.owner, lease=self.settings.lease) for case in cases]
        plans = _affordable(planned, self.dispatcher.room)
        fail_point("K10" if any(p.changed for p in plans) else "K1")
        try:
            mine = await self._commit(plans, now)
        except Exception:
            self._shrink(plans)
            self.dispatcher.withdraw(plans, began, now)
            raise
        self.batch = min(self.settings.batch, self.batch + max(1, self.batch // 8))
        self.full = len(found) >= room or len(plans) < len(planned)
        return Pass(mine, began, now, 0 if mine or self.full else self._shortly(), len(found))

    def _shrink(self, plans: Sequence[Plan]) -> None:
        """A commit has failed: it may have been too much at once for a store that is slow."""
        self.batch = max(1, min(self.batch, len(plans)) // 4)

    def _held(self, case: Case) -> bool:
        """Whether this process itself is at a run of the case: then nothing of it is taken for silent."""
        if not case.open:
            return False
        over = [run for run in case.open if run.lease is not None and run.lease <= self.skew.now]
        return any(run.key in self.dispatcher.busy or self._running(case, run.key) for run in over)

    def _running(self, case: Case, key: str) -> bool:
        holds = getattr(self.launchers.get(case.job.target.partition(":")[0]), "holds", None)
        return bool(holds and holds(key))

    async def _commit(self, plans: list[Plan], now: int) -> list[Plan]:
        """The plans that were written, by this worker and no other."""
        won = await self.aside.commit([settlement(p) for p in plans], now)
        return [p for p, held in zip(plans, won, strict=True) if held]

    async def _write(self, batches: list[Batch], began: float, now: int) -> Pass:
        """Write what was planned ahead for an instant that has come; then there may be more to look at."""
        mine, lanes = list[Plan](), asyncio.Semaphore(self.settings.lanes)

        async def write(batch: Batch) -> None:
            async with lanes:
                fail_point("K1")
                try:
                    won = await self.store.settle(batch.settlements, now)
                except Exception:
                    self._shrink(batch.plans)
                    self.dispatcher.withdraw(batch.plans, began, now)
                    raise
                mine.extend(p for p, held in zip(batch.plans, won, strict=True) if held)

        for failed in await asyncio.gather(*map(write, batches), return_exceptions=True):
            if isinstance(failed, Exception):
                self._failed(failed)
        first = min(batch.at for batch in batches)  # since when what was claimed is claimed
        self.full = True
        looked = sum(len(batch.plans) for batch in batches)
        return Pass(mine, began - (now - first) / 1000, first, 0, looked)

    async def _stand_aside(self, began: float, now: int) -> Pass:
        """Leave the fleet while this clock and the store's disagree: one of them is wrong."""
        facts = {"owner": self.owner, "skew": self.skew.ahead, "error": self.skew.error}
        self.sink(Event("clock_astray", now, facts))
        await self.membership.leave()
        return Pass([], began, now, self.settings.tick, made=False)

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

    async def _pause(self, shares: Sequence[Share], now: int, wake: int | None) -> int:
        if self.settings.lookahead and await self.foresight.look(shares[0], now, self.membership.informed, self.batch):
            return 0
        return self.settings.tick if wake is None else max(0, min(self.settings.tick, wake - now))

    def _shortly(self) -> int:
        """Others were faster at everything that was due, or it waits for this process: look again, but not at once."""
        return min(self.settings.tick, 100)

    async def _rest(self, pause: int, stopped: asyncio.Future[Any]) -> None:
        """Sleep; but not on, once a launch has ended, somebody nudges or the end has come."""
        nap = asyncio.ensure_future(self.timer.sleep(pause / 1000))
        self.dispatcher.ended.clear()
        reasons = [asyncio.ensure_future(event.wait()) for event in (self.nudged, self.dispatcher.ended)]
        await asyncio.wait({nap, stopped, *reasons}, return_when=asyncio.FIRST_COMPLETED)
        for waiting in (nap, *reasons):
            waiting.cancel()
        if self.nudged.is_set():
            await self.timer.sleep(GATHERING)  # those who ask at once are served at once, and many together
            self.nudged.clear()

    def _failed(self, error: Exception) -> None:
        self.sink(Event("pass_failed", 0, {"owner": self.owner, "error": repr(error)}))

    def _tell_all(self, passed: Pass) -> None:
        if self.sink is silent or not passed.made:
            return
        for p in passed.plans:
            self._tell(p, passed.now)
        facts = {"looked": passed.looked, "settled": len(passed.plans), "skew": self.skew.ahead}
        if self.settings.shard_lease:
            facts["shards"] = len(frozenset().union(*(share.shards for share in self.membership.shares)))
        self.sink(Event("pass", passed.now, {"owner": self.owner, **facts}))

    def _tell(self, p: Plan, now: int) -> None:
        for run in p.new:
            self.sink(about("run_recorded" if run.open else "run_ended", now, run, p.case.job))
        for _, run in p.changed:
            self.sink(about("run_recorded" if run.open else "run_ended", now, run))
        if p.gap:
            facts = {"identity": p.case.identity, "first": p.gap.first, "last": p.gap.last, "count": p.gap.count}
            why = {"verdict": str(p.gap.verdict), "reason": str(p.gap.reason)}
            self.sink(Event("gap_recorded", now, facts | why))


def _affordable(plans: list[Plan], room: int) -> list[Plan]:
    """The first of the plans, as many as there is room for their launches. One may launch many runs to catch up."""
    if sum(len(each.new) + len(each.changed) for each in plans) <= room:
        return plans
    for number, each in enumerate(plans):
        room -= len(each.launches)
        if room < 0 and number:
            return plans[:number]
    return plans
