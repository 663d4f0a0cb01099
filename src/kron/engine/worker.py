"""Worker: reads due schedules, plans, commits, launches. It is stateless: everything durable is in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kron.engine.clock import Clock, Timer
from kron.engine.clock_skew import Skew, compare
from kron.engine.dispatcher import Dispatcher
from kron.engine.events import Event, Sink, guarded, silent
from kron.engine.failpoint import fail_point
from kron.engine.fleet import Share
from kron.engine.launcher import Launcher
from kron.engine.membership import Membership
from kron.engine.passes import Pass, events_of
from kron.engine.prefetch import Batch, Prefetcher
from kron.engine.setting_aside import SettingAside
from kron.engine.settings import Settings
from kron.engine.store import Store, Unreadable
from kron.errors import KronError
from kron.rules.pause import pause_expired_update
from kron.rules.plan import Plan, plan
from kron.rules.state import ScheduleState
from kron.rules.update import update_of

GATHERING = 0.01  # minimum seconds between two passes after wake-up notifications
log = logging.getLogger("kron.worker")
AFTER_OUTAGE = 2.0  # seconds after a store outage in which every process records what it knows


class Worker:
    """One worker process. `owner` identifies this incarnation of the worker, and must never be reused.

    `clock` is this host's clock. It is only compared with the store's clock, which decides. Without it, the clock skew
    is not measured.
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
        self.prefetcher = Prefetcher(store, owner, settings)
        self.aside = SettingAside(store, self.sink)
        self.skew = Skew(0)
        self.notified = asyncio.Event()
        self.full = False  # whether the last pass left schedules for the next one
        self.batch = settings.batch  # schedules committed at once: fewer after a failed commit

    async def run(self, stop: asyncio.Event) -> None:
        """Make passes until `stop` is set.

        Then launch nothing more, record the results of launches in progress, and leave the fleet.
        """
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
        """Stop launching and leave the fleet, so that other workers need not wait for the lease to expire."""
        await self.dispatcher.stop(self.settings.lease / 2000)
        try:
            await self.membership.leave()
        except Exception as error:
            self._failed(error)

    def notify(self) -> None:
        """Wake an idle worker: it makes its next pass now, not at the end of its tick."""
        self.notified.set()

    async def tick(self) -> int:
        """Make one pass and wait for all results. Returns the milliseconds to sleep before the next pass."""
        passed = await self._pass()
        await self._launch(passed)
        await self.dispatcher.drain()
        return passed.pause

    async def _go_on(self, failures: int) -> int:
        """Make one pass without waiting for the results, unless there is no room for more."""
        if failures:
            await self._after_outage()
        passed = await self._pass()
        await self._launch(passed)
        return passed.pause

    async def _after_outage(self) -> None:
        """Renew the lease after a store outage, and wait.

        Every process can then record what it knows before runs count as silent.
        """
        now = await self.store.now()
        if self.membership.renewed is not None and self.membership.due(now):
            await self.membership.renew(now)
        await self.timer.sleep(AFTER_OUTAGE)

    async def _launch(self, passed: Pass) -> None:
        """Launch first, then send the events."""
        if any(p.launches or p.cancels for p in passed.plans):
            self.dispatcher.submit(passed.plans, passed.began, passed.now)
            await asyncio.sleep(0)  # lets the launches begin
        self._tell_all(passed)

    async def _pass(self) -> Pass:
        """Read, plan and commit with one `now`."""
        began, settings = self.timer.monotonic(), self.settings
        shares = self.membership.shares
        self.skew, wake = await compare(self.store, self.clock, self.timer, shares)
        now = self.skew.now
        if self.skew.exceeds(settings.max_clock_skew):
            return await self._stand_aside(began, now)
        if self.membership.due(now):
            changed = await self.membership.renew(now)
            fail_point("K9")
            if changed:  # the shards to read have changed
                shares, wake = self.membership.shares, now
        self.full = False
        if not shares:
            return Pass([], began, now, settings.tick)
        fail_point("K0")
        ripe = self.prefetcher.take_due(now, self.dispatcher.room)
        if ripe:
            return await self._write(ripe, began, now)
        if wake is None or wake > now:
            return Pass([], began, now, await self._pause(shares, now, wake))
        return await self._look(shares, began, now)

    async def _look(self, shares: Sequence[Share], began: float, now: int) -> Pass:
        """Read as many due schedules as there is room for, plan them and commit the plans."""
        room = min(self.dispatcher.room, self.batch)
        if room <= 0:
            return Pass([], began, now, self.settings.tick)  # a result ends the sleep earlier
        found = list[ScheduleState | Unreadable]()
        for share in shares:
            found += await self.store.fetch_due(share, now, room - len(found)) if len(found) < room else []
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
        onward = self.full or any(p.next_check_at is None or p.next_check_at > now or not p.empty for p in mine)
        return Pass(mine, began, now, 0 if onward else self._shortly(), len(found))

    def _shrink(self, plans: Sequence[Plan]) -> None:
        """Reduce the batch size after a failed commit: the batch may have been too large for a slow store."""
        self.batch = max(1, min(self.batch, len(plans)) // 4)

    def _held(self, case: ScheduleState) -> bool:
        """Return whether this process itself is working on a run with an expired lease: then the run is not silent."""
        if not case.open_runs:
            return False
        over = [run for run in case.open_runs if run.lease is not None and run.lease <= self.skew.now]
        return any(run.key in self.dispatcher.busy or self._running(case, run.key) for run in over)

    def _running(self, case: ScheduleState, key: str) -> bool:
        holds = getattr(self.launchers.get(case.job.target.partition(":")[0]), "holds", None)
        return bool(holds and holds(key))

    async def _commit(self, plans: list[Plan], now: int) -> list[Plan]:
        """Return the plans that this worker has committed."""
        won = await self.aside.commit([update_of(p) for p in plans], now)
        return [p for p, held in zip(plans, won, strict=True) if held]

    async def _write(self, batches: list[Batch], began: float, now: int) -> Pass:
        """Commit the prefetched plans that are due. More schedules may be due afterwards."""
        mine, lanes = list[Plan](), asyncio.Semaphore(self.settings.parallel_commits)

        async def write(batch: Batch) -> None:
            async with lanes:
                fail_point("K1")
                try:
                    won = await self.store.commit(batch.updates, now)
                except Exception:
                    self._shrink(batch.plans)
                    self.dispatcher.withdraw(batch.plans, began, now)
                    raise
                mine.extend(p for p, held in zip(batch.plans, won, strict=True) if held)

        for failed in await asyncio.gather(*map(write, batches), return_exceptions=True):
            if isinstance(failed, Exception):
                self._failed(failed)
        first = min(batch.at for batch in batches)  # when the claims began
        self.full = True
        looked = sum(len(batch.plans) for batch in batches)
        return Pass(mine, began - (now - first) / 1000, first, 0, looked)

    async def _stand_aside(self, began: float, now: int) -> Pass:
        """Leave the fleet while this clock and the store's disagree: one of them is wrong."""
        facts = {"owner": self.owner, "skew": self.skew.ahead, "error": self.skew.error}
        self.sink(Event("clock_skew_exceeded", now, facts))
        await self.membership.leave()
        return Pass([], began, now, self.settings.tick, made=False)

    async def _awaken(self, cases: list[ScheduleState], now: int) -> list[ScheduleState]:
        """End expired pauses. Returns the other states; the next pass reads the resumed schedules again."""
        over = [case for case in cases if case.paused_until is not None and case.pause_expired(now)]
        if not over:
            return cases
        won = await self.store.commit([pause_expired_update(case) for case in over], now)
        for case, held in zip(over, won, strict=True):
            if held:
                self.sink(Event("pause_expired", now, {"identity": case.identity, "until": case.paused_until}))
        return [case for case in cases if not case.pause_expired(now)]

    async def _pause(self, shares: Sequence[Share], now: int, wake: int | None) -> int:
        if self.settings.lookahead and await self.prefetcher.fill(shares[0], now, self.membership.informed, self.batch):
            return 0
        tick = self.settings.tick - (now % self.settings.tick if self.settings.aligned else 0)
        return tick if wake is None else max(0, min(tick, wake - now))

    def _shortly(self) -> int:
        """Return a short pause: other workers were faster, or a run waits for this process."""
        return min(self.settings.tick, 100)

    async def _rest(self, pause: int, stopped: asyncio.Future[Any]) -> None:
        """Sleep until the pause is over, a wake-up notification arrives, or the worker is stopped.

        If there is no room for more launches, the end of a launch wakes the worker, too.
        """
        began, shortest = self.timer.monotonic(), 0 if self.full else self.settings.min_pass_interval
        self.dispatcher.ended.clear()
        events = [self.notified, *([self.dispatcher.ended] if self.dispatcher.room <= 0 else [])]
        reasons = [asyncio.ensure_future(event.wait()) for event in events]
        await self._sleep(max(pause, shortest) / 1000, stopped, *reasons)
        for waiting in reasons:
            waiting.cancel()
        if self.notified.is_set():  # collects requests that arrive together into one pass
            await self._sleep(began + max(GATHERING, shortest / 1000) - self.timer.monotonic(), stopped)
            self.notified.clear()

    async def _sleep(self, seconds: float, *reasons: asyncio.Future[Any]) -> None:
        """Sleep until the time is over, or there is a reason to end the sleep."""
        if seconds > 0 or len(reasons) > 1:
            nap = asyncio.ensure_future(self.timer.sleep(max(0.0, seconds)))
            await asyncio.wait({nap, *reasons}, return_when=asyncio.FIRST_COMPLETED)
            nap.cancel()

    def _failed(self, error: Exception) -> None:
        """Report a failed pass. The next pass tries again; due periods stay due."""
        if not isinstance(error, KronError):
            log.error("a pass failed; the next pass tries again", exc_info=error)
        known = error.message if isinstance(error, KronError) else repr(error)
        self.sink(Event("pass_failed", 0, {"owner": self.owner, "error": known}))

    def _tell_all(self, passed: Pass) -> None:
        if self.sink is silent or not passed.made:
            return
        for event in events_of(passed):
            self.sink(event)
        facts = {"examined": passed.looked, "committed": len(passed.plans), "skew": self.skew.ahead}
        if self.settings.shard_lease:
            facts["shards"] = len(frozenset().union(*(share.shards for share in self.membership.shares)))
        self.sink(Event("pass", passed.now, {"owner": self.owner, **facts}))


def _affordable(plans: list[Plan], room: int) -> list[Plan]:
    """Return the first plans whose launches fit into `room`. One plan can launch many runs to catch up."""
    if sum(len(each.new) + len(each.changed) for each in plans) <= room:
        return plans
    for number, each in enumerate(plans):
        room -= len(each.launches)
        if room < 0 and number:
            return plans[:number]
    return plans
