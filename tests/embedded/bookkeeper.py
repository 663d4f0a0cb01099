"""An application that writes in the transactions of its runs, and dies as it is told to.

It is forked rather than started, so that a thousand of them take no longer than their work; each is a process of its
own, and what kills it is a real SIGKILL.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from kron import Scheduler
from kron.apps.embedded import options
from kron.engine import failpoint
from kron.engine.settings import Settings
from kron.timing.schedule.policy import SECOND

TABLE = "CREATE TABLE written (job text NOT NULL, pid integer NOT NULL)"
WRITE = "INSERT INTO written (job, pid) VALUES (%s, %s)"
JOBS = 10  # each with a period a second
LEASE = 2_000  # milliseconds: how long a run may be silent; so that the dead are soon missed
SETTINGS = Settings(tick=200, lease=LEASE, shard_lease=0, timeout=LEASE // 3)
PLACES = (*["after"] * 7, "before", "K1", "K2", "K2", "K3", "K3", "K4", "K7", "K8")
ENDS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


@dataclass(frozen=True, slots=True)
class Fate:
    """Where a life ends: `before` or `after` its nth write, or at the nth passage of a fail point."""

    place: str
    nth: int
    deed: str = "kill"

    @staticmethod
    def of(number: int, random: Random) -> Fate:
        """Mostly between the write and the commit; else anywhere. Every fiftieth only stands still for too long."""
        if number % 50 == 25:
            return Fate("after", 1, "stop")
        return Fate(random.choice(PLACES), random.randrange(1, 5))


IMMORTAL = Fate("never", 0)


def live(url: str, fate: Fate, log: Path) -> None:
    """One life, to its end. It never returns."""
    try:  # whatever fails here must not go on as the process that has forked
        logging.basicConfig(filename=log, level=logging.WARNING, force=True)
        if fate.place.startswith("K"):
            failpoint._requested = f"{fate.place}:{fate.nth}:kill"
        options.APPLICATION = replace(options.APPLICATION, run_lease=LEASE * SECOND // 1000)
        asyncio.run(_work(url, fate))
    except BaseException:
        logging.exception("a life has failed")
    finally:
        os._exit(0)


async def _work(url: str, fate: Fate) -> None:
    scheduler, asked, left = Scheduler(url, settings=SETTINGS), asyncio.Event(), {fate.place: fate.nth}
    ends = [ENDS[fate.deed]]

    def pass_by(place: str) -> None:
        left[place] = left.get(place, 0) - 1
        if left[place] == 0:
            os.kill(os.getpid(), ends.pop())
            left["after"], ends[:] = 3, [signal.SIGKILL]  # who stood still has a little time to be refused, and ends

    async def write(connection: Any, name: str) -> None:
        pass_by("before")
        await connection.execute(WRITE, [name, os.getpid()])
        pass_by("after")

    for number in range(JOBS):
        name = f"job{number}"
        options = {"dialect": "service", "overlap": "allow", "retry_delay": "1s", "transaction": True}
        scheduler.add(write, "* * * * * *", name=name, args=(name,), **options)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    async with scheduler:
        await asked.wait()
