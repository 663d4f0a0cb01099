"""The run's context: what a job's function can know about its run."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from kron import CurrentRun, Scheduler, UsageError, current_run
from kron.testing import travel


def test_outside_a_run_there_is_none():
    with pytest.raises(UsageError, match="outside a run") as refused:
        current_run()
    assert refused.value.code == "NO_RUN"
    assert current_run(None) is None


def test_async_function_reads_its_run():
    trip = travel("2026-03-10 13:59 Europe/Paris")
    seen = []

    async def script(trip):
        s = Scheduler("memory:", clock=trip.clock, timer=trip.timer)

        @s.kron("0 14 * * * @win(after,10m)", timezone="Europe/Paris", deadline="5m", retry_delay="30s")
        async def report():
            seen.append(current_run())
            if len(seen) == 1:
                raise ValueError("it failed")

        async with s:
            await asyncio.sleep(3600)
            return (await s.why("report")).run

    run = trip.run(script)
    trip.close()
    first, second = seen
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.key == second.key == run.key
    assert first.job == "report"
    assert first.period.isoformat() == "2026-03-10T14:00:00+01:00"
    assert timedelta(0) <= first.chosen_time - first.period < timedelta(minutes=10)
    assert first.chosen_time.timestamp() * 1000 == run.due
    assert first.deadline == first.chosen_time + timedelta(minutes=5)


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_each_function_has_the_run_of_its_own(kind, tmp_path):
    gate, seen = threading.Barrier(3), {}

    def plain(name):
        gate.wait(20)
        seen[name] = current_run()

    async def asynchronous(name):
        await asyncio.sleep(0.1)
        seen[name] = current_run()

    async def script():
        async with Scheduler(f"sqlite:{tmp_path}/jobs.db") as s:
            for name in "abc":
                s.add(plain if kind == "plain" else asynchronous, "daily", name=name, args=(name,))
            keys = {name: await s.trigger(name) for name in "abc"}
            async with asyncio.timeout(20):
                while len(seen) < 3:
                    await asyncio.sleep(0.02)
            assert current_run(None) is None
            return keys

    keys = asyncio.run(script())
    assert {name: run.key for name, run in seen.items()} == keys
    assert {run.job for run in seen.values()} == set("abc")


def test_triggered_run_has_the_time_of_the_request_as_its_period():
    seen = []

    async def script():
        async with Scheduler("memory:") as s:
            s.add(lambda: seen.append(current_run()), "daily", name="job")
            await s.trigger("job")
            async with asyncio.timeout(20):
                while not seen:
                    await asyncio.sleep(0.02)

    before = datetime.now(UTC).replace(microsecond=0)
    asyncio.run(script())
    (run,) = seen
    assert isinstance(run, CurrentRun)
    assert before <= run.period <= datetime.now(UTC)
    assert run.deadline is None
    with pytest.raises(AttributeError):
        run.key = "other"
