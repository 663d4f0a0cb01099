"""DeclarativeScheduler: many tasks, all due at the next minute. `python -m benchmarks.embedded.kron STORE N`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from datetime import timedelta
from typing import Any

from benchmarks.embedded.result import Memory, Result, measured
from kron import DeclarativeScheduler
from kron.engine.events import silent

A_TASK = 200e-6  # seconds to begin with, at most; so that the minute is not over by then
PATIENCE = 600.0
DELAY = timedelta(seconds=30)


async def measure(url: str, count: int) -> Result:
    """One minute of a scheduler."""
    starts: list[float] = []

    async def callback() -> None:
        starts.append(time.time())

    boundary = (int(time.time() + 5 + count * A_TASK) // 60 + 1) * 60
    expression = f"{boundary // 60 % 60} * * * *"
    registrations: list[Any] = [(f"task-{n}", expression, callback, DELAY) for n in range(count)]
    memory, began = Memory(), time.perf_counter()
    scheduler = DeclarativeScheduler(url, timezone="UTC", on_event=silent)
    await scheduler.initialize(registrations)
    begin, held = time.perf_counter() - began, memory.now()
    print(f"  {begin:.1f} s to begin, {boundary - time.time():.0f} s to go", file=sys.stderr, flush=True)
    until = boundary + PATIENCE
    while len(starts) < count and time.time() < until:
        await asyncio.sleep(0.1)
    peak = memory.peak()
    await scheduler.stop()
    began = time.perf_counter()
    if not url.startswith("memory"):
        scheduler = DeclarativeScheduler(url, timezone="UTC", on_event=silent)
    await scheduler.initialize(registrations)
    again = time.perf_counter() - began
    await scheduler.stop()
    name = f"Kron, {url.partition(':')[0]}"
    return measured(name, count, boundary, starts, begin=begin, memory=held, peak=peak, again=again)


def main(store: str, count: int) -> None:
    """Measure, and print it for the one who asked."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:{folder}/tasks.db" if store == "sqlite" else "memory:"
        print(asyncio.run(measure(url, count)).text())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
