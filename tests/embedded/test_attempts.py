"""Attempts of functions: the exception is kept, and the report of the period lists it."""

import asyncio
from datetime import timedelta

import pytest

from kron import Scheduler
from kron.rules.attempt import AttemptResult


@pytest.mark.parametrize("url", ["memory:", "sqlite:{}"])
def test_exception_of_a_function_is_kept_until_it_succeeds(tmp_path, url):
    calls = []

    async def scene():
        scheduler = Scheduler(url.format(tmp_path / "jobs.db"))

        @scheduler.job("0 0 1 1 *", dialect="posix", name="report", retry_delay=timedelta(seconds=0.1))
        def report():
            calls.append(1)
            if len(calls) == 1:
                raise ValueError("no rows in https://me:pw@db/x?key=1")

        async with scheduler:
            await scheduler.trigger("report")
            while len(calls) < 2:
                await asyncio.sleep(0.02)
            store = scheduler._require_running("test").registrar.store
            while (run := (await store.runs("report", 1))[0]).open:
                await asyncio.sleep(0.02)
            (attempts,) = await store.attempts([run.key])
            return run, attempts

    run, (first, second) = asyncio.run(asyncio.wait_for(scene(), 30))
    assert (first.number, first.result, first.code) == (1, AttemptResult.FAILED, None)
    assert first.excerpt == "ValueError: no rows in https://…@db/x?…"
    assert (second.number, second.result, second.excerpt) == (2, AttemptResult.SUCCESS, "")
    assert run.started == second.at
    assert run.finished >= run.started
