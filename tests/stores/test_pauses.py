"""Pauses on every store: what was asked is kept, and one that is over is ended once, whoever comes first."""

import asyncio

import pytest

from kron.engine.registrar import Actor, Registrar
from kron.engine.worker import Worker
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.gap_record import GapRecord
from kron.rules.launch_result import LaunchResult
from kron.rules.outcome import Outcome, Reason
from kron.timing.schedule.policy import SERVICE
from tests.engine.world import Still
from tests.stores.making import NOW, SECONDS, a_job, now

UNTIL = NOW + 150_000  # two periods and a half


class Target:
    def __init__(self):
        self.started = []

    async def start(self, launch):
        self.started.append(launch.run.nominal)
        return LaunchResult.OK

    async def cancel(self, run):
        pass


@pytest.fixture
def paused(store, runner):
    """A schedule of every minute that ann pauses at once."""
    registrar = Registrar(store.store)
    runner.run(registrar.upsert(a_job(policy=SERVICE)))
    runner.run(registrar.pause("a", Actor("ann", "quiet, please"), until=UNTIL))
    return registrar


def test_a_pause_is_kept_with_who_why_and_until_when(store, paused):
    assert (now(store).paused, now(store).paused_until) == (True, UNTIL)
    assert store.actions("a") == [ScheduleAction(ActionKind.PAUSED, NOW, UNTIL, "ann", "quiet, please")]
    assert store.identities("", 10, "", True) == ["a"]


def test_many_who_come_at_its_end_end_it_once(store, runner, clock, paused):
    target = Target()
    workers = [Worker(store.store, {"test": target}, Still(), owner=f"w{n}") for n in range(4)]

    async def everybody():
        for _ in range(3):
            await asyncio.gather(*(worker.tick() for worker in workers), paused.pause("b"), return_exceptions=True)

    clock.advance(149.999)
    runner.run(everybody())
    assert (now(store).paused, target.started) == (True, [])
    clock.advance(40.001)  # to the third minute, forty seconds after the end
    runner.run(everybody())
    assert (now(store).paused, now(store).paused_until) == (False, None)
    assert [act.kind for act in store.actions("a")] == [ActionKind.PAUSED, ActionKind.RESUMED]
    assert store.actions("a")[1].at == UNTIL
    assert store.gaps("a") == [GapRecord(SECONDS + 60, SECONDS + 120, 2, Outcome.SKIPPED, Reason.PAUSED)]
    assert [(run.nominal, run.reason) for run in store.runs("a", 9)] == [(SECONDS + 180, None)]  # no worker was missing


def test_one_who_resumes_it_and_one_who_finds_it_over_do_not_both_end_it(store, runner, clock, paused):
    clock.advance(151)
    worker = Worker(store.store, {"test": Target()}, Still(), owner="w1")

    async def both():
        await asyncio.gather(worker.tick(), paused.resume("a", Actor("bob")), worker.tick())

    runner.run(both())
    assert [(act.kind, act.at, act.actor) for act in store.actions("a")][1:] == [(ActionKind.RESUMED, UNTIL, "")]
    assert len(store.gaps("a")) == 1
