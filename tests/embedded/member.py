"""One of several applications that share a database and declare the same jobs. What its jobs do, it writes down."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from kron import Scheduler, current_run
from kron.apps.embedded import options
from kron.engine.settings import Settings
from kron.timing.schedule.policy import SECOND

JOBS: dict[str, dict[str, Any]] = {
    "skip": {"overlap": "skip"},
    "skip, restart": {"overlap": "skip", "restart_lost": True},
    "allow": {"overlap": "allow", "catchup": "all"},
    "allow, restart": {"overlap": "allow", "restart_lost": True, "retry_delay": "1s"},
    "queue": {"overlap": "queue", "catchup": "all"},
    "queue, restart": {"overlap": "queue", "restart_lost": True},
    "coalesce": {"overlap": "coalesce"},
    "coalesce, restart": {"overlap": "coalesce", "restart_lost": True, "retry_delay": "2s"},
}
LONGEST = {"skip": 1.8, "allow": 2.5, "queue": 0.7, "coalesce": 1.8}  # seconds that a run takes
FAILS = 0.1


def live(url: str, lease: int, journal: Path, log: Path) -> None:
    """One life, until it is killed or told to end; it never returns. `lease` is in milliseconds."""
    try:  # whatever fails here must not go on as the process that has forked
        logging.basicConfig(filename=log, level=logging.ERROR, force=True)
        options.APPLICATION = replace(options.APPLICATION, run_lease=lease * SECOND // 1000, queue_limit=20)
        settings = Settings(tick=200, lease=lease, shard_lease=lease // 2, timeout=lease // 3)
        asyncio.run(_work(Scheduler(url, settings=settings), journal))
    except BaseException:
        logging.exception("a life has failed")
    finally:
        os._exit(0)


async def _work(scheduler: Scheduler, journal: Path) -> None:
    file, random, asked = os.open(journal, os.O_APPEND | os.O_WRONLY), Random(), asyncio.Event()

    def note(what: str) -> None:
        run = current_run()
        line = [what, time.time(), os.getpid(), run.job, run.key, run.attempt]
        os.write(file, (json.dumps(line) + "\n").encode())

    def job(longest: float) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            note("begin")
            await asyncio.sleep(random.uniform(0, longest))
            failed = random.random() < FAILS
            note("fail" if failed else "end")
            if failed:
                raise RuntimeError

        return work

    for name, more in JOBS.items():
        function = job(LONGEST[name.partition(",")[0]])
        scheduler.add(function, "* * * * * *", name=name, dialect="service", **more)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    async with scheduler:
        await asked.wait()
