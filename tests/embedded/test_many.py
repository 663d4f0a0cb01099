"""Many tasks due in the same minute; `make bench-embedded` does it with a million."""

import asyncio
from dataclasses import replace
from unittest.mock import patch

import pytest
from benchmarks.embedded.result import measured, read

from kron.apps.declarative import scheduler as module
from tests.embedded.stage import play

COUNT, BATCH = 1_000, 100


@pytest.mark.req("DECL-RT-R1", "DECL-TIME-PARALLEL")
def test_what_one_poll_cannot_take_on_the_next_one_does_at_once():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task(f"task-{n}", "5 12 * * *") for n in range(COUNT)])
        await stage.until("2026-03-10T12:05:30Z")
        await scheduler.stop()

    with patch.object(module, "SETTINGS", replace(module.SETTINGS, batch=BATCH)):
        stage = play(script)
    assert {when for _, when in stage.ran} == {"2026-03-10T12:05:00Z"}
    assert len({name for name, _ in stage.ran}) == len(stage.ran) == COUNT


def test_tasks_of_one_expression_share_their_schedule():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task(name, "5 12 * * *") for name in "abc"])
        await asyncio.sleep(0)
        assert len({id(case.job.schedule) for case in stage.store.cases.values()}) == 1
        await scheduler.stop()

    play(script)


def test_a_measure_says_what_it_found():
    found = measured("it", 4, 100.0, [101.0, 103.0, 102.0, 108.0], begin=1.0, memory=400.0, peak=800.0)
    assert read(found.text()) == found
    assert (found.p50, found.last, found.rate, found.memory, found.peak) == (3.0, 8.0, 0.5, 100.0, 200.0)
