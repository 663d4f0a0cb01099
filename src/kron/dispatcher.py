"""The dispatcher: launches what the worker has claimed, a bounded number at once, and has the results recorded.

What was certainly not sent goes back to `retry` under its token: it waited for longer than half its lease, or its
tenant or host has too many slow launches. Nothing that listens to events can stop or delay a launch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from kron.batch_writer import BatchWriter
from kron.clock import Timer
from kron.core.answer import Answer, Receipt, answered, look_after
from kron.core.job import Job
from kron.core.plan import Plan
from kron.core.policy import Policy
from kron.core.run import Run
from kron.events import Event, Sink, about, silent
from kron.failpoint import fail_point
from kron.lanes import Lane, Lanes
from kron.launcher import Launch, Launcher, Missing
from kron.settings import Settings
from kron.store import Change, Store

MISSING = Missing()
SLOW = 0.5  # seconds: a launch that takes longer leaves its fast slot to another
IN_TURN = 32  # launches by one task; then others have their turn, the functions that were launched among them
SET_BACK = 5_000  # milliseconds until a launch is tried again whose tenant or host has too many slow ones
BREATHER = 1_000  # milliseconds until a launch is tried again for which this worker had no time
SMOOTHING = 0.1  # how much the last launch counts in the pace

# Why a claimed run is not sent.
LATE = "its claim was about to end"
CROWDED = "its tenant or host has too many slow launches"
UNCERTAIN = "the store failed while it was claimed"
STOPPING = "this worker is stopping"


class Claim(NamedTuple):
    """A run that this worker has claimed, with what is to be ended before it: when, by the timer and by the store."""

    job: Job
    run: Run
    began: float
    now: int
    schedule: Policy  # of the schedule as it is now: that of the run may be an older one
    cancels: tuple[tuple[Job, Run], ...] = ()


class Result(NamedTuple):
    """What came of a claim, and when it was sent, in the store's milliseconds."""

    claim: Claim
    receipt: Receipt
    sent: int


class Sending:
    """A launch on its way: in which lane, since when, and whether it has left its fast slot."""

    __slots__ = ("began", "lane", "slow")

    def __init__(self, lane: Lane, began: float) -> None:
        self.lane, self.began, self.slow = lane, began, False


