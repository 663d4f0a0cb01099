"""A small world for the engine: a clock that is told the time, a store, one worker, and a target that remembers."""

import asyncio
from collections import Counter
from dataclasses import replace

from kron import parse
from kron.engine.clock import ManualClock
from kron.engine.fleet import ALL_SHARDS, Share
from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult, Report
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE, Completion, Policy
from kron.timing.zone import instant_of

FOLLOWED = replace(SERVICE, completion=Completion.REPORTED)  # the service preset for targets that report the end
EVERYTHING = Share(ALL_SHARDS, frozenset({"test"}))


class Still:
    """A timer that never waits."""

    def monotonic(self):
        return 0.0

    async def sleep(self, seconds):
        await asyncio.sleep(0)

    async def within(self, seconds, work):
        return await work


class Target:
    """Remembers what it was sent. `answers` are given in turn, then ok; runs last `duration` seconds, or for ever."""

    def __init__(self, world, duration=None, answers=()):
        self.world, self.duration, self.answers = world, duration, list(answers)
        self.starts: list[Launch] = []
        self.ends: list[tuple[float, str]] = []
        self.cancelled: list[str] = []

    async def start(self, launch):
        self.starts.append(launch)
        answer = self.answers.pop(0) if self.answers else LaunchResult.OK
        if answer is LaunchResult.OK and self.duration is not None:
            self.ends.append((self.world.clock.now() + self.duration, launch.run.key))
        return answer

    async def cancel(self, run):
        self.cancelled.append(run.key)


class World:
    def __init__(self, now, duration=None, answers=()):
        self.clock = ManualClock(instant_of(now))
        self.store = MemoryStore(self.clock)
        self.registrar = Registrar(self.store)
        self.target = Target(self, duration, answers)
        self.born = 0
        self.restart()

    def restart(self):
        """A new incarnation of the worker; the old one is gone with all that it remembered."""
        self.born += 1
        self.worker = Worker(self.store, {"test": self.target}, Still(), owner=f"w{self.born}")

    async def define(
        self, text, policy: Policy | None = None, identity="job", dialect="kron", zone="UTC", as_of=None, **more
    ):
        schedule = parse(text, dialect=dialect, timezone=zone)
        schedule = replace(schedule, policy=policy) if policy else schedule
        return await self.registrar.upsert(Job(identity, schedule, target="test:it", **more), as_of=as_of)

    async def tick(self):
        """One pass of the worker, and the reports of the runs that have ended by now."""
        await self._report()
        pause = await self.worker.tick()
        await self._report()
        return pause

    async def _report(self):
        for end, key in list(self.target.ends):
            if end <= self.clock.now():
                self.target.ends.remove((end, key))
                await self.registrar.report(key, Report.SUCCESS)

    async def run(self, until):
        """Let the worker work until then, looking only when there is something to do."""
        end = instant_of(until) if isinstance(until, str) else until
        while self.clock.now() < end:
            await self.tick()
            _, wake = await self.store.poll([EVERYTHING])
            ends = [at for at, _ in self.target.ends]
            soon = self.clock.now() + 0.001
            self.clock.time = min([end, *ends, *([] if wake is None else [max(wake / 1000, soon)])])
        await self.tick()

    def sleep(self, until):
        """Let time pass while nobody is there."""
        self.clock.time = float(instant_of(until)) if isinstance(until, str) else until

    async def story(self, identity="job"):
        """What became of the periods, oldest first: `2 missed (deadline), 1 executed`."""
        told = [(gap.first, f"{gap.outcome} ({gap.reason})", gap.count) for gap in await self.store.gaps(identity)]
        for run in await self.store.runs(identity, 10_000):
            verdict = f"{run.outcome} ({run.reason})" if run.reason else str(run.outcome or run.state)
            told.append((run.nominal, verdict, 1))
        counts = Counter()
        for _, what, count in sorted(told):
            counts[what] += count
        return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing"


def play(script):
    """Run a script of coroutines to its end."""
    return asyncio.run(script)
