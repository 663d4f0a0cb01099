"""How soon a due callback starts, on a real clock, with a real file."""

import asyncio
import time
from datetime import timedelta

import pytest

from kron import DeclarativeScheduler

TASKS = 2_000  # for which the document allows a minute


@pytest.mark.slow
@pytest.mark.req("DECL-RT-R1", "DECL-THEORY-L1", "DECL-THEORY-L2", "DECL-THEORY-L3")
def test_thousands_of_tasks_start_within_a_minute(tmp_path):
    started = set()

    def task(number):
        async def callback():
            started.add(number)

        return f"task {number}", "* * * * *", callback, timedelta(seconds=5)

    async def script():
        scheduler = DeclarativeScheduler(f"sqlite:{tmp_path}/s.db", timezone="UTC")
        await scheduler.initialize([task(number) for number in range(TASKS)])
        async with asyncio.timeout(60):
            while len(started) < TASKS:
                await asyncio.sleep(0.05)
        await scheduler.stop()

    before = time.monotonic()
    asyncio.run(script())
    assert time.monotonic() - before < 60
