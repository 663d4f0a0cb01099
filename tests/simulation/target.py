"""The world outside: targets that know a key, commands that do not, and reports that get lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.errors import KronError
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run import Run
from kron.testing import VirtualLoop
from tests.simulation.history import Delivery, Execution, History
from tests.simulation.setting import Setting


class Target:
    """Every target. `keyed:` ones know the keys that they have seen; `command:` ones do as they are told."""

    def __init__(
        self,
        loop: VirtualLoop,
        setting: Setting,
        history: History,
        random: Random,
        registrar: Registrar,
        clock: Callable[[], float],
    ) -> None:
        self.loop, self.setting, self.history, self.random = loop, setting, history, random
        self.registrar, self.clock = registrar, clock
        self.known: dict[str, Execution] = {}
        self.calm = False

    async def start(self, launch: Launch) -> LaunchResult:
        run, draw = launch.run, self.random.random
        keyed = launch.job.target.startswith("keyed:")
        seen = self.known.get(run.key)
        if keyed and seen and (run.outcome is None or seen.how in ("running", "success")):
            seen.attempt = max(seen.attempt, run.attempt)
            self.history.deliveries.append(Delivery(self.loop.time(), run.key, run.attempt, run.owner, False))
            return LaunchResult.OK
        if self.clock() * 1000 > launch.not_after:
            self.history.fault(self.loop.time(), "too late for the target", run.key[:8])
            return LaunchResult.RETRYABLE
        if not self.calm and draw() < self.setting.sends_lost:
            self.history.fault(self.loop.time(), "target refuses", run.key[:8])
            return LaunchResult.RETRYABLE if draw() < 0.8 else LaunchResult.REJECTED
        self._begin(launch)
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        execution = self.known.get(run.key)
        if execution and execution.how == "running":
            execution.end, execution.how = self.loop.time(), "cancelled"

    def _begin(self, launch: Launch) -> None:
        run, now = launch.run, self.loop.time()
        self.history.deliveries.append(Delivery(now, run.key, run.attempt, run.owner, True))
        execution = Execution(run.key, run.identity, now, run.attempt)
        self.history.executions.append(execution)
        self.known[run.key] = execution
        lasts = float(launch.job.description or 1) * (0.5 + self.random.random())
        beat = launch.job.schedule.policy.run_lease / 1e9 / 3
        self.loop.create_task(self._work(execution, lasts, beat))

    async def _work(self, execution: Execution, lasts: float, beat: float) -> None:
        """Go on for so long, with a sign of life every now and then; then say what became of it."""
        until = self.loop.time() + lasts
        while self.loop.time() < until:
            tardy = self.setting.faults and self.random.random() < 0.1  # heard just when its lease ends
            wait = 3 * beat + self.random.uniform(-0.01, 0.03) if tardy else beat
            await self._sleep(min(wait, until - self.loop.time()))
            if execution.how == "cancelled":
                return
            if self.loop.time() < until:
                await self._report(execution, Report.STARTED, tries=1)
        if execution.how == "cancelled":
            return
        execution.end = self.loop.time()
        if not self.calm and self.setting.faults and self.random.random() < 0.02:
            execution.how = "died"
            self.history.fault(self.loop.time(), "run dies silently", execution.key[:8])
            return
        failed = self.random.random() < (0.4 if self.setting.limited else 0.1)
        execution.how = "failed" if failed else "success"
        await self._report(execution, Report.FAILED if failed else Report.SUCCESS, tries=4)

    async def _report(self, execution: Execution, report: Report, tries: int) -> None:
        """Reports are lost, late and sent twice."""
        for _ in range(tries):
            if self.random.random() < self.setting.reports_lost and not self.calm:
                self.history.fault(self.loop.time(), "report lost or late", f"{report} {execution.key[:8]}")
                await self._sleep(self.random.random() * 60)
                continue
            twice = self.random.random() < self.setting.reports_lost
            if await self._say(execution, report) and not twice:
                return
            if twice:
                self.history.fault(self.loop.time(), "report twice", f"{report} {execution.key[:8]}")
            await self._sleep(5)

    async def _say(self, execution: Execution, report: Report) -> bool:
        try:
            await self.registrar.report(execution.key, report, execution.attempt)
        except (ConnectionError, KronError):
            return False
        return True

    async def _sleep(self, seconds: float) -> None:
        sleeper = self.loop.create_future()
        self.loop.call_later(seconds, lambda: sleeper.done() or sleeper.set_result(None))
        await sleeper
