"""Withheld runs: they return at the moment that was chosen when they were withheld, however slow the store is."""

import asyncio
from dataclasses import replace

import pytest

from kron.engine.claim import Claim, Result
from kron.engine.settings import Settings
from kron.engine.target_limit import read_limits
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock
from kron.timing.schedule.policy import SECOND, SERVICE
from tests.engine.test_dispatcher import START, Slow, a_job, live, of_all, worked


class SlowOnce(MemoryStore):
    """A store that is slow when it first records a withheld run of the schedule `urgent`."""

    is_slow = True

    async def update_runs(self, updates, now):
        if self.is_slow and any(each.after.identity == "urgent" and each.after.unsent for each in updates):
            self.is_slow = False
            await asyncio.sleep(15)
            raise ConnectionError("the store was away")
        return await super().update_runs(updates, now)


def once(job):
    return replace(job, end=START)


def test_slow_store_does_not_hold_a_run_past_its_deadline():
    class Down(Slow):
        async def start(self, launch):
            await super().start(launch)
            return LaunchResult.RETRYABLE if asyncio.get_running_loop().time() < 40 else LaunchResult.OK

    async def script(loop):
        policy = replace(SERVICE, deadline=40 * SECOND)
        jobs = [
            *(once(a_job(n, policy=SERVICE)) for n in range(11)),
            once(replace(a_job(0, policy=policy), identity="urgent")),
        ]
        settings = Settings(breaker_hold=60_000, breaker_max_hold=60_000)
        store = SlowOnce(VirtualClock(loop, START - 30))
        await worked(loop, jobs, Down(), 120, settings=settings, store=store)
        (run,) = await store.runs("urgent", 5)
        assert not store.is_slow
        assert (run.state, run.outcome) == (State.SUCCESS, Outcome.EXECUTED)

    live(script)


def test_slow_store_does_not_extend_the_wait_for_a_limit():
    async def script(loop):
        settings = Settings(target_limits=read_limits(["a=1"]), timeout=200_000)
        jobs = [once(a_job(0, takes=100.0)), once(replace(a_job(1), identity="urgent"))]
        store, launcher = SlowOnce(VirtualClock(loop, START - 30)), Slow()
        await worked(loop, jobs, launcher, 75, settings=settings, store=store)
        (run,) = [run for run in await of_all(store) if run.identity == "urgent"]
        assert not store.is_slow
        assert run.attempt > 1, "it returned"
        assert run.sent / 1000 - START < 15 + 1 + 15 + 2, (
            "half its lease, and the time of the store: longer than its turn"
        )

    live(script)


@pytest.mark.parametrize(
    ("withheld", "now", "delay"),
    [(1_000, 1_000, 500), (1_000, 1_300, 200), (1_000, 9_000, 0), (1_000, 0, 500), (None, 9_000, 500)],
)
def test_delay_of_a_withheld_run_begins_when_it_was_withheld(withheld, now, delay):
    """A clock that was set back does not extend it. The delay of a target begins when its response is written."""
    result = Result(Claim(None, None, 0.0, 0, None), LaunchResponse(LaunchResult.UNSENT, 500), 0, withheld=withheld)
    assert result.response_at(now).retry_after_ms == delay
