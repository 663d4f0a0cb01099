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
from kron.engine.passes import Pass, events_of, plans_within
from kron.engine.prefetch import Batch, Prefetcher
from kron.engine.setting_aside import SettingAside
from kron.engine.settings import Settings
from kron.engine.store import Store, Unreadable
from kron.errors import KronError
from kron.rules.expiry import has_timed_out
from kron.rules.pause import pause_expired_update
from kron.rules.plan import Plan, plan
from kron.rules.state import ScheduleState
from kron.rules.update import update_of

GATHER_SECONDS = 0.01  # minimum seconds between two passes after wake-up notifications
log = logging.getLogger("kron.worker")
OUTAGE_PAUSE_SECONDS = 2.0  # seconds after a store outage in which every process records what it knows


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
        self.membership = Membership(store, owner, launchers, timer, settings, self.sink)
        self.dispatcher = Dispatcher(store, launchers, timer, settings, self.sink, self.membership.workers)
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
                pause, failures = await self._make_pass(failures), 0
            except Exception as error:
                failures += 1
                pause = min(self.settings.backoff, 100 << min(failures, 10))
                self._emit_failure(error)
            await self._wait_for_next_pass(pause, stopped)
        stopped.cancel()
        await self.leave()

    async def leave(self) -> None:
        """Stop launching and leave the fleet, so that other workers need not wait for the lease to expire."""
        await self.dispatcher.stop(self.settings.lease / 2000)
        try:
            await self.membership.leave()
        except Exception as error:
            self._emit_failure(error)

    def notify(self) -> None:
        """Wake an idle worker: it makes its next pass now, not at the end of its tick."""
        self.notified.set()

    async def tick(self) -> int:
        """Make one pass and wait for all results. Returns the milliseconds to sleep before the next pass."""
        worker_pass = await self._pass()
        await self._launch(worker_pass)
        await self.dispatcher.drain()
        return worker_pass.pause

    async def _make_pass(self, failures: int) -> int:
        """Make one pass without waiting for the results, unless there is no room for more."""
        if failures:
            await self._resume_after_outage()
        worker_pass = await self._pass()
        await self._launch(worker_pass)
        return worker_pass.pause

    async def _resume_after_outage(self) -> None:
        """Renew the lease after a store outage, and wait.

        Every process can then record what it knows before runs count as silent.
        """
        now = await self.store.now()
        if self.membership.renewed is not None and self.membership.due(now):
            await self.membership.renew(now)
        await self.timer.sleep(OUTAGE_PAUSE_SECONDS)

    async def _launch(self, worker_pass: Pass) -> None:
        """Launch first, then send the events."""
        if any(p.launches or p.cancels for p in worker_pass.plans):
            self.dispatcher.submit(worker_pass.plans, worker_pass.began, worker_pass.now)
            await asyncio.sleep(0)  # lets the launches begin
        self._emit_events(worker_pass)

    async def _pass(self) -> Pass:
        """Read, plan and commit with one `now`."""
        began, settings = self.timer.monotonic(), self.settings
        shares = self.membership.shares
        self.skew, wake = await compare(self.store, self.clock, self.timer, shares)
        now = self.skew.now
        if self.skew.exceeds(settings.max_clock_skew):
            return await self._skip_skewed_pass(began, now)
        if self.membership.due(now):
            changed = await self.membership.renew(now)
            fail_point("K9")
            if changed:  # the shards to read have changed
                shares, wake = self.membership.shares, now
        self.full = False
        if not shares:
            return Pass([], began, now, settings.tick)
        fail_point("K0")
        due_batches = self.prefetcher.take_due(now, self.dispatcher.room)
        if self.dispatcher.withdrawn:  # such a batch is read and planned again
            due_batches = [b for b in due_batches if self.dispatcher.without_withdrawn(b.plans) == b.plans]
        if due_batches:
            return await self._commit_prefetched(due_batches, began, now)
        if wake is None or wake > now:
            return Pass([], began, now, await self._pause(shares, now, wake))
        return await self._plan_due(shares, began, now)

    async def _plan_due(self, shares: Sequence[Share], began: float, now: int) -> Pass:
        """Read as many due schedules as there is room for, plan them and commit the plans."""
        room = min(self.dispatcher.room, self.batch)
        if room <= 0:
            return Pass([], began, now, self.settings.tick)  # a result ends the sleep earlier
        fetched = list[ScheduleState | Unreadable]()
        for share in shares:
            fetched += await self.store.fetch_due(share, now, room - len(fetched)) if len(fetched) < room else []
        states = [self.membership.informed(state) for state in await self.aside.unreadable(fetched, now)]
        states = await self._end_expired_pauses([state for state in states if not self._has_own_run(state)], now)
        all_plans = [plan(state, now, owner=self.owner, lease=self.settings.lease) for state in states]
        planned = self.dispatcher.without_withdrawn(all_plans)
        plans = plans_within(planned, self.dispatcher.room)
        fail_point("K10" if any(p.changed for p in plans) else "K1")
        try:
            committed_plans = await self._commit(plans, now)
        except Exception:
            self._shrink_batch(plans)
            self.dispatcher.withdraw(plans, began, now)
            raise
        self.batch = min(self.settings.batch, self.batch + max(1, self.batch // 8))
        self.full = len(fetched) >= room or len(plans) < len(planned)
        has_progress = self.full or any(
            p.next_check_at is None or p.next_check_at > now or not p.empty for p in committed_plans
        )
        return Pass(committed_plans, began, now, 0 if has_progress else self._short_pause(), len(fetched))

    def _shrink_batch(self, plans: Sequence[Plan]) -> None:
        """Reduce the batch size after a failed commit: the batch may have been too large for a slow store."""
        self.batch = max(1, min(self.batch, len(plans)) // 4)

    def _has_own_run(self, state: ScheduleState) -> bool:
        """Return whether this process itself is working on a run with an expired lease: then the run is not silent."""
        if not state.open_runs:
            return False
        expired_runs = [run for run in state.open_runs if run.lease is not None and run.lease <= self.skew.now]
        silent_runs = [run for run in expired_runs if not has_timed_out(run, self.skew.now)]
        return any(run.key in self.dispatcher.busy or self._is_running(state, run.key) for run in silent_runs)

    def _is_running(self, state: ScheduleState, key: str) -> bool:
        holds = getattr(self.launchers.get(state.job.target.partition(":")[0]), "holds", None)
        return bool(holds and holds(key))

    async def _commit(self, plans: list[Plan], now: int) -> list[Plan]:
        """Return the plans that this worker has committed."""
        committed = await self.aside.commit([update_of(p) for p in plans], now)
        return [p for p, is_committed in zip(plans, committed, strict=True) if is_committed]

    async def _commit_prefetched(self, batches: list[Batch], began: float, now: int) -> Pass:
        """Commit the prefetched plans that are due. More schedules may be due afterwards."""
        committed_plans, slots = list[Plan](), asyncio.Semaphore(self.settings.parallel_commits)

        async def write(batch: Batch) -> None:
            async with slots:
                fail_point("K1")
                try:
                    committed = await self.store.commit(batch.updates, now)
                except Exception:
                    self._shrink_batch(batch.plans)
                    self.dispatcher.withdraw(batch.plans, began, now)
                    raise
                committed_plans.extend(
                    p for p, is_committed in zip(batch.plans, committed, strict=True) if is_committed
                )

        for result in await asyncio.gather(*map(write, batches), return_exceptions=True):
            if isinstance(result, Exception):
                self._emit_failure(result)
        claimed_at = min(batch.at for batch in batches)  # when the claims began
        self.full = True
        examined = sum(len(batch.plans) for batch in batches)
        return Pass(committed_plans, began - (now - claimed_at) / 1000, claimed_at, 0, examined)

    async def _skip_skewed_pass(self, began: float, now: int) -> Pass:
        """Leave the fleet while this clock and the store's disagree: one of them is wrong."""
        facts = {"owner": self.owner, "skew": self.skew.ahead, "error": self.skew.error}
        self.sink(Event("clock_skew_exceeded", now, facts))
        await self.membership.leave()
        return Pass([], began, now, self.settings.tick, made=False)

    async def _end_expired_pauses(self, states: list[ScheduleState], now: int) -> list[ScheduleState]:
        """End expired pauses. Returns the other states; the next pass reads the resumed schedules again."""
        expired = [state for state in states if state.paused_until is not None and state.pause_expired(now)]
        if not expired:
            return states
        committed = await self.store.commit([pause_expired_update(state) for state in expired], now)
        for state, is_committed in zip(expired, committed, strict=True):
            if is_committed:
                self.sink(Event("pause_expired", now, {"identity": state.identity, "until": state.paused_until}))
        return [state for state in states if not state.pause_expired(now)]

    async def _pause(self, shares: Sequence[Share], now: int, wake: int | None) -> int:
        if self.settings.lookahead and await self.prefetcher.fill(shares[0], now, self.membership.informed, self.batch):
            return 0
        tick = self.settings.tick - (now % self.settings.tick if self.settings.aligned else 0)
        return tick if wake is None else max(0, min(tick, wake - now))

    def _short_pause(self) -> int:
        """Return a short pause: other workers were faster, or a run waits for this process."""
        return min(self.settings.tick, 100)

    async def _wait_for_next_pass(self, pause: int, stopped: asyncio.Future[Any]) -> None:
        """Sleep until the pause is over, a wake-up notification arrives, or the worker is stopped.

        If there is no room for more launches, the end of a launch wakes the worker, too.
        """
        began, shortest = self.timer.monotonic(), 0 if self.full else self.settings.min_pass_interval
        self.dispatcher.ended.clear()
        events = [self.notified, *([self.dispatcher.ended] if self.dispatcher.room <= 0 else [])]
        wake_ups = [asyncio.ensure_future(event.wait()) for event in events]
        await self._sleep(max(pause, shortest) / 1000, stopped, *wake_ups)
        for wake_up in wake_ups:
            wake_up.cancel()
        if self.notified.is_set():  # collects requests that arrive together into one pass
            await self._sleep(began + max(GATHER_SECONDS, shortest / 1000) - self.timer.monotonic(), stopped)
            self.notified.clear()

    async def _sleep(self, seconds: float, *wake_ups: asyncio.Future[Any]) -> None:
        """Sleep until the time is over, or there is a reason to end the sleep."""
        if seconds > 0 or len(wake_ups) > 1:
            sleep_task = asyncio.ensure_future(self.timer.sleep(max(0.0, seconds)))
            await asyncio.wait({sleep_task, *wake_ups}, return_when=asyncio.FIRST_COMPLETED)
            sleep_task.cancel()

    def _emit_failure(self, error: Exception) -> None:
        """Report a failed pass. The next pass tries again; due periods stay due."""
        if not isinstance(error, KronError):
            log.error("a pass failed; the next pass tries again", exc_info=error)
        error_text = error.message if isinstance(error, KronError) else repr(error)
        self.sink(Event("pass_failed", 0, {"owner": self.owner, "error": error_text}))

    def _emit_events(self, worker_pass: Pass) -> None:
        if self.sink is silent or not worker_pass.made:
            return
        for event in events_of(worker_pass):
            self.sink(event)
        facts = {"examined": worker_pass.examined, "committed": len(worker_pass.plans), "skew": self.skew.ahead}
        facts["held"] = self.dispatcher.breakers.count(worker_pass.now)
        if self.settings.shard_lease:
            facts["shards"] = len(frozenset().union(*(share.shards for share in self.membership.shares)))
        self.sink(Event("pass", worker_pass.now, {"owner": self.owner, **facts}))
