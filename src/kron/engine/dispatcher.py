"""Dispatcher: launches claimed runs with bounded concurrency, and has the results recorded.

A run that was certainly not sent goes back to `retry` under its token. This happens if the run waited for longer than
half its lease, if its tenant or host has too many slow launches, if the limit of its target is reached, or if the
worker holds the target after many failed launches. Event sinks cannot stop or delay a launch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from kron.engine.batch_writer import BatchWriter
from kron.engine.breaker import Breakers
from kron.engine.claim import Claim, Result, run_after, update_after
from kron.engine.clock import Timer
from kron.engine.events import Event, Sink, about, silent
from kron.engine.failpoint import fail_point
from kron.engine.fleet import kind_of
from kron.engine.lanes import Lane, Lanes
from kron.engine.launcher import Launch, Launcher, MissingLauncher, is_local, started
from kron.engine.settings import Settings
from kron.engine.slot_timers import MAX_LIMIT_WAIT_SECONDS, SLOW_SECONDS, SlotTimers
from kron.engine.store import Store
from kron.engine.target_limit import TargetLimits
from kron.engine.withholding import CLAIM_EXPIRING, COMMIT_UNCERTAIN, OWN_REASONS, WORKER_STOPPING, crowded
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.timing.job import Job

MISSING_LAUNCHER = MissingLauncher()
MAX_LAUNCHES_PER_TASK = 32  # launches by one task; then other tasks run, including the launched functions
LATE_RETRY_MS = 1_000  # milliseconds until the next attempt, if this worker had no time for the launch
REPORT_CHECK_SECONDS = 0.01  # between two checks whether the launchers have recorded all ends, when the worker stops
PACE_SMOOTHING = 0.1  # weight of the latest launch in `pace`
USABLE_SHARE = 0.8  # of half a lease


class Dispatcher:
    """Dispatcher of one worker.

    `busy` has the keys of runs that are claimed here and whose result is not yet recorded.
    """

    def __init__(
        self,
        store: Store,
        launchers: Mapping[str, Launcher],
        timer: Timer,
        settings: Settings,
        sink: Sink,
        workers: Callable[[str], int] = lambda kind: 1,
    ) -> None:
        """Create a dispatcher. `workers` returns how many living workers can launch a kind of target."""
        self.store, self.launchers, self.timer, self.settings, self.sink = store, launchers, timer, settings, sink
        self.send_seconds, limits = settings.lease / 2000 * USABLE_SHARE, settings.target_limits
        self.limits = TargetLimits(limits, timer, workers, self.send_seconds) if limits else None
        self.breakers = Breakers(settings, sink)
        self.lanes: Lanes[Claim] = Lanes(settings.max_concurrent_launches, settings.max_slow_launches, self.limits)
        self.timers = SlotTimers(self.lanes, timer, self._start_waiting)
        self.writer = BatchWriter(self._write, timer, self._expired, self._emit_failure)
        self.backlogs: list[Callable[[], int]] = [
            launcher.unrecorded for launcher in launchers.values() if hasattr(launcher, "unrecorded")
        ]
        self.busy: dict[str, int] = {}
        self.withdrawn: set[str] = set()  # keys of claims whose commit is uncertain, until that is recorded
        self.tasks: set[asyncio.Task[None]] = set()
        self.pace = SLOW_SECONDS  # average seconds that a launch holds its fast slot
        self.ended = asyncio.Event()  # set when a launch has ended or is recorded: there may be room
        self.starting = 0  # tasks that have not begun yet, and will take a claim

    @property
    def room(self) -> int:
        """How many more runs can be claimed: at most as many as can be sent within half their lease."""
        rate = self.settings.max_concurrent_launches / max(self.pace, 0.001)
        limit = min(self.settings.inflight, max(1, int(rate * self.send_seconds)))
        return limit - len(self.busy) - sum(count() for count in self.backlogs) + self.lanes.held_back

    def submit(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Launch the runs of committed plans. The plans were made at `now`, when the timer showed `began`."""
        for plan in plans:
            cancels = tuple((plan.state.job_of(run), run) for run in plan.cancels)
            for run in plan.launches:
                job = plan.state.job_of(run)
                self.busy[run.key] = run.attempt
                lane = self._lane(job)
                self.lanes.put(lane, Claim(job, run, began, now, plan, cancels, lane.host))
                cancels = ()
            self._start_cancels(cancels)
        self._start_waiting()

    def withdraw(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Withhold the claims of plans whose commit is uncertain. If they were committed, nothing was sent.

        Until this is recorded, the runs are not claimed again: a second claim in one millisecond has the same token.
        """
        for plan in plans:
            for run in plan.launches:
                self.busy[run.key] = run.attempt
                self.withdrawn.add(run.key)
                self._withhold(Claim(plan.state.job_of(run), run, began, now, plan), COMMIT_UNCERTAIN)

    def without_withdrawn(self, plans: list[Plan]) -> list[Plan]:
        """Return the plans without those that launch a run whose withdrawal is not yet recorded."""
        if not self.withdrawn:
            return plans
        return [plan for plan in plans if not any(run.key in self.withdrawn for run in plan.launches)]

    async def drain(self) -> None:
        """Wait until every run is launched and every result is recorded."""
        while self.tasks or self.lanes.waiting:
            if self.tasks:
                await asyncio.wait(self.tasks)
            else:  # all of them wait for a limit
                await self.timer.sleep(min(MAX_LIMIT_WAIT_SECONDS, self.lanes.limit_wait))
        await self.writer.drain()

    async def stop(self, timeout: float) -> None:
        """Launch nothing more, wait up to `timeout` seconds for launches in progress, and record all results."""
        self.timers.stop()
        for claim in self.lanes.clear():
            self._withhold(claim, WORKER_STOPPING)
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=timeout)
        if self.writer.task is not None:
            await asyncio.wait({self.writer.task}, timeout=timeout)
        deadline = self.timer.monotonic() + timeout
        while any(count() for count in self.backlogs) and self.timer.monotonic() < deadline:
            await self.timer.sleep(REPORT_CHECK_SECONDS)

    def _start_waiting(self) -> None:
        """Start the waiting launches that have a slot."""
        for _ in range(self.lanes.ready - self.starting):
            self.starting += 1
            self._start_task(self._send_claims())
        for claim in self.lanes.surplus(self._is_old):
            self._start_cancels(claim.cancels)
            self._withhold(claim, *crowded(self.limits, claim, self._now(claim)))
        self.timers.check_limits_later()

    def _start_cancels(self, cancels: Sequence[tuple[Job, Run]]) -> None:
        if cancels:
            self._start_task(self._cancel_all(cancels))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _send_claims(self) -> None:
        """Launch claims one after the other, up to the limit of one task."""
        self.starting -= 1
        try:
            for _ in range(MAX_LAUNCHES_PER_TASK):
                entry = self.lanes.take()
                if entry is None:
                    break
                await self._launch(*entry)
        finally:
            self._start_waiting()

    async def _launch(self, lane: Lane, claim: Claim) -> None:
        sending, sent = self.timers.begin(lane), False
        try:
            await self._cancel_all(claim.cancels)
            sent = await self._send(claim)
        finally:
            elapsed = self.timers.end(sending, sent=sent)
            if sent:  # a withheld run took no time and says nothing about the launch rate
                slot_seconds = min(SLOW_SECONDS, elapsed) if sending.slow else elapsed
                self.pace += PACE_SMOOTHING * (slot_seconds - self.pace)
            self.ended.set()

    def _is_old(self, claim: Claim) -> bool:
        """Return whether a claim is too old to be sent: it may expire before the run arrives."""
        return (self.timer.monotonic() - claim.began) * 1000 > self.settings.lease / 2

    def _now(self, claim: Claim) -> int:
        """Return the store's time in milliseconds, as measured from the claim."""
        return claim.now + int((self.timer.monotonic() - claim.began) * 1000)

    async def _send(self, claim: Claim) -> bool:
        """Launch a run, unless its claim may expire or the worker holds its target. Returns whether it was launched."""
        run, launcher = claim.run, self._launcher(claim.job)
        if self._is_old(claim):
            self._withhold(claim, CLAIM_EXPIRING, LATE_RETRY_MS)
            return False
        sent, guarded = self._now(claim), not is_local(launcher)
        hold = self.breakers.hold(claim, sent) if guarded else None
        if hold is not None:
            self._withhold(claim, hold.cause, hold.until - sent)
            return False
        fail_point("K4")
        self.breakers.begin(claim.target, sent, claim.job.target)
        response = await self._response(launcher, claim)
        duration = self._now(claim) - sent
        if guarded:
            self.breakers.record(claim.target, response, sent + duration, claim.job.target)
        elif response.result in (LaunchResult.OK, LaunchResult.SHADOW):
            sent, duration = sent + duration, 0  # a local run starts at the end of its launch
        fail_point("K7")
        if response.over:  # the launcher records the end, which includes the start
            self.busy.pop(run.key, None)
            if self.sink is not silent:
                self._emit_result(run_after(claim, response, sent, sent), response, sent, sent)
        else:
            self.writer.put(Result(claim, response, sent, duration))
        return True

    async def _response(self, launcher: Launcher, claim: Claim) -> LaunchResponse:
        """Launch a run, and return the response of its launcher. A launcher that fails knows nothing of the run."""
        launch = Launch(claim.run, claim.job, claim.now + self.settings.lease // 2)
        try:
            result = await started(launcher, launch, self.timer, self.settings.timeout / 1000)
            return result if isinstance(result, LaunchResponse) else LaunchResponse(result)
        except Exception as error:
            self.sink(about("launch_error", claim.now, claim.run, error=repr(error)))
            return LaunchResponse(LaunchResult.UNKNOWN, excerpt=excerpt_of_error(error))

    def _withhold(self, claim: Claim, why: str, min_delay: int = 0) -> None:
        """Send a run back to `retry`, after `min_delay` milliseconds. A reason that is in the target is recorded."""
        excerpt = "" if why in OWN_REASONS else why
        held = {"target": claim.target} if excerpt else {}
        self.sink(about("launch_withheld", claim.now, claim.run, None, why=why, **held))
        response = LaunchResponse(LaunchResult.UNSENT, min_delay, excerpt=excerpt)
        self.writer.put(Result(claim, response, claim.now, withheld=self._now(claim)))

    async def _write(self, results: list[Result]) -> None:
        now = await self.store.now()
        runs = [run_after(result.claim, result.response_at(now), result.sent, now) for result in results]
        updates = [update_after(result, run, now) for result, run in zip(results, runs, strict=True)]
        written = await self.store.update_runs(updates, now)
        fail_point("K8")
        for result, run, is_written in zip(results, runs, written, strict=True):
            self._forget(run.key)
            name = "launch_completed" if is_written else "launch_fenced"
            self._emit_result(run, result.response, result.sent, now, name)

    def _expired(self, result: Result, error: Exception, alone: bool) -> bool:
        """Return whether a result cannot be written although others could: another worker has long taken over the run.

        While the store is unavailable, no worker can take over. The result is kept, and recorded under its token
        afterwards.
        """
        last_write = self.writer.written
        expired = (
            alone and last_write is not None and last_write - result.claim.began > self.settings.max_result_age / 1000
        )
        if expired:
            self._forget(result.claim.run.key)
        return expired

    def _forget(self, key: str) -> None:
        """Free the place of a claim whose result is recorded or will never be."""
        self.busy.pop(key, None)
        self.withdrawn.discard(key)
        self.ended.set()

    def _emit_failure(self, error: Exception) -> None:
        self.sink(Event("results_kept", 0, {"error": repr(error), "waiting": len(self.writer.waiting)}))

    def _emit_result(
        self, run: Run, response: LaunchResponse, sent: int, now: int, name: str = "launch_completed"
    ) -> None:
        if self.sink is not silent and response.result is not LaunchResult.UNSENT:
            self.sink(about(name, now, run, result=str(response.result), sent=sent))

    async def _cancel_all(self, cancels: Sequence[tuple[Job, Run]]) -> None:
        if cancels:
            await asyncio.gather(*(self._cancel(job, run) for job, run in cancels))

    async def _cancel(self, job: Job, run: Run) -> None:
        try:
            await self.timer.within(self.settings.timeout / 1000, self._launcher(job).cancel(run))
        except Exception as error:
            self.sink(about("cancel_error", run.changed, run, error=repr(error)))

    def _launcher(self, job: Job) -> Launcher:
        return self.launchers.get(job.target.partition(":")[0].lower(), MISSING_LAUNCHER)

    def _lane(self, job: Job) -> Lane:
        tenant, slash, _ = job.identity.partition("/")
        scheme = job.target.partition(":")[0].lower()
        lane_of = getattr(self.launchers.get(scheme), "lane", None)
        lane = Lane(tenant if slash else "", lane_of(job) if lane_of else scheme)
        if self.limits is not None:
            self.limits.register(lane.host, kind_of(job.target))
        return lane
