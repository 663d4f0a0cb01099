"""When tasks run: minutes, zones, clocks that change, outages, first and later starts."""

import asyncio
import os
from datetime import timedelta

import pytest

from kron import DeclarativeScheduler
from kron.apps.declarative import host
from kron.apps.declarative.expression import next_occurrence, read_expression
from kron.apps.declarative.host import local_zone
from kron.errors import KronError
from kron.timing.zone import instant_of, rfc3339
from tests.embedded.stage import BERLIN, play


def ran(cron, *, since, upto, zone="UTC", delay=0, lasts=0.0):
    """When a task runs from one instant to another."""

    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", cron, delay, lasts=lasts)])
        await stage.until(upto)
        await scheduler.stop()

    return play(script, since, zone).times()


@pytest.mark.req("DECL-TIME-CLOCK", "DECL-TIME-MINUTE", "DECL-TIME-EVAL", "DECL-TIME-BOUNDARY", "DECL-NONDET")
def test_every_minute_of_a_day_is_evaluated_at_its_start():
    times = ran("* * * * *", since="2026-03-10T00:00:30Z", upto="2026-03-11T00:00:10Z")
    minutes = [rfc3339(instant_of("2026-03-10T00:00:00Z") + 60 * n) for n in range(1, 1441)]
    assert times == ["2026-03-10T00:00:30Z", *minutes]


@pytest.mark.req("DECL-TIME-CLOCK")
def test_the_injected_clock_is_the_only_one():
    assert ran("30 4 * * *", since="1999-12-31T23:59:59Z", upto="2000-01-02T00:00:00Z") == ["2000-01-01T04:30:00Z"]


@pytest.mark.req("DECL-TIME-PARALLEL", "DECL-CONC-MANY", "DECL-CONC-NOORDER")
def test_what_is_due_together_runs_together():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task(name, "1 * * * *", lasts=10) for name in "abcdefgh"])
        await stage.until("2026-03-10T12:01:05Z")
        assert stage.going == set("abcdefgh")
        await scheduler.stop()

    stage = play(script)
    assert {when for _, when in stage.ran} == {"2026-03-10T12:01:00Z"}
    assert stage.most == 8


@pytest.mark.req("DECL-DST-GAP", "DECL-DST-SPRING", "DECL-DST-CONTINUE", "DECL-DST-HOST", "DECL-DST-LOCALTZ")
def test_a_minute_that_does_not_exist_is_skipped():
    times = ran("30 2 * * *", since="2026-03-27T12:00:00Z", upto="2026-03-31T12:00:00Z", zone=BERLIN)
    assert times == ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]


@pytest.mark.req("DECL-DST-SPRING")
def test_only_what_does_not_exist_is_dropped():
    times = ran("30 2,3 * * *", since="2026-03-28T12:00:00Z", upto="2026-03-29T12:00:00Z", zone=BERLIN)
    assert times == ["2026-03-29T01:30:00Z"]


@pytest.mark.req("DECL-DST-FOLD", "DECL-DST-FALL", "DECL-DST-CONTINUE", "DECL-DST-HOST", "DECL-DST-LOCALTZ")
def test_a_minute_that_occurs_twice_runs_twice():
    times = ran("30 2 * * *", since="2026-10-24T12:00:00Z", upto="2026-10-26T12:00:00Z", zone=BERLIN)
    assert times == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]


@pytest.mark.req("DECL-DST-NEXT")
def test_the_next_occurrence_knows_of_the_change():
    schedule = read_expression("30 2 * * *", BERLIN)
    spring = next_occurrence(schedule, "", instant_of("2026-03-28T12:00:00Z"))
    autumn = next_occurrence(schedule, "", instant_of("2026-10-25T00:30:00Z"))
    assert (rfc3339(spring), rfc3339(autumn)) == ("2026-03-30T00:30:00Z", "2026-10-25T01:30:00Z")


@pytest.mark.req("DECL-DST-LOCALTZ")
def test_the_zone_is_that_of_the_host(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", "America/New_York")
    assert local_zone() == "America/New_York"
    monkeypatch.setenv("TZ", ":/usr/share/zoneinfo/Asia/Tokyo")
    assert local_zone() == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "nonsense5")
    with pytest.raises(KronError, match="names no zone"):
        local_zone()
    monkeypatch.delenv("TZ")
    zones = tmp_path / "zoneinfo" / "Europe"
    zones.mkdir(parents=True)
    (zones / "Lisbon").touch()
    link, file = tmp_path / "localtime", tmp_path / "timezone"
    monkeypatch.setattr(host, "_LINK", link)
    monkeypatch.setattr(host, "_FILE", file)
    assert local_zone() == "UTC"
    file.write_text("Europe/Oslo\n")
    assert local_zone() == "Europe/Oslo"
    link.symlink_to(zones / "Lisbon")
    assert local_zone() == "Europe/Lisbon"


@pytest.mark.req("DECL-DST-LOCALTZ", "DECL-DST-HOST")
def test_without_a_zone_the_host_decides(monkeypatch):
    monkeypatch.setitem(os.environ, "TZ", "Asia/Kathmandu")

    async def script(stage):
        scheduler = stage.scheduler(timezone=None)
        await scheduler.initialize([stage.task("a", "0 0 * * *")])
        await stage.until("2026-03-11T12:00:00Z")
        await scheduler.stop()

    assert play(script).times() == ["2026-03-10T18:15:00Z"]