class Dispatcher:
    """One for each worker. `busy` has the keys of runs that are claimed here and not yet recorded further."""

    def __init__(
        self, store: Store, launchers: Mapping[str, Launcher], timer: Timer, settings: Settings, sink: Sink
    ) -> None:
        self.store, self.launchers, self.timer, self.settings, self.sink = store, launchers, timer, settings, sink
        self.lanes: Lanes[Claim] = Lanes(settings.sends, settings.slow_sends)
        self.writer = BatchWriter(self._write, timer, self._expired, self._failed)
        self.busy: dict[str, int] = {}
        self.going: set[asyncio.Task[None]] = set()
        self.pace = SLOW  # seconds that a launch holds its fast slot, on average
        self.ended = asyncio.Event()  # a launch has ended: there may be room for another
        self.starting = 0  # tasks that will take a claim, and have not begun
        self.sending: dict[Sending, None] = {}  # launches that are not slow yet, the oldest first
        self.watch: asyncio.TimerHandle | None = None  # when the oldest of them is slow

    @property
    def room(self) -> int:
        """How many more runs may be claimed: no more than can be sent within half their lease."""
        rate = self.settings.sends / max(self.pace, 0.001)
        most = min(self.settings.inflight, max(1, int(rate * self.settings.lease / 2000 * 0.8)))
        return most - len(self.busy) + self.lanes.held_back

    def submit(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Carry out plans that are written. They were made at `now`, when the timer showed `began`."""
        for plan in plans:
            cancels = tuple((plan.case.job_of(run), run) for run in plan.cancels)
            for run in plan.launches:
                job = plan.case.job_of(run)
                self.busy[run.key] = run.attempt
                self.lanes.put(self._lane(job), Claim(job, run, began, now, plan.case.policy, cancels))
                cancels = ()
            if cancels:
                self._begin(self._cancel_all(cancels))
        self._pump()

    def withdraw(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Take back claims of which it is not known whether they were written: if they were, nothing was sent."""
        for plan in plans:
            for run in plan.launches:
                self._withhold(Claim(plan.case.job_of(run), run, began, now, plan.case.policy), UNCERTAIN)

    async def drain(self) -> None:
        """Wait until everything is launched and recorded."""
        while self.going or self.lanes.waiting:
            await asyncio.wait(self.going)
        await self.writer.drain()

    async def stop(self, patience: float) -> None:
        """Send nothing more; wait for what is on its way, for so many seconds, and have all results recorded."""
        for claim in self.lanes.clear():
            self._withhold(claim, STOPPING)
        if self.going:
            await asyncio.wait(self.going, timeout=patience)
        if self.writer.task is not None:
            await asyncio.wait({self.writer.task}, timeout=patience)

    def _pump(self) -> None:
        """Begin to send what waits and has a slot."""
        for _ in range(self.lanes.ready - self.starting):
            self.starting += 1
            self._begin(self._send_in_turn())
        for claim in self.lanes.surplus():
            self._withhold(claim, CROWDED, SET_BACK)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.going.add(task)
        task.add_done_callback(self.going.discard)

    async def _send_in_turn(self) -> None:
        """Send claims, one after the other, as many as may be sent by one task."""
        self.starting -= 1
        try:
            for _ in range(IN_TURN):
                taken = self.lanes.take()
                if taken is None:
                    break
                await self._launch(*taken)
        finally:
            self._pump()

    async def _launch(self, lane: Lane, claim: Claim) -> None:
        sending, sent = Sending(lane, self.timer.monotonic()), False
        self.sending[sending] = None
        self._watch()
        try:
            await self._cancel_all(claim.cancels)
            sent = await self._send(claim)
        finally:
            self.sending.pop(sending, None)
            took = self.timer.monotonic() - sending.began
            self.lanes.ends(lane, slow=sending.slow, quick=sent and took < SLOW)
            if sent:  # what was withheld took no time, and says nothing of how many can be sent
                held = min(SLOW, took) if sending.slow else took
                self.pace += SMOOTHING * (held - self.pace)
            self.ended.set()

    def _watch(self) -> None:
        """See to it that the launch that was sent first is looked at when it takes long. One timer is for all."""
        if self.watch is None and self.sending:
            left = SLOW - (self.timer.monotonic() - next(iter(self.sending)).began)
            self.watch = asyncio.get_running_loop().call_later(max(0.0, left), self._slow_down)

    def _slow_down(self) -> None:
        """Have the launches that take long leave their fast slots."""
        self.watch, freed = None, False
        before = self.timer.monotonic() - SLOW + 0.001  # a timer may be early by as much as the clock can show
        for sending in [each for each in self.sending if each.began <= before]:
            del self.sending[sending]
            sending.slow = self.lanes.slows(sending.lane)
            freed |= sending.slow
        self._watch()
        if freed:
            self._pump()

    async def _send(self, claim: Claim) -> bool:
        """Launch a run, unless its claim may be over before it arrives. Returns whether it was launched."""
        job, run = claim.job, claim.run
        passed = (self.timer.monotonic() - claim.began) * 1000
        if passed > self.settings.lease / 2:
            self._withhold(claim, LATE, BREATHER)
            return False
        fail_point("K4")
        launch = Launch(run, job, claim.now + self.settings.lease // 2)
        try:
            answer = await self.timer.within(self.settings.timeout / 1000, self._launcher(job).start(launch))
            receipt = answer if isinstance(answer, Receipt) else Receipt(answer)
        except Exception as error:
            receipt = Receipt(Answer.UNKNOWN)
            self.sink(about("launch_error", claim.now, run, error=repr(error)))
        fail_point("K7")
        sent = claim.now + int(passed)
        if receipt.over:  # who launched it records its end, which says that it was started
            self.busy.pop(run.key, None)
            if self.sink is not silent:
                self._tell(_answered(claim, receipt, sent), receipt, sent, sent)
        else:
            self.writer.put(Result(claim, receipt, sent))
        return True

    def _withhold(self, claim: Claim, why: str, patience: int = 0) -> None:
        self.sink(about("launch_withheld", claim.now, claim.run, why=why))
        self.writer.put(Result(claim, Receipt(Answer.UNSENT, patience), claim.now))

    async def _write(self, results: list[Result]) -> None:
        now = await self.store.now()
        after = [_answered(result.claim, result.receipt, now) for result in results]
        changes = [
            Change(r.claim.run, new, look_after(new, r.claim.schedule, now), r.receipt.run_id)
            for r, new in zip(results, after, strict=True)
        ]
        held = await self.store.change(changes, now)
        fail_point("K8")
        for result, new, written in zip(results, after, held, strict=True):
            self.busy.pop(new.key, None)
            name = "launch_answered" if written else "launch_fenced"
            self._tell(new, result.receipt, result.sent, now, name)

    def _expired(self, result: Result) -> bool:
        """Whether it cannot be written, and others could: then another worker has long taken the run over.

        While the store is away, no worker can do so. The result is kept, and recorded under its token afterwards.
        """
        written = self.writer.written
        over = written is not None and written - result.claim.began > self.settings.keep / 1000
        if over:
            self.busy.pop(result.claim.run.key, None)
        return over

    def _failed(self, error: Exception) -> None:
        self.sink(Event("results_kept", 0, {"error": repr(error), "waiting": len(self.writer.waiting)}))

    def _tell(self, run: Run, said: Receipt, sent: int, now: int, name: str = "launch_answered") -> None:
        if self.sink is not silent and said.answer is not Answer.UNSENT:
            self.sink(about(name, now, run, answer=str(said.answer), sent=sent))

    async def _cancel_all(self, cancels: Sequence[tuple[Job, Run]]) -> None:
        if cancels:
            await asyncio.gather(*(self._cancel(job, run) for job, run in cancels))

    async def _cancel(self, job: Job, run: Run) -> None:
        try:
            await self.timer.within(self.settings.timeout / 1000, self._launcher(job).cancel(run))
        except Exception as error:
            self.sink(about("cancel_error", run.changed, run, error=repr(error)))

    def _launcher(self, job: Job) -> Launcher:
        return self.launchers.get(job.target.partition(":")[0].lower(), MISSING)

    def _lane(self, job: Job) -> Lane:
        tenant, divided, _ = job.identity.partition("/")
        scheme = job.target.partition(":")[0]
        lane = getattr(self.launchers.get(scheme.lower()), "lane", None)
        return Lane(tenant if divided else "", lane(job) if lane else scheme)


def _answered(claim: Claim, said: Receipt, now: int) -> Run:
    policy = claim.job.schedule.policy
    return answered(claim.run, said.answer, policy, now, said.patience, said.report)
