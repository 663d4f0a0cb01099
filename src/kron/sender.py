"""The sender: sends what was won, a bounded number at once, and records what came of it.

Answers that come while others are being written wait for one another, and are written together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kron.clock import Timer
from kron.core.answer import Answer, Receipt, answered, look_after
from kron.core.case import Case
from kron.core.plan import Plan
from kron.core.run import Run
from kron.events import Sink, about
from kron.failpoint import fail_point
from kron.launcher import Launch, Launcher, Nobody
from kron.settings import Settings
from kron.store import Change, Store

NOBODY = Nobody()
BATCH = 1_000  # answers written together


class Sender:
    """Carries out plans that are written."""

    def __init__(
        self, store: Store, launchers: Mapping[str, Launcher], timer: Timer, settings: Settings, sink: Sink
    ) -> None:
        self.store, self.launchers, self.timer, self.settings, self.sink = store, launchers, timer, settings, sink
        self.answers: list[tuple[Case, Run, Receipt, int]] = []
        self.writing = False

    async def carry_out(self, plans: Sequence[Plan], began: float, now: int) -> None:
        """Cancel and send what the plans ask for. They were made at `now`, when the timer showed `began`."""
        for plan in plans:
            for run in plan.cancels:
                await self._cancel(plan.case, run)
        launches = [(plan.case, run) for plan in plans for run in plan.launches]
        waiting = iter(launches)
        hands = (self._send_all(waiting, began, now) for _ in range(min(self.settings.sends, len(launches))))
        for failed in await asyncio.gather(*hands, return_exceptions=True):
            if failed:
                raise failed

    async def _send_all(self, waiting: Iterator[tuple[Case, Run]], began: float, now: int) -> None:
        for case, run in waiting:
            await self._send(case, run, began, now)

    async def _send(self, case: Case, run: Run, began: float, now: int) -> None:
        """Send a run, unless the claim on it may be over before it arrives; then another worker will."""
        passed = (self.timer.monotonic() - began) * 1000
        if passed > self.settings.lease / 2:
            self.sink(about("launch_withheld", now, run))
            return
        fail_point("K4")
        launch = Launch(run, case.job, now + self.settings.lease // 2)
        try:
            answer = await self.timer.within(self.settings.timeout / 1000, self._launcher(case).start(launch))
            receipt = answer if isinstance(answer, Receipt) else Receipt(answer)
        except Exception as error:
            receipt = Receipt(Answer.UNKNOWN)
            self.sink(about("launch_error", now, run, error=repr(error)))
        fail_point("K7")
        sent = now + int(passed)
        if receipt.over:
            self._tell(_answered(case, run, receipt, sent), receipt, sent, sent)
            return
        self.answers.append((case, run, receipt, sent))
        if not self.writing:
            await self._record()

    async def _record(self) -> None:
        """Write the answers that are there, and those that come meanwhile. If one is lost, its lease will end."""
        self.writing = True
        try:
            while self.answers:
                some, self.answers = self.answers[:BATCH], self.answers[BATCH:]
                await self._write(some)
        finally:
            self.writing = False

    async def _write(self, answers: Iterable[tuple[Case, Run, Receipt, int]]) -> None:
        now = await self.store.now()
        after = [(_answered(*each[:3], now), *each) for each in answers]
        changes = [Change(run, new, look_after(new, case.policy, now), s.run_id) for new, case, run, s, _ in after]
        held = await self.store.change(changes, now)
        fail_point("K8")
        for (new, _, _, said, sent), written in zip(after, held, strict=True):
            self._tell(new, said, sent, now, "launch_answered" if written else "launch_fenced")

    def _tell(self, run: Run, said: Receipt, sent: int, now: int, name: str = "launch_answered") -> None:
        self.sink(about(name, now, run, answer=str(said.answer), sent=sent))

    async def _cancel(self, case: Case, run: Run) -> None:
        try:
            await self.timer.within(self.settings.timeout / 1000, self._launcher(case).cancel(run))
        except Exception as error:
            self.sink(about("cancel_error", run.changed, run, error=repr(error)))

    def _launcher(self, case: Case) -> Launcher:
        return self.launchers.get(case.job.target.partition(":")[0], NOBODY)


def _answered(case: Case, run: Run, said: Receipt, now: int) -> Run:
    return answered(run, said.answer, case.policy, now, said.patience, said.report)
