"""A small application that uses the public API, for a type checker. No test imports this file."""

from datetime import UTC, datetime
from itertools import islice
from typing import assert_type, reveal_type

from kron import (
    CurrentRun,
    Decision,
    Period,
    Schedule,
    Scheduler,
    current_run,
    decide,
    describe,
    last_period,
    parse,
    periods,
    to_record,
    verify,
)
from kron.client import Client, Run, UpcomingRuns
from kron.client import Schedule as StoredSchedule
from kron.language.record import Difference
from kron.testing import VirtualTime, assert_fires, assert_survives, travel

scheduler = Scheduler("memory:", shutdown_timeout=5.0)


@scheduler.job("weekly on friday around 17:00", timezone="Europe/Paris", overlap="skip")
async def report(year: int = 2026) -> str:
    return f"report of {year}"


@scheduler.cron("0 3 * * *", args=("/tmp",))
def clean_up(folder: str, *, dry: bool = False) -> int:
    return len(folder) + dry


@scheduler.kron("0 9 * * MON-FRI @win(after,30m)")
async def greet() -> None:
    return None


async def use_the_scheduler() -> None:
    async with scheduler as running:
        assert_type(running, Scheduler)
        assert_type(await running.next("report"), datetime | None)
        assert_type(await running.trigger("greet"), str)
        assert_type(await report(2027), str)
        assert_type(clean_up("/tmp", dry=True), int)


def use_the_scheduler_without_a_loop() -> None:
    with scheduler as running:
        assert_type(running, Scheduler)
        assert_type(running.sync.next("report"), datetime | None)
        assert_type(running.sync.trigger("greet"), str)
        running.sync.pause("greet")
    assert_type(current_run(), CurrentRun)
    assert_type(current_run(None), CurrentRun | None)


def use_the_language() -> None:
    schedule = parse("0 9 * * MON-FRI @tz(Europe/Paris)", dialect="kron")
    assert_type(schedule, Schedule)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    upcoming = list(islice(periods(schedule, after=now), 3))
    assert_type(upcoming, list[Period])
    assert_type(last_period(schedule, now), Period | None)
    decision = decide(schedule, upcoming[0], "report")
    assert_type(decision, Decision)
    assert_type(verify(to_record(decision)), list[Difference])
    assert_type(describe(schedule), str)


def use_the_client(client: Client) -> None:
    for schedule in client.schedules(prefix="report"):
        assert_type(schedule, StoredSchedule)
        assert_type(schedule["next_run_at"], str | None)
    assert_type(client.get("report")["revision"], int)
    assert_type(client.next("report"), UpcomingRuns)
    for run in client.runs("report"):
        assert_type(run, Run)
        assert_type(run["outcome"], str | None)


def use_the_testing_helpers() -> None:
    assert_fires("0 9 * * *", ["2026-03-01T09:00:00Z"], after="2026-03-01T00:00:00Z")
    assert_type(assert_survives("*/5 * * * *", outage=("2026-03-01 12:00", "2026-03-01 13:00")), str)
    assert_type(travel("2026-03-08 01:59 America/New_York"), VirtualTime)


reveal_type(report)
reveal_type(clean_up)
reveal_type(greet)
