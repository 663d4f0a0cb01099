"""Dispatcher: launches claimed runs with bounded concurrency, and has the results recorded.

A run that was certainly not sent goes back to `retry` under its token. This happens if the run waited for longer than
half its lease, or if its tenant or host has too many slow launches. Event sinks cannot stop or delay a launch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from kron.engine.batch_writer import BatchWriter
from kron.engine.claim import Claim, Result, run_after
from kron.engine.clock import Timer
from kron.engine.events import Event, Sink, about, silent
from kron.engine.failpoint import fail_point
from kron.engine.lanes import Lane, Lanes
from kron.engine.launcher import Launch, Launcher, MissingLauncher
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.rules.attempt import launched_attempt
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, next_check_after
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.timing.job import Job

MISSING_LAUNCHER = MissingLauncher()
SLOW_SECONDS = 0.5  # seconds: a launch that takes longer leaves its fast slot
MAX_LAUNCHES_PER_TASK = 32  # launches by one task; then other tasks run, including the launched functions
CROWDED_RETRY_MS = 5_000  # milliseconds until the next attempt, if the tenant or host has too many slow launches
LATE_RETRY_MS = 1_000  # milliseconds until the next attempt, if this worker had no time for the launch
PACE_SMOOTHING = 0.1  # weight of the latest launch in `pace`

# Reasons why a claimed run is not sent.
CLAIM_EXPIRING = "its claim was about to expire"
TOO_MANY_SLOW_LAUNCHES = "its tenant or host has too many slow launches"
COMMIT_UNCERTAIN = "the store failed while the run was claimed"
WORKER_STOPPING = "this worker is stopping"


class Sending:
    """Launch in progress: its lane, when it began, and whether it has left its fast slot."""

    __slots__ = ("began", "lane", "slow")

    def __init__(self, lane: Lane, began: float) -> None:
        self.lane, self.began, self.slow = lane, began, False


class Dispatcher:
    """Dispatcher of one worker.

    `busy` has the keys of runs that are claimed here and whose result is not yet recorded.
    """

    def __init__(
        self, store: Store, launchers: Mapping[str, Launcher], timer: Timer, settings: Settings, sink: Sink
    ) -> None:
        self.store, self.launchers, self.timer, self.settings, self.sink = store, launchers, timer, settings, sink
        self.lanes: Lanes[Claim] = Lanes(settings.max_concurrent_launches, settings.max_slow_launches)
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
        self.sending: dict[Sending, None] = {}  # launches that are not slow yet, oldest first
        self.slow_timer: asyncio.TimerHandle | None = None  # fires when the oldest of them becomes slow

    @property
    def room(self) -> int:
        """How many more runs can be claimed: at most as many as can be sent within half their lease."""
        rate = self.settings.max_concurrent_launches / max(self.pace, 0.001)
        limit = min(self.settings.inflight, max(1, int(rate * self.settings.lease / 2000 * 0.8)))
        return limit - len(self.busy) - sum(count() for count in self.backlogs) + self.lanes.held_back

    def submit(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Launch the runs of committed plans. The plans were made at `now`, when the timer showed `began`."""
        for plan in plans:
            cancels = tuple((plan.state.job_of(run), run) for run in plan.cancels)
            for run in plan.launches:
                job = plan.state.job_of(run)
                self.busy[run.key] = run.attempt
                self.lanes.put(self._lane(job), Claim(job, run, began, now, plan.state.policy, cancels))
                cancels = ()
            if cancels:
                self._start_task(self._cancel_all(cancels))
        self._start_waiting()

    def withdraw(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Withhold the claims of plans whose commit is uncertain. If they were committed, nothing was sent.

        Until this is recorded, the runs are not claimed again: a second claim in one millisecond has the same token.
        """
        for plan in plans:
            for run in plan.launches:
                self.busy[run.key] = run.attempt
                self.withdrawn.add(run.key)
                self._withhold(Claim(plan.state.job_of(run), run, began, now, plan.state.policy), COMMIT_UNCERTAIN)

    def without_withdrawn(self, plans: list[Plan]) -> list[Plan]:
        """Return the plans without those that launch a run whose withdrawal is not yet recorded."""
        if not self.withdrawn:
            return plans
        return [plan for plan in plans if not any(run.key in self.withdrawn for run in plan.launches)]

    async def drain(self) -> None:
        """Wait until every run is launched and every result is recorded."""
        while self.tasks or self.lanes.waiting:
            await asyncio.wait(self.tasks)
        await self.writer.drain()

    async def stop(self, timeout: float) -> None:
        """Launch nothing more, wait up to `timeout` seconds for launches in progress, and record all results."""
        for claim in self.lanes.clear():
            self._withhold(claim, WORKER_STOPPING)
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=timeout)
        if self.writer.task is not None:
            await asyncio.wait({self.writer.task}, timeout=timeout)

    def _start_waiting(self) -> None:
        """Start the waiting launches that have a slot."""
        for _ in range(self.lanes.ready - self.starting):
            self.starting += 1
            self._start_task(self._send_claims())
        for claim in self.lanes.surplus():
            self._withhold(claim, TOO_MANY_SLOW_LAUNCHES, CROWDED_RETRY_MS)

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
        sending, sent = Sending(lane, self.timer.monotonic()), False
        self.sending[sending] = None
        self._schedule_slow_check()
        try:
            await self._cancel_all(claim.cancels)
            sent = await self._send(claim)
        finally:
            self.sending.pop(sending, None)
            elapsed = self.timer.monotonic() - sending.began
            self.lanes.ends(lane, slow=sending.slow, quick=sent and elapsed < SLOW_SECONDS)
            if sent:  # a withheld run took no time and says nothing about the launch rate
                slot_seconds = min(SLOW_SECONDS, elapsed) if sending.slow else elapsed
                self.pace += PACE_SMOOTHING * (slot_seconds - self.pace)
            self.ended.set()

    def _schedule_slow_check(self) -> None:
        """Set the timer for the oldest launch that is not slow yet. One timer serves all launches."""
        if self.slow_timer is None and self.sending:
            remaining = SLOW_SECONDS - (self.timer.monotonic() - next(iter(self.sending)).began)
            self.slow_timer = asyncio.get_running_loop().call_later(max(0.0, remaining), self._release_slow_slots)

    def _release_slow_slots(self) -> None:
        """Move slow launches out of their fast slots."""
        self.slow_timer, slots_freed = None, False
        # a timer can fire early by the resolution of the clock
        slow_before = self.timer.monotonic() - SLOW_SECONDS + 0.001
        for sending in [each for each in self.sending if each.began <= slow_before]:
            del self.sending[sending]
            sending.slow = self.lanes.slows(sending.lane)
            slots_freed |= sending.slow
        self._schedule_slow_check()
        if slots_freed:
            self._start_waiting()

    async def _send(self, claim: Claim) -> bool:
        """Launch a run, unless its claim may expire before the run arrives. Returns whether it was launched."""
        job, run = claim.job, claim.run
        elapsed_ms = (self.timer.monotonic() - claim.began) * 1000
        if elapsed_ms > self.settings.lease / 2:
            self._withhold(claim, CLAIM_EXPIRING, LATE_RETRY_MS)
            return False
        fail_point("K4")
        launch = Launch(run, job, claim.now + self.settings.lease // 2)
        began = self.timer.monotonic()
        try:
            result = await self.timer.within(self.settings.timeout / 1000, self._launcher(job).start(launch))
            response = result if isinstance(result, LaunchResponse) else LaunchResponse(result)
        except Exception as error:
            response = LaunchResponse(LaunchResult.UNKNOWN, excerpt=excerpt_of_error(error))
            self.sink(about("launch_error", claim.now, run, error=repr(error)))
        fail_point("K7")
        sent = claim.now + int(elapsed_ms)
        if response.over:  # the launcher records the end, which includes the start
            self.busy.pop(run.key, None)
            if self.sink is not silent:
                self._emit_result(run_after(claim, response, sent), response, sent, sent)
        else:
            duration = int((self.timer.monotonic() - began) * 1000)
            self.writer.put(Result(claim, response, sent, duration))
        return True

    def _withhold(self, claim: Claim, why: str, min_delay: int = 0) -> None:
        self.sink(about("launch_withheld", claim.now, claim.run, why=why))
        self.writer.put(Result(claim, LaunchResponse(LaunchResult.UNSENT, min_delay), claim.now))

    async def _write(self, results: list[Result]) -> None:
        now = await self.store.now()
        runs = [run_after(result.claim, result.response, now) for result in results]
        updates = [
            RunUpdate(
                result.claim.run,
                run,
                next_check_after(run, result.claim.schedule, now),
                result.response.run_id,
                launched_attempt(result.claim.run, result.response, result.sent, result.duration),
            )
            for result, run in zip(results, runs, strict=True)
        ]
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
        scheme = job.target.partition(":")[0]
        lane = getattr(self.launchers.get(scheme.lower()), "lane", None)
        return Lane(tenant if slash else "", lane(job) if lane else scheme)
