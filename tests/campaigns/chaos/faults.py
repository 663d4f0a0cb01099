"""What goes wrong, and how often: every kind has a mean time between two of it, in seconds."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from tests.campaigns.chaos.proxy import Proxy

WORKERS = 4


class Fleet:
    """Workers, each behind a road of its own to the database; one of them has a clock that jumps."""

    def __init__(self, server, database, receiver, folder, life):
        self.server, self.database, self.receiver, self.folder, self.life = server, database, receiver, folder, life
        self.roads, self.living, self.born = [], {}, 0
        self.clock = folder / "clock"
        self.clock.write_text("+0", encoding="ascii")

    async def open(self):
        for n in range(WORKERS):
            self.roads.append(await Proxy(self.server.port).open())
            self.start(n)

    def start(self, n):
        self.born += 1
        words = [
            sys.executable,
            "-m",
            self.life,
            self.url(n),
            str(self.receiver),
            f"w{n}.{self.born}",
            str(self.folder / "log"),
        ]
        self.living[n] = subprocess.Popen(words, env=self._environment(n))

    def url(self, n):
        return f"postgresql://postgres@127.0.0.1:{self.roads[n].own}/{self.database}"

    def _environment(self, n):
        library = faketime()
        if n or library is None:
            return None
        false = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1"}
        return {**os.environ, **false, "DONT_FAKE_MONOTONIC": "1"}

    def kill(self, n):
        self.living[n].kill()
        self.living[n].wait()

    async def recover(self):
        """The database and every worker run again, and no road is blocked."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(None, self.server.sql, "SELECT 1")
        except Exception:
            await loop.run_in_executor(None, self.server.start)
        for n, road in enumerate(self.roads):
            road.block()
            self.living[n].send_signal(signal.SIGCONT)
            if self.living[n].poll() is not None:
                self.start(n)
        self.clock.write_text("+0", encoding="ascii")

    async def stop(self):
        for process in self.living.values():
            process.send_signal(signal.SIGTERM)
        for _ in range(100):
            if all(process.poll() is not None for process in self.living.values()):
                return
            await asyncio.sleep(0.2)

    async def close(self):
        for process in self.living.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        for road in self.roads:
            await road.close()


class Chaos:
    """Lets things go wrong until it is told to stop, and counts them."""

    def __init__(self, fleet, chance, pace):
        """`pace`: 1 for the long campaign, more for a short one with more faults a minute."""
        self.fleet, self.chance, self.pace = fleet, chance, pace
        self.count, self.at = Counter(), []

    async def run(self):
        kinds = {
            self.kill: 4.8,
            self.pause: 22,
            self.crash: 140,
            self.part: 65,
            self.terminate: 25,
            self.set_clock: 20,
        }
        await asyncio.gather(*(self._again(kind, mean / self.pace) for kind, mean in kinds.items()))

    async def _again(self, kind, mean):
        while True:
            await asyncio.sleep(self.chance.uniform(0.4, 1.6) * mean)
            await kind()

    def _did(self, what):
        self.count[what] += 1
        self.at.append((time.time(), what))

    async def kill(self):
        n = self.chance.randrange(WORKERS)
        self._did("kill -9 of a worker")
        self.fleet.kill(n)
        await asyncio.sleep(self.chance.random())
        self.fleet.start(n)

    async def pause(self):
        process = self.fleet.living[self.chance.randrange(WORKERS)]
        self._did("SIGSTOP past the lease, SIGCONT")
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(4, 14))
        process.send_signal(signal.SIGCONT)

    async def crash(self):
        self._did("crash of PostgreSQL")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.fleet.server.stop, "immediate")
        await asyncio.sleep(self.chance.uniform(0, 3))
        await loop.run_in_executor(None, self.fleet.server.start)

    async def part(self):
        ways = self.chance.choice([("there",), ("back",), ("there", "back")])
        self._did("partition, one way" if len(ways) == 1 else "partition, both ways")
        road = self.fleet.roads[self.chance.randrange(WORKERS)]
        road.block(*ways)
        await asyncio.sleep(self.chance.uniform(3, 15))
        road.block()

    async def terminate(self):
        await _quietly(self._terminate)

    def _terminate(self):
        mine = "SELECT pid FROM pg_stat_activity WHERE application_name = 'kron' ORDER BY random() LIMIT 2"
        found = self.fleet.server.sql(f"SELECT pg_terminate_backend(pid) FROM ({mine}) AS some")
        for _ in found:
            self._did("backend terminated")

    async def set_clock(self):
        if faketime() is not None:
            self._did("clock of a worker set by up to 90 s")
            self.fleet.clock.write_text(f"{self.chance.randrange(-90, 91):+d}", encoding="ascii")


async def _quietly(deed):
    try:
        await asyncio.get_running_loop().run_in_executor(None, deed)
    except Exception:  # the database is down, or was just now
        return


def faketime():
    """The library that sets the clock of a process, if it is here."""
    spec = find_spec("libfaketime")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    found = [path for place in places for path in place.rglob("libfaketime.so.1")]
    return found[0] if found else None
