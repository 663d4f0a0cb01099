"""The scheduler for applications: functions of the process on schedules of any dialect."""

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from fastapi import FastAPI

from kron import KronError, Scheduler
from kron.apps.wiring import open_store
from kron.rules.outcome import Outcome
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.zone import instant_of, rfc3339

called = []


def remember(*args, **kwargs):
    called.append((args, kwargs))


@pytest.fixture(autouse=True)
def _fresh():
    called.clear()


def virtually(script, now="2026-03-10T12:00:20Z"):
    """Run a script of a scheduler in memory, in virtual time."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, instant_of(now))
    scheduler = Scheduler("memory:", clock=clock, timer=VirtualTimer(loop))
    scheduler.times = []
    scheduler.seen = lambda: scheduler.times.append(rfc3339(int(clock.now())))
    try:
        return loop.run_until_complete(script(scheduler))
    finally:
        loop.abandon()


def ran(words, seconds, *, lasts=0, fails=0, **options):
    """When a job runs."""

    async def script(s):
        left = [fails]

        @s.job(words, **options)
        async def job():
            s.seen()
            await asyncio.sleep(lasts)
            if left[0]:
                left[0] -= 1
                raise ValueError("it failed")

        async with s:
            await asyncio.sleep(seconds)
        return s.times

    return virtually(script)


def test_a_sentence_a_cron_line_and_a_line_of_krons_own():
    async def script(s):
        @s.job("weekly on friday around 17:00", timezone="Europe/Paris", overlap="skip")
        async def report(): ...

        @s.cron("30 9 * * 1-5", timezone="Europe/Paris")
        async def post(): ...

        @s.kron("0 3 * * * @tz(Asia/Tokyo)")
        async def backup(): ...

        @s.job("0 0 12 * * *", dialect="service", name="noon")
        async def other(): ...

        async with s:
            friday = await s.next("report")
            assert friday.strftime("%A") == "Friday"
            assert abs(friday.hour * 60 + friday.minute - 17 * 60) <= 60
            assert str(friday.tzinfo) == "Europe/Paris"
            assert (await s.next("post")).isoformat() == "2026-03-11T09:30:00+01:00"
            assert (await s.next("backup")).isoformat() == "2026-03-11T03:00:00+09:00"
            assert (await s.next("noon")).isoformat() == "2026-03-11T12:00:00+00:00"

    virtually(script)


def test_a_job_runs_at_its_times():
    assert ran("* * * * *", 150, dialect="posix") == [f"2026-03-10T12:0{n}:00Z" for n in (1, 2)]


@pytest.mark.parametrize(
    ("overlap", "minutes"),
    [("skip", [1, 3, 5]), ("queue", [1, 2, 4, 5]), ("coalesce", [1, 2, 4, 5]), ("allow", [1, 2, 3, 4, 5])],
)
def test_what_overlaps(overlap, minutes):
    times = ran("* * * * *", 330, dialect="posix", lasts=90, overlap=overlap)
    assert [int(when[14:16]) for when in times] == minutes


def test_a_run_that_fails_may_run_again(caplog):
    assert ran("5 * * * *", 600, dialect="posix", fails=2, retry_delay="30s") == [
        "2026-03-10T12:05:00Z",
        "2026-03-10T12:05:30Z",
        "2026-03-10T12:06:00Z",
    ]
    assert "job 'job' failed" in caplog.text
    assert ran("5 * * * *", 600, dialect="posix", fails=2) == ["2026-03-10T12:05:00Z"]
    assert len(ran("5 * * * *", 600, dialect="posix", fails=1, retry_delay=timedelta(seconds=1))) == 2


def test_a_long_run_is_not_taken_for_lost():
    assert ran("5 12 * * *", 7200, dialect="posix", lasts=4000, restart_lost=True) == ["2026-03-10T12:05:00Z"]


def test_pause_resume_trigger_and_why():
    async def script(s):
        s.add(_async(s), "0,30 * * * *", name="a", dialect="posix")
        async with s:
            await asyncio.sleep(1800)
            assert (await s.why("a")).summary() == "executed: The run succeeded."
            await s.pause("a")
            await asyncio.sleep(3600)
            assert await s.next("a") is None or len(s.times) == 1
            await s.resume("a")
            key = await s.trigger("a")
            assert len(key) == 64
            await asyncio.sleep(5)
            assert len(s.times) == 2
            await asyncio.sleep(1800)
            words = list((await s.why("a")).lines())
            assert "by Scheduler" in words[0]
            assert words[-2] == "executed: The run succeeded."
        return s.times

    assert virtually(script) == ["2026-03-10T12:30:00Z", "2026-03-10T13:30:20Z", "2026-03-10T14:00:00Z"]


def _async(s):
    async def job():
        s.seen()

    return job


def test_a_job_may_be_declared_while_it_runs():
    async def script(s):
        async with s:

            @s.cron("1 12 * * *")
            async def late():
                s.seen()

            assert (await s.next("late")).isoformat() == "2026-03-10T12:01:00+00:00"
            await asyncio.sleep(60)
        return s.times

    assert virtually(script) == ["2026-03-10T12:01:00Z"]


def test_a_job_that_is_forgotten_does_not_run():
    async def script(s):
        s.add(_async(s), "* * * * *", name="a", dialect="posix")
        async with s:
            await asyncio.sleep(60)
            await s.delete("a")
            await asyncio.sleep(600)
            with pytest.raises(KronError, match=r"job .* does not exist"):
                await s.next("a")
        return s.times

    assert len(virtually(script)) == 1


BAD = [
    (("nonsense", {}), "error"),
    (("daily", {"overlap": "sometimes"}), "overlap cannot be"),
    (("daily", {"catchup": "al"}), "did you mean 'all'"),
    (("daily", {"retry_delay": "5 parsecs"}), "not a valid duration|unit"),
    (("daily", {"retry_delay": timedelta(-1)}), "negative"),
    (("daily around 9:00 utc+2", {"timezone": "Europe/Paris"}), "has a UTC offset"),
    (("daily", {"timezone": "Mars/Base"}), "unknown time zone"),
    (("* * * * *", {"dialect": "crond"}), "unknown dialect"),
    (("daily", {"name": "a\nb"}), "no usable name"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_is_said_at_once(given, message):
    words, options = given
    with pytest.raises(KronError, match=message):
        Scheduler("memory:").add(remember, words, **options)


def test_a_name_is_used_once_and_a_path_must_lead_to_a_function():
    s = Scheduler("memory:")
    assert s.add("tests.embedded.test_scheduler:remember", "daily") == "remember"
    with pytest.raises(KronError, match="job 'remember' already exists"):
        s.add(remember, "daily")
    for path in (
        "no.such.module:f",
        "tests.embedded.test_scheduler:nothing",
        "",
        "tests.embedded.test_scheduler:called",
    ):
        with pytest.raises(KronError):
            s.add(path, "daily", name="x")


def test_questions_need_a_running_scheduler():
    async def script(s):
        with pytest.raises(KronError, match="not running"):
            await s.next("a")
        async with s:
            with pytest.raises(KronError, match="running already"):
                async with s:
                    pass
            with pytest.raises(KronError, match="job 'a' does not exist"):
                await s.trigger("a")

    virtually(script)


# In real time, with real threads and processes.


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def test_plain_functions_run_in_threads_and_paths_are_imported(tmp_path):
    here, threads = threading.get_ident(), set()

    def plain(word, *, times):
        threads.add(threading.get_ident())
        called.append(word * times)

    async def script():
        async with Scheduler(f"sqlite:{tmp_path}/jobs.db") as s:
            s.add(plain, "daily", args=("ho",), kwargs={"times": 3})
            s.add("tests.embedded.test_scheduler:remember", "daily", args=(1,), kwargs={"b": 2})
            await s.trigger("plain")
            await s.trigger("remember")
            await until(lambda: len(called) == 2)

    asyncio.run(script())
    assert "hohoho" in called
    assert ((1,), {"b": 2}) in called
    assert here not in threads


def test_inside_a_fastapi_lifespan(tmp_path):
    """As a server drives it: startup, a request, shutdown. (examples/asgi.py is the same without FastAPI.)"""
    scheduler = Scheduler(f"sqlite:{tmp_path}/jobs.db")

    @scheduler.job("daily")
    async def report():
        called.append("report")

    @asynccontextmanager
    async def lifespan(app):
        async with scheduler:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/report")
    async def now():
        return {"key": await scheduler.trigger("report")}

    async def script():
        inbox, sent = asyncio.Queue(), []

        async def send(message):
            sent.append(message)

        async def body():
            return {"type": "http.request", "body": b""}

        server = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, inbox.get, send))
        await inbox.put({"type": "lifespan.startup"})
        await until(lambda: sent)
        request = {"type": "http", "method": "POST", "path": "/report", "headers": [], "query_string": b""}
        await app(request, body, send)
        await until(lambda: called)
        await inbox.put({"type": "lifespan.shutdown"})
        await server
        return [message["type"] for message in sent], sent[1]["status"]

    kinds, status = asyncio.run(script())
    assert status == 200
    assert (kinds[0], kinds[-1]) == ("lifespan.startup.complete", "lifespan.shutdown.complete")


def test_in_a_thread_without_signals_or_root_loggers(tmp_path):
    before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)], list(logging.getLogger().handlers)
    scheduler = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    scheduler.add(lambda: called.append(1), "* * * * * *", dialect="service", name="tick")
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    until_then = time.monotonic() + 20
    while not called and time.monotonic() < until_then:
        time.sleep(0.02)
    assert ([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)], logging.getLogger().handlers) == before
    scheduler.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert called


def test_a_function_that_does_not_end_is_waited_for_only_so_long(tmp_path):
    async def script():
        async with Scheduler(f"sqlite:{tmp_path}/jobs.db", shutdown_timeout=0.2) as s:
            s.add(_for_ever, "daily", name="hung")
            await s.trigger("hung")
            await until(lambda: called)

    before = time.monotonic()
    asyncio.run(script())
    assert time.monotonic() - before < 20


async def _for_ever():
    called.append(1)
    await asyncio.sleep(1e6)


SHARED = """
import asyncio, os, sys, time
from kron import Scheduler

s = Scheduler(sys.argv[3])

@s.job("* * * * * *", dialect="service")
async def tick():
    with open(f"{sys.argv[1]}/ran", "a") as file:
        file.write(f"{os.getpid()}\\n")

async def main():
    async with s:
        await asyncio.sleep(float(sys.argv[2]))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_several_processes_on_one_database_run_each_period_once(kind, request, tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db" if kind == "sqlite" else request.getfixturevalue("database")
    processes = [subprocess.Popen([sys.executable, "-c", SHARED, str(tmp_path), "10", url]) for _ in range(3)]
    assert [process.wait(90) for process in processes] == [0, 0, 0]
    runs = asyncio.run(_runs(url))
    executed = [run for run in runs if run.outcome is Outcome.EXECUTED]
    lines = (tmp_path / "ran").read_text().splitlines()
    assert len(executed) >= 3
    assert len(lines) == len(executed)
    assert {run.attempt for run in executed} == {1}


async def _runs(url):
    async with open_store(url) as store:
        return await store.runs("tick", 1_000)
