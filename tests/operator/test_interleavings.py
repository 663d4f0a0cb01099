"""Whatever happens to watches and to the operator meanwhile, the ledger and the Jobs are those of a quiet day."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kron.engine.audit import audit
from kron.kube.names import job_name
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.kube.server import FakeServer, Fault
from tests.operator.running import START, World, defaults

PERIOD = 240  # seconds; all periods together are shorter than the lease of a run, which needs signs of life
NUDGE_SECONDS, NUDGE_AFTER = 13, 0.6  # the clock goes on by these seconds if nothing has happened for a while
MAX_NUDGES = 40
SETTLED = (State.ENQUEUED, State.STARTED)
LIMITS = {"successfulJobsHistoryLimit": 100, "failedJobsHistoryLimit": 100}


class Day:
    """A cluster with two KronJobs: `a` lets runs overlap, `f` does not. Its script is always the same."""

    def __init__(self, server, folder):
        self.world, self.stack, self.life = World(server, folder, **defaults(3600)), AsyncExitStack(), None
        self.server, self.tick_at = server, START

    async def start(self):
        self.stack = AsyncExitStack()
        self.life = await self.stack.enter_async_context(self.world.running())

    async def stop(self):
        """Kill the operator: nothing that it has begun is finished."""
        await self.stack.aclose()

    # what happens to the operator

    async def disturb(self, fault):
        if fault == "cut":
            self.server.cut_watches()
        elif fault == "relist":
            self.server.compact()
            self.server.cut_watches()
        elif fault == "restart":
            await self.stop()
            await self.start()
        elif fault == "blind restart":
            await self.stop()
            self.server.compact()
            await self.start()
        elif fault == "lost answer":
            self.server.fail("POST", "jobs", Fault(cut="after"))
        elif fault == "busy":
            self.server.fail("LIST", "jobs", Fault(429))
            self.server.fail("PATCH", "kronjobs", Fault(503))
        elif fault == "pass":
            self.life.operator.worker.notify()
            await asyncio.sleep(0)

    # the script: each step, and when it has had its effect

    def steps(self):
        yield self.tick, lambda: self.has_runs(a=1, f=1)
        yield lambda: self.end("a", 1), lambda: self.has_ended("a", 1)
        yield self.tick, lambda: self.has_runs(a=2, f=2)  # `f` is skipped: its first Job runs
        yield lambda: self.end("f", 1, "Failed"), lambda: self.has_ended("f", 1)
        yield lambda: self.world.annotate("a", run="ticket-5"), lambda: self.has_request("a")
        yield self.tick, lambda: self.has_runs(a=3, f=3)
        yield lambda: self.end("a", 3), lambda: self.has_ended("a", 3)
        yield lambda: self.end("f", 3), lambda: self.has_ended("f", 3)
        yield lambda: self.edit("f", policy={"suspend": True}), lambda: self.has_revision("f", 2)
        yield self.tick, lambda: self.has_runs(a=4)
        yield lambda: self.end("a", 2), lambda: self.has_ended("a", 2)

    def tick(self):
        self.tick_at += PERIOD
        self.world.clock.advance(self.tick_at + 1 - self.world.clock.now())
        self.life.operator.worker.notify()

    def edit(self, name, **changes):
        self.world.kronjob(name, schedule="*/4 * * * *", **LIMITS, **changes)

    def end(self, name, number, condition="Complete"):
        self.server.end_job("shop", self.job(name, number), condition)

    def job(self, name, number):
        return job_name(name, key_of(f"shop/{name}", START + PERIOD * number))

    async def runs(self, name):
        return await self.life.store.runs(f"shop/{name}", 100)

    async def has_runs(self, **numbers):
        return all([await self.is_handled(name, number) for name, number in numbers.items()])

    async def is_handled(self, name, number):
        """Whether the run of a period is skipped, or its Job is there and recorded."""
        found = [run for run in await self.runs(name) if run.nominal == START + PERIOD * number and not run.trigger]
        is_there = ("shop", self.job(name, number)) in self.world.jobs
        return bool(found) and (not found[0].open or (found[0].state in SETTLED and is_there))

    async def has_ended(self, name, number):
        return any(run.nominal == START + PERIOD * number and not run.open for run in await self.runs(name))

    async def has_request(self, name):
        return any(run.trigger and run.state in SETTLED for run in await self.runs(name))

    async def has_revision(self, name, number):
        (state,) = await self.life.store.get([f"shop/{name}"])
        return state is not None and state.revision >= number

    async def wait(self, condition):
        """Wait for an effect. The clock goes on a little, as claims of a killed operator need it."""
        loop, nudges = asyncio.get_running_loop(), 0
        since = loop.time()
        while not await condition():
            await asyncio.sleep(0.01)
            if loop.time() - since > NUDGE_AFTER:
                nudges, since = nudges + 1, loop.time()
                assert nudges < MAX_NUDGES, (await self.ledger(), self.world.job_names())
                if self.world.clock.now() + 2 * NUDGE_SECONDS < self.tick_at + PERIOD:
                    self.world.clock.advance(NUDGE_SECONDS)
                self.life.operator.adopter.request()
                self.life.operator.worker.notify()

    async def play(self, faults):
        """Play the script. `faults` has for each step what happens before and after it."""
        self.edit("a", policy={"concurrency": "allow"})
        self.edit("f")
        await self.start()
        try:
            for (step, condition), (before, after) in zip(self.steps(), faults, strict=True):
                await self.disturb(before)
                step()
                await self.disturb(after)
                await self.wait(condition)
            assert all([each.sound async for each in audit(self.life.store)])
            return await self.ledger(), self.world.job_names()
        finally:
            await self.stop()

    async def ledger(self):
        return {
            name: [(run.nominal, run.trigger, run.outcome, run.reason, run.state) for run in await self.runs(name)]
            for name in "af"
        }


def played(faults):
    with tempfile.TemporaryDirectory() as folder:
        server = FakeServer()
        try:
            ledger, jobs = asyncio.run(Day(server, Path(folder)).play(faults))
        finally:
            server.close()
    return {name: sorted(map(normal, runs)) for name, runs in ledger.items()}, jobs


def normal(run):
    """A run as it is compared: whether its Job is known to have started is seen sooner or later."""
    nominal, trigger, outcome, reason, state = run
    state = State.STARTED if state is State.ENQUEUED else state
    return (0 if trigger else nominal, trigger, str(outcome), str(reason), str(state))


STEPS = 11
FAULTS = ["none", "cut", "relist", "restart", "blind restart", "lost answer", "busy", "pass"]


@cache
def quiet_day():
    return played([("none", "none")] * STEPS)


def test_quiet_day_has_all_outcomes():
    ledger, jobs = quiet_day()
    states = [run[-1] for runs in ledger.values() for run in runs]
    assert {"success", "failed", "skipped", "started"} <= set(states)
    assert len(jobs) == 7


@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(*[st.sampled_from(FAULTS)] * 2), min_size=STEPS, max_size=STEPS))
def test_disturbed_day_ends_in_the_same_ledger_and_jobs(faults):
    assert played(faults) == quiet_day()
