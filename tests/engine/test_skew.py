"""A worker whose clock is too far from the store's holds nothing and sends nothing, until it is back."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kron.apps.wiring import open_store
from kron.engine.clock import ManualClock
from kron.engine.clock_skew import Skew, compare
from kron.engine.events import Memory, all_of
from kron.engine.metrics import Metrics
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.timing.schedule.policy import SERVICE
from tests.campaigns.chaos.faults import faketime
from tests.engine.world import Still, World, play
from tests.stores.making import a_job

NOON = "2026-03-01T12:00:00Z"


class Slow(Still):
    """A timer on which each look takes so many seconds."""

    def __init__(self, step):
        self.at, self.step = 0.0, step

    def monotonic(self):
        self.at += self.step
        return self.at


def measured(ahead, trip=0.0):
    async def script():
        world = World(NOON)
        clock = ManualClock(world.clock.now() + ahead)
        skew, _ = await compare(world.store, clock, Slow(trip), [])
        return skew

    return play(script())


@pytest.mark.parametrize("ahead", [0, 3.25, -3.25, 3600, -86_400])
def test_half_of_the_round_trip_is_the_error(ahead):
    assert measured(ahead)[1:] == (ahead * 1000, 1)
    assert measured(ahead, trip=0.5)[1:] == (ahead * 1000 + 250, 251)


def test_who_is_not_certainly_beyond_the_bound_is_not_beyond_it():
    assert [Skew(0, ahead, 100).exceeds(5_000) for ahead in (5_100, 5_101, -5_100, -5_101)] == [
        False,
        True,
        False,
        True,
    ]
    assert not measured(4.5, trip=4.0).exceeds(5_000)
    assert not Skew(0).exceeds(0)


class Astray(World):
    """A world whose worker has a clock of its own."""

    def restart(self):
        self.own, self.heard, self.metrics = ManualClock(), Memory(), Metrics()
        self.worker = Worker(
            self.store,
            {"test": self.target},
            Still(),
            owner="w1",
            settings=Settings(max_clock_skew=5_000),
            sink=all_of(self.heard, self.metrics),
            clock=self.own,
        )

    async def pass_with(self, ahead, minutes=1):
        """How many runs are sent in a pass, so many minutes later, by a clock that is so far ahead."""
        self.clock.advance(60 * minutes)
        self.own.time = self.clock.now() + ahead
        before = len(self.target.starts)
        await self.tick()
        return len(self.target.starts) - before


@pytest.mark.parametrize("ahead", [5.1, -5.1, 3600])
def test_beyond_the_bound_nothing_is_sent_and_afterwards_it_goes_on(ahead):
    async def script():
        world = Astray(NOON, duration=1)
        await world.define("* * * * *", SERVICE)
        assert await world.pass_with(4.9) == 1
        assert not world.heard.named("clock_skew_exceeded")
        assert await world.pass_with(ahead) == 0
        assert await world.pass_with(ahead, 0) == 0
        told = world.heard.named("clock_skew_exceeded")
        assert [event.facts["skew"] for event in told] == [ahead * 1000] * 2
        assert f"kron_clock_skew_seconds {float(ahead)}\n" in world.metrics.text()
        assert "kron_worker_passes_skipped_clock_skew_total 2\n" in world.metrics.text()
        assert await world.pass_with(-4.9, 0) == 1
        assert "kron_clock_skew_seconds -4.9\n" in world.metrics.text()

    play(script())


def test_who_is_astray_hands_its_shards_over_at_once():
    async def script():
        world = Astray(NOON)
        world.own.time = world.clock.now()
        await world.tick()
        fleet = await world.store.lease("w2", frozenset({"test"}), 15_000)
        assert [member.owner for member in fleet.members] == ["w1", "w2"]
        await world.pass_with(60, 0)
        fleet = await world.store.lease("w2", frozenset({"test"}), 15_000)
        assert [member.owner for member in fleet.members] == ["w2"]

    play(script())


def told(path, name, since=0):
    """How often an event was told, from a place in the log on."""
    lines = path.read_text(encoding="utf-8").splitlines()[since:]
    return sum(json.loads(line)["event"] == name for line in lines)


def until(holds, seconds=15):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.skipif(faketime() is None, reason="needs libfaketime")
def test_the_clock_of_a_real_worker_is_set_an_hour_and_back(database, tmp_path):
    async def define():
        async with open_store(database) as store:
            every = a_job("a", "* * * * *", policy=replace(SERVICE))
            await Registrar(store).upsert(replace(every, target="python:pass"))

    asyncio.run(define())
    clock, log = tmp_path / "clock", tmp_path / "log"
    clock.write_text("+0", encoding="ascii")
    false = {"LD_PRELOAD": str(faketime()), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    false |= {"DONT_FAKE_MONOTONIC": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as out:
        words = [Path(sys.executable).with_name("kron"), "worker", "--store", database, "--log-level", "debug"]
        worker = subprocess.Popen(words, stderr=out, env={**os.environ, **false})
    try:
        until(lambda: told(log, "pass") > 0)
        clock.write_text("+3600", encoding="ascii")
        until(lambda: told(log, "clock_skew_exceeded") > 0)
        since = len(log.read_text(encoding="utf-8").splitlines())
        until(lambda: told(log, "clock_skew_exceeded", since) > 0)
        assert told(log, "pass", since) == 0
        clock.write_text("+0", encoding="ascii")
        until(lambda: told(log, "pass", since) > 0)
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0
