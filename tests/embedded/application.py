"""An application with the scheduler inside, to be killed: `python -m tests.embedded.application FOLDER URL EPOCH`.

Its clock goes faster than the world's, so that minutes come often; everything else is real. What can be
observed is written to a journal, a line at a time, which outlives the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from kron import DeclarativeScheduler
from kron.engine.events import Event

T = TypeVar("T")
SPEED = 30  # a minute is two seconds
START = 1_774_744_200  # 2026-03-29T00:30:00Z: half an hour before Berlin loses one
ZONE = "Europe/Berlin"
TASKS = (  # name, expression, delay in seconds, longest duration in seconds, how often it fails; of the fast clock
    ("short", "* * * * *", 10, 20, 0.0),
    ("long", "0-59 * * * *", 30, 100, 0.2),
    ("failing", "0,5,10,15,20,25,30,35,40,45,50,55 * * * *", 5, 40, 0.6),
    ("rare", "30 2,3 * * *", 0, 60, 0.3),
)
_STARTS = {"TaskRunStarted": "start", "TaskRetryStarted": "retry"}
_ENDS = {"TaskRetryPreempted": "preempted", "TaskRunCompleted": "completed", "TaskRunFailed": "failed"}


class FastClock:
    """The clock and the timer of the application."""

    def __init__(self, epoch: float) -> None:
        self.epoch = epoch

    def now(self) -> float:
        return START + (time.time() - self.epoch) * SPEED

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / SPEED)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        async with asyncio.timeout(seconds / SPEED):
            return await work


class Journal:
    def __init__(self, path: Path, clock: FastClock) -> None:
        self.file, self.clock = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY), clock
        self.announced: dict[str, tuple[str, int]] = {}

    def write(self, what: str, about: Any = None) -> None:
        line = {"wall": self.clock.now() * 1000, "what": what, "about": about}
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def hear(self, event: Event) -> None:
        name = event.facts.get("taskName")
        if event.name == "SchedulerInitializationCompleted":
            self.write("init ok")
        elif event.name in _STARTS:
            self.announced[str(name)] = _STARTS[event.name], event.facts["lastAttemptAt"]
        elif event.name in _ENDS:
            self.write(_ENDS[event.name], name)


def registered() -> list[tuple[str, str, int]]:
    """What the oracle knows of the tasks."""
    return [(name, expression, delay * 1000) for name, expression, delay, _, _ in TASKS]


async def main(folder: str, url: str, epoch: str) -> None:
    """Run until a SIGTERM; then stop."""
    clock = FastClock(float(epoch))
    journal, random = Journal(Path(folder) / "journal", clock), Random()

    def task(name: str, expression: str, delay: int, longest: int, failing: float) -> Any:
        async def callback() -> None:
            kind, attempt = journal.announced.pop(name)
            journal.write(kind, [name, attempt])
            await clock.sleep(random.uniform(0, longest))
            failed = random.random() < failing
            journal.write("raised" if failed else "returned", name)
            if failed:
                raise RuntimeError(name)

        return name, expression, callback, timedelta(seconds=delay)

    scheduler = DeclarativeScheduler(url, timezone=ZONE, clock=clock, timer=clock, on_event=journal.hear)
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    journal.write("init", [registered(), True])
    await scheduler.initialize([task(*one) for one in TASKS])
    await asked.wait()
    journal.write("stop")
    await scheduler.stop()
    journal.write("stopped")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