def outage(cron, *, begins, ends, upto):
    """When a task runs whose scheduler is away from one instant to another."""

    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", cron)])
        await stage.until(begins)
        await scheduler.stop()
        await stage.until(ends)
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", cron)])
        await stage.until(upto)
        await scheduler.stop()

    return play(script).times()


@pytest.mark.req("DECL-NOMAKEUP", "DECL-NOMAKEUP-EX", "DECL-GLOSS-MAKEUP", "DECL-TASK-RUN-B", "DECL-START-LOAD")
def test_however_many_were_missed_one_runs():
    """The example of the document: four of `15,30,45,0` are missed in an hour."""
    found = outage(
        "15,30,45,0 * * * *",
        begins="2026-03-10T13:01:00Z",
        ends="2026-03-10T14:01:00Z",
        upto="2026-03-10T14:16:00Z",
    )
    before = ["2026-03-10T12:00:20Z", *(f"2026-03-10T{hm}:00Z" for hm in ("12:15", "12:30", "12:45", "13:00"))]
    assert found == [*before, "2026-03-10T14:01:00Z", "2026-03-10T14:15:00Z"]


@pytest.mark.req("DECL-NOMAKEUP", "DECL-TASK-RUN-B")
def test_a_year_of_outage_is_one_run():
    found = outage("* * * * *", begins="2026-03-10T12:00:50Z", ends="2027-03-10T12:00:30Z", upto="2027-03-10T12:01:30Z")
    assert found == ["2026-03-10T12:00:20Z", "2027-03-10T12:00:30Z", "2027-03-10T12:01:00Z"]


def test_an_outage_that_missed_nothing_makes_up_for_nothing():
    found = outage("0 * * * *", begins="2026-03-10T13:10:00Z", ends="2026-03-10T13:50:00Z", upto="2026-03-10T13:55:00Z")
    assert found == ["2026-03-10T12:00:20Z", "2026-03-10T13:00:00Z"]


@pytest.mark.req("DECL-NOMAKEUP", "DECL-TASK-RUN-B")
def test_a_machine_that_slept_runs_once_when_it_wakes():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0,30 * * * *")])
        await stage.until("2026-03-10T12:05:10Z")
        stage.clock.step(3 * 3600)
        await asyncio.sleep(120)
        await scheduler.stop()

    assert play(script).times()[1:] == ["2026-03-10T15:06:00Z"]


def test_a_clock_that_is_set_back_repeats_nothing():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0,30 * * * *")])
        await stage.until("2026-03-10T12:31:10Z")
        stage.clock.step(-600)
        await asyncio.sleep(900)
        await scheduler.stop()

    assert play(script).times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:30:00Z"]


@pytest.mark.req("DECL-START-NEW", "DECL-START-NEW-ONLYIF", "DECL-PERS-NEW")
@pytest.mark.parametrize(
    ("cron", "times"),
    [
        ("0 12 * * *", ["2026-03-10T12:00:20Z"]),  # matches the current minute
        ("59 11 * * *", []),  # matched a minute ago
        ("1 12 * * *", ["2026-03-10T12:01:00Z"]),
        ("0,2 * * * *", ["2026-03-10T12:00:20Z", "2026-03-10T12:02:00Z"]),
    ],
)
def test_a_new_task_runs_at_once_only_in_its_minute(cron, times):
    assert ran(cron, since="2026-03-10T12:00:20Z", upto="2026-03-10T12:05:00Z") == times


@pytest.mark.req("DECL-TASK-RUN-A")
def test_a_task_runs_once_in_its_minute_however_often_it_is_looked_at():
    async def script(stage):
        for _ in range(3):  # each initialization is a poll, and so is each end
            scheduler = stage.scheduler()
            await scheduler.initialize([stage.task("a", "0 12 * * *"), stage.task("b", "* * * * *", 0, fails=99)])
            await asyncio.sleep(8)
            await scheduler.stop()

    stage = play(script)
    assert stage.times("a") == ["2026-03-10T12:00:20Z"]
    assert len(stage.times("b")) > 10


@pytest.mark.req("DECL-START-LOAD", "DECL-TASK-RUN-B", "DECL-THEORY-DUEPENDING")
def test_a_due_after_registration_counts_even_if_the_task_never_ran():
    found = outage(
        "0 13 * * *", begins="2026-03-10T12:05:00Z", ends="2026-03-10T13:02:00Z", upto="2026-03-10T13:05:00Z"
    )
    assert found == ["2026-03-10T13:02:00Z"]


@pytest.mark.req("DECL-REG-CALLBACK", "DECL-REG-DELAY")
def test_any_callable_without_arguments_will_do(tmp_path):
    """In real time: threads have no virtual one."""
    called = []

    class Callable:
        async def __call__(self):
            called.append("object")

    async def plain():
        called.append("async")

    async def script():
        everything = {
            "async": plain,
            "sync": lambda: called.append("sync"),
            "returns an awaitable": lambda: plain(),
            "object": Callable(),
        }
        scheduler = DeclarativeScheduler(f"sqlite:{tmp_path}/s.db", timezone="UTC")
        await scheduler.initialize([(name, "* * * * *", one, timedelta(0)) for name, one in everything.items()])
        async with asyncio.timeout(10):
            while len(called) < 4:
                await asyncio.sleep(0.01)
        await scheduler.stop()

    asyncio.run(script())
    assert sorted(called) == ["async", "async", "object", "sync"]
