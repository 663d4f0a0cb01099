"""Where one worker leads, it alone looks; another takes over when it is gone."""

import pytest

from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.language import parse
from kron.rules.launch_result import LaunchResult
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from tests.engine.world import Still, play

SETTINGS = Settings(leader_election=True, tick=700)


class Watched(MemoryStore):
    """Remembers who has looked: the questions that are put to it."""

    def __init__(self, clock):
        super().__init__(clock)
        self.asked = []

    async def fetch_due(self, share, upto, limit, *beyond):
        self.asked.append(("look", len(share.shards)))
        return await super().fetch_due(share, upto, limit, *beyond)

    async def poll(self, shares):
        self.asked.append(("poll", sum(len(share.shards) for share in shares)))
        return await super().poll(shares)


class Taker:
    async def start(self, launch):
        return LaunchResult.OK

    async def cancel(self, run):
        pass


def a_worker(store, name):
    return Worker(store, {"test": Taker()}, Still(), owner=name, settings=SETTINGS)


@pytest.mark.req("SVC-DEPLOY-LEADER", "SVC-PC-LEADER")
def test_one_looks_at_everything_and_the_others_sleep_a_tick():
    async def script():
        clock = ManualClock(1_800_000_000.0)
        store = Watched(clock)
        for n in range(50):
            await Registrar(store).upsert(Job(f"s{n}", parse("* * * * *", dialect="kron"), target="test:it"))
        workers = {
            f"w{n}": Worker(store, {"test": Taker()}, Still(), owner=f"w{n}", settings=SETTINGS) for n in range(3)
        }
        for worker in workers.values():
            await worker.tick()
        pauses, leaders = {}, []
        for name, worker in workers.items():
            store.asked.clear()
            pauses[name] = await worker.tick()
            if store.asked:
                leaders.append(name)
                assert store.asked[0] == ("poll", 64)
        assert leaders == ["w0"]  # it came first
        assert {pauses[name] for name in ("w1", "w2")} == {700}
        clock.advance(20)  # the leader is heard of no more
        store.asked.clear()
        for name in ("w1", "w2"):
            await workers[name].tick()
        assert ("look", 64) in store.asked

    play(script())
