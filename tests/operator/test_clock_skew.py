"""Clock skew: the clock of the store is compared with that of the API server, and a difference is told once."""

import asyncio
from email.utils import formatdate
from types import SimpleNamespace

from kron.apps.operator.clock_skew import MAX_AGE_SECONDS, ClockSkew
from kron.engine.clock import ManualClock
from kron.stores.memory import MemoryStore
from tests.operator.running import START, until

NOON = 1_772_366_400  # 2026-03-01T12:00:00Z


class Clocks:
    """A store, an API server that tells its time when it is asked, and a clock that never goes back."""

    def __init__(self):
        self.store_clock, self.server_seconds, self.uptime = ManualClock(NOON), NOON, 0.0
        self.asked, self.changes = 0, []
        self.skew = ClockSkew(MemoryStore(self.store_clock), self.ask, self.note, lambda: self.uptime)

    async def ask(self):
        self.asked += 1
        if self.server_seconds is not None:
            await self.tell(formatdate(self.server_seconds, usegmt=True))

    async def tell(self, text):
        await self.skew.note(SimpleNamespace(headers={"Date": text} if text else {}))

    def note(self):
        self.changes.append(self.skew.is_large)

    async def pass_time(self, seconds):
        self.uptime += seconds
        self.store_clock.advance(seconds)
        self.server_seconds += seconds


def tried(work):
    clocks = Clocks()
    asyncio.run(work(clocks))
    return clocks


def test_equal_clocks_are_no_skew():
    async def work(clocks):
        for _ in range(3):
            await clocks.skew.measure()
            await clocks.pass_time(10)

    clocks = tried(work)
    assert (clocks.skew.message, clocks.changes, clocks.asked) == ("", [], 1)
    assert abs(clocks.skew.seconds) <= 0.5


def test_skew_is_told_once_and_ends():
    async def work(clocks):
        await clocks.skew.measure()
        clocks.store_clock.advance(-90)
        for _ in range(3):
            await clocks.skew.measure()
        assert round(clocks.skew.seconds + 0.5) == -90
        assert clocks.skew.message
        clocks.store_clock.advance(90)
        await clocks.skew.measure()

    assert tried(work).changes == [True, False]


def test_difference_within_the_limit_is_none():
    async def work(clocks):
        clocks.store_clock.advance(5)
        await clocks.skew.measure()

    clocks = tried(work)
    assert clocks.changes == []
    assert clocks.skew.seconds > 4


def test_old_answer_is_replaced_by_a_new_one():
    async def work(clocks):
        await clocks.skew.measure()
        await clocks.pass_time(MAX_AGE_SECONDS + 1)
        clocks.server_seconds -= 60  # its clock was set
        await clocks.skew.measure()

    clocks = tried(work)
    assert (clocks.asked, clocks.changes) == (2, [True])


def test_server_that_tells_no_time_is_no_skew():
    async def work(clocks):
        clocks.server_seconds = None
        for text in ("", "yesterday"):
            await clocks.tell(text)
            await clocks.skew.measure()

    clocks = tried(work)
    assert (clocks.asked, clocks.changes, clocks.skew.seconds) == (2, [], 0.0)


def test_statuses_and_one_event_tell_the_skew(world, monkeypatch):
    monkeypatch.setattr("kron.apps.operator.clock_skew.INTERVAL_SECONDS", 0.02)
    monkeypatch.setattr("kron.apps.operator.clock_skew.MAX_AGE_SECONDS", 0.0)
    world.server.time = START + 5
    for name in ("one", "two"):
        world.kronjob(name, schedule="0 3 * * *")

    def degraded(status):
        return all(world.conditions(name).get("Degraded", {}).get("status") == status for name in ("one", "two"))

    async def use(life):
        await until(lambda: world.status("two").get("nextRun"))
        assert "Degraded" not in world.conditions("one")
        world.server.time -= 3600
        await until(lambda: degraded("True"))
        assert world.conditions("one")["Degraded"]["reason"] == "ClockSkew"
        await until(lambda: "ClockSkew" in world.reasons())
        metrics = await life.operator._metrics_text()
        world.server.time += 3600
        await until(lambda: degraded("False"))
        return metrics

    metrics = world.run(use)
    assert world.reasons().count("ClockSkew") == 1
    (line,) = [line for line in metrics.splitlines() if line.startswith("kron_operator_clock_skew_seconds")]
    assert 3598 < float(line.split()[1]) < 3602
