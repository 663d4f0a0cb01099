"""One contract, whoever keeps it: the same scenarios leave the same ledger on every store, and by every worker."""

import shutil
from dataclasses import replace

import pytest

from kron.engine.registrar import Registrar
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.outcome import Outcome
from kron.stores.memory import MemoryStore
from kron.stores.sqlite import SqliteStore
from kron.testing import FaultyLauncher, FaultyStore, ReliableNetwork
from kron.timing.schedule.policy import KRON, MINUTE, Overlap
from tests.engine.test_matrix import CELLS, SITUATIONS, told
from tests.engine.world import Still, World, play
from tests.stores.making import a_folder


class Filed(World):
    """The same world on a file."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.folder = a_folder()
        self.store = SqliteStore(self.folder / "kron.db", self.clock)
        self.registrar = Registrar(self.store)
        self.restart()

    async def story(self, identity="job"):
        try:
            return await super().story(identity)
        finally:
            await self.store.close()
            shutil.rmtree(self.folder)


class Remote(World):
    """The same world at the end of a road, as a store and a target elsewhere are."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.store = FaultyStore(MemoryStore(self.clock), ReliableNetwork())
        self.registrar = Registrar(self.store)
        self.restart()

    def restart(self):
        super().restart()
        launcher = FaultyLauncher(self.target, ReliableNetwork())
        self.worker = Worker(self.store, {"test": launcher}, Still(), owner=f"w{self.born}")


ADAPTERS = [Filed, Remote]


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_adapter_tells_the_same_story(monkeypatch, adapter, situation):
    monkeypatch.setattr("tests.engine.test_matrix.World", adapter)
    (expected,) = [cell for name, preset, cell in CELLS if (name, preset) == (situation, "kron")]
    assert play(told(situation, "kron")) == expected


NOON = "0 12 * * *"


@pytest.mark.req("KSPEC-TRIG-ATTEMPT")
@pytest.mark.parametrize(
    ("policy", "answers", "late", "busy", "verdict"),
    [
        (KRON, [], 0, False, Outcome.EXECUTED),
        (KRON, [], 60, False, Outcome.MISSED),
        (replace(KRON, deadline=5 * MINUTE), [], 60, False, Outcome.EXECUTED),
        (KRON, [], 0, True, Outcome.SKIPPED),
        (replace(KRON, overlap=Overlap.ALLOW), [], 0, True, Outcome.EXECUTED),
        (replace(KRON, overlap=Overlap.REPLACE), [], 0, True, Outcome.EXECUTED),
        (KRON, [LaunchResult.REJECTED], 0, False, Outcome.MISSED),
        (KRON, [LaunchResult.UNKNOWN], 0, False, Outcome.EXECUTED),
        (replace(KRON, suspend=True), [], 0, False, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_once_eligible_the_policies_and_the_state_of_things_decide_on_one_outcome(policy, answers, late, busy, verdict):
    """The same period, eligible at 12:00: what becomes of it depends on who came when, what ran, and what was asked."""

    async def script():
        world = World("2026-03-01T11:59:00Z")
        await world.define(NOON, policy)
        if busy:
            await world.registrar.trigger("job", "by hand")
            await world.tick()
        world.target.answers = list(answers)
        world.sleep("2026-03-01T11:59:59Z")
        await world.tick()
        assert not [run for run in await world.store.runs("job", 9) if not run.trigger]  # not eligible yet
        world.sleep(world.clock.now() + 1 + late)
        await world.tick()
        runs = [run for run in await world.store.runs("job", 9) if not run.trigger]
        assert [run.outcome for run in runs] == ([verdict] if verdict else [])

    play(script())


@pytest.mark.req("KSPEC-TRIG-ATTEMPT")
def test_a_period_without_a_second_to_run_at_is_decided_too():
    async def script():
        world = World("2026-03-01T11:59:00Z")
        await world.define(f"{NOON} @only(hours=3)")
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        (run,) = await world.store.runs("job", 9)
        assert run.outcome is Outcome.UNSCHEDULABLE

    play(script())
