"""The worker: look, plan, settle, send, record what came of it. It remembers nothing that a crash may not take."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kron.clock import Timer
from kron.core.answer import Answer, answered, look_after
from kron.core.case import Case
from kron.core.plan import Plan, plan
from kron.core.run import Run
from kron.events import Event, Sink, silent
from kron.launcher import Launch, Launcher
from kron.store import SHARDS, Change, Store, settlement

ALL = frozenset(range(SHARDS))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a worker works. Times in milliseconds."""

    tick: int = 1_000  # it sleeps no longer than this
    batch: int = 500
    sends: int = 20  # at once
    lease: int = 30_000  # on a claim
    shard_lease: int = 15_000  # 0: it works alone, and looks at every shard without asking
    timeout: int = 10_000  # of one send; no more than a third of the lease


class Worker:
    """One worker process. `owner` names this incarnation of it, and never another."""

    def __init__(
        self,
        store: Store,
        launchers: Mapping[str, Launcher],
        timer: Timer,
        *,
        owner: str,
        settings: Settings = Settings(),  # noqa: B008  a frozen value
        sink: Sink = silent,
    ) -> None:
        self.store, self.launchers, self.timer = store, launchers, timer
        self.owner, self.settings, self.sink = owner, settings, sink

    async def tick(self) -> int:
        """One pass with one `now`. How many milliseconds to sleep before the next."""
        began, settings = self.timer.monotonic(), self.settings
        now = await self.store.now()
        shards = ALL if not settings.shard_lease else await self._lease(now)
        cases = await self.store.look(shards, now, settings.batch)
        plans = [plan(case, now, owner=self.owner, lease=settings.lease) for case in cases]
        won = await self.store.settle([settlement(p) for p in plans], now)
        mine = [p for p, held in zip(plans, won, strict=True) if held]
        for p in mine:
            self._tell(p, now)
        await self._carry_out(mine, began, now)
        if len(cases) == settings.batch:
            return 0
        return await self._pause(shards)

    async def _lease(self, now: int) -> frozenset[int]:
        return await self.store.lease(self.owner, now, now + self.settings.shard_lease)

    async def _pause(self, shards: frozenset[int]) -> int:
        wake, now = await self.store.wake(shards), await self.store.now()
        return self.settings.tick if wake is None else max(0, min(self.settings.tick, wake - now))

    async def _carry_out(self, plans: Sequence[Plan], began: float, now: int) -> None:
        gate = asyncio.Semaphore(self.settings.sends)

        async def one(case: Case, run: Run) -> None:
            async with gate:
                await self._send(case, run, began, now)

        for p in plans:
            for run in p.cancels:
                await self._cancel(p.case, run)
        await asyncio.gather(*(one(p.case, run) for p in plans for run in p.launches))

    async def _send(self, case: Case, run: Run, began: float, now: int) -> None:
        """Send a run, unless the claim on it may be over before it arrives; then another worker will."""
        settings = self.settings
        if (self.timer.monotonic() - began) * 1000 > settings.lease / 2:
            self._say("launch_withheld", now, run)
            return
        launch = Launch(run, case.job, now + settings.lease // 2)
        try:
            answer = await self.timer.within(settings.timeout / 1000, self._launcher(case).start(launch))
        except Exception as error:
            answer = Answer.UNKNOWN
            self._say("launch_error", now, run, error=repr(error))
        await self._record(case, run, answer)

    async def _record(self, case: Case, run: Run, answer: Answer) -> None:
        now = await self.store.now()
        after = answered(run, answer, case.policy, now)
        (held,) = await self.store.change([Change(run, after, look_after(after, case.policy, now))], now)
        self._say("launch_answered" if held else "launch_fenced", now, after, answer=str(answer))

    async def _cancel(self, case: Case, run: Run) -> None:
        try:
            await self.timer.within(self.settings.timeout / 1000, self._launcher(case).cancel(run))
        except Exception as error:
            self._say("cancel_error", run.changed, run, error=repr(error))

    def _launcher(self, case: Case) -> Launcher:
        return self.launchers[case.job.target.partition(":")[0]]

    def _tell(self, p: Plan, now: int) -> None:
        for run in (*p.new, *(after for _, after in p.changed)):
            self._say("run_recorded" if run.open else "run_ended", now, run)
        if p.gap:
            facts = {"identity": p.case.identity, "first": p.gap.first, "last": p.gap.last, "count": p.gap.count}
            self.sink(Event("gap_recorded", now, facts | {"reason": str(p.gap.reason)}))

    def _say(self, name: str, now: int, run: Run, **facts: str) -> None:
        about = {"identity": run.identity, "nominal": run.nominal, "key": run.key, "state": str(run.state)}
        verdict = {"verdict": str(run.verdict), "reason": str(run.reason)} if run.verdict else {}
        self.sink(Event(name, now, {**about, **verdict, "attempt": run.attempt, **facts}))
