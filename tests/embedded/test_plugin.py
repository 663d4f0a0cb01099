"""The pytest plugin, used as its users use it: installed, and asked for by the names of its fixtures."""

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from kron import KronError, Scheduler, parse
from kron.testing import instant_at
from kron.timing.decision import decide
from kron.timing.period import periods
from kron.timing.schedule.policy import DECLARATIVE, SERVICE
from kron.timing.zone import moment


def test_time_travel_is_instant(travel):
    trip = travel("2026-03-08 01:59 America/New_York")
    assert trip.now.isoformat() == "2026-03-08T01:59:00-05:00"

    async def script(trip):
        await asyncio.sleep(60)
        return trip.now.isoformat()

    assert trip.run(script) == "2026-03-08T03:00:00-04:00"


def test_an_application_lives_through_a_change_of_clocks(travel):
    trip, ran = travel("2026-03-08 01:59 America/New_York"), []

    async def script(trip):
        scheduler = Scheduler("memory:", clock=trip.clock, timer=trip.timer)

        @scheduler.cron("30 2,3 * * *", timezone="America/New_York")
        async def job():
            ran.append(trip.now.strftime("%d %H:%M"))

        async with scheduler:
            await asyncio.sleep(2 * 86_400)

    before = time.process_time()
    trip.run(script)
    assert ran == ["08 03:30", "09 02:30", "09 03:30", "10 02:30"]
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-08 01:59 America/New_York", "2026-03-08T06:59:00Z"),
        ("2026-11-01 01:30 America/New_York", "2026-11-01T05:30:00Z"),  # the first of the two
        ("2026-11-01 01:30:15 America/New_York", "2026-11-01T05:30:15Z"),
        ("2026-03-08T01:59", "2026-03-08T01:59:00Z"),
        ("2026-03-08T01:59:00+01:00", "2026-03-08T00:59:00Z"),
    ],
)
def test_a_moment_as_people_write_it(text, instant):
    assert instant_at(text) == instant_at(instant)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-03-08 02:30 America/New_York", "does not exist"),
        ("2026-03-08 02:30 Mars/Base", "unknown time zone"),
        ("tomorrow", "is not an instant"),
    ],
)
def test_a_moment_that_is_none(text, message):
    with pytest.raises(KronError, match=message):
        instant_at(text)


def test_when_it_fires(assert_fires):
    line = "30 2 * * * @tz(Europe/Berlin)"
    assert_fires(line, ["2026-03-28 02:30", "2026-03-30 02:30"], after="2026-03-28 00:00")
    twice = [datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)]
    assert_fires(line, twice, after="2026-10-24 12:00")
    assert_fires("0 9 * * 1", ["2026-03-09 09:00"], after="2026-03-08 00:00", dialect="posix")
    with pytest.raises(AssertionError, match=r"! 2026-03-09 08:00:00 \+00:00   2026-03-09 09:00:00"):
        assert_fires("0 9 * * 1", ["2026-03-09 08:00"], after="2026-03-08 00:00")
    with pytest.raises(AssertionError):
        assert_fires("0 9 * * *", ["2026-03-09 09:00", "2026-03-11 09:00"], after="2026-03-09 00:00")  # one between


@pytest.mark.parametrize(
    ("policy", "story"),
    [
        (DECLARATIVE, "1 executed, 7 missed (coalesced)"),
        (SERVICE, "8 missed (catchup_none)"),
    ],
)
def test_what_becomes_of_an_outage(assert_survives, policy, story):
    schedule = replace(parse("0,15,30,45 * * * *", dialect="kron"), policy=policy)
    assert assert_survives(schedule, outage=timedelta(hours=2), start="2026-03-01 12:02", expect=story) == story


def test_an_outage_by_its_ends_and_in_a_zone(assert_survives):
    line = "0 * * * * @tz(Europe/Berlin) @policy(deadline=90m)"
    outage = ("2026-03-29 00:30", "2026-03-29 05:10")  # in which there is no 02:00
    story = assert_survives(line, outage=outage, preset="kron")
    assert story == "1 executed, 2 missed (deadline), 1 skipped (overlap)"
    with pytest.raises(AssertionError, match="outcomes after the outage"):
        assert_survives(line, outage=outage, expect="3 executed")


SUITE = """
def test_one(travel, assert_fires, assert_survives):
    assert str(travel("2026-03-08 01:59 America/New_York").now.time()) == "01:59:00"
    assert_fires("0 9 * * *", ["2026-03-08 09:00"], after="2026-03-08 00:00")
    assert_survives("0 9 * * *", outage=("2026-03-08 08:00", "2026-03-08 10:00"))
"""


def test_it_is_there_without_an_import(tmp_path):
    (tmp_path / "test_mine.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert "1 passed" in result.stdout, result.stdout + result.stderr


def test_it_costs_nothing_where_nobody_uses_it():
    code = "import sys, kron.testing.plugin; print(sorted(m for m in sys.modules if m.startswith('kron.')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['kron.testing', 'kron.testing.plugin']"


def test_assert_fires_without_times_fails_for_a_schedule_that_fires(assert_fires):
    with pytest.raises(AssertionError, match=r"never .*2026-03-28 02:30"):
        assert_fires("30 2 * * *", [], after="2026-03-28 00:00")
    assert_fires("0 0 31 2 *", [], after="2026-03-28 00:00", dialect="posix")
    assert_fires("0 9 * * * @only(hours=10-12)", [], after="2026-03-28 00:00")


def test_assert_fires_compares_fire_times_and_not_nominal_times(assert_fires):
    """As in `kron next`, a period counts if its chosen time is later than `after`, whatever its nominal time is."""
    schedule = parse("0 0 * * * @win(around,20h)", dialect="kron")
    decisions = [decide(schedule, period, "a") for period in islice(periods(schedule, moment(1_780_000_000)), 5)]
    chosen = [decision.chosen for decision in decisions]
    for decision, following in pairwise(chosen):
        for after in (decision, decision + 1, following - 1):
            assert_fires(schedule, [moment(following)], after=moment(after), identity="a")
    assert {chosen[n] < decisions[n].period.nominal for n in range(5)} == {True, False}


def test_assert_fires_finds_times_behind_many_closed_periods(assert_fires):
    line = "0 * * * * @only(dow=SUN)"
    assert_fires(line, ["2026-03-15 00:00", "2026-03-15 01:00"], after="2026-03-09 00:00")


def test_assert_fires_shows_times_that_are_missing(assert_fires):
    with pytest.raises(AssertionError, match=r"! 2026-03-28 09:00:00 \+00:00 +never"):
        assert_fires("0 9 * * * @only(hours=10-12)", ["2026-03-28 09:00"], after="2026-03-28 00:00")


def test_assert_fires_refuses_a_time_that_is_not_in_a_list(assert_fires):
    with pytest.raises(KronError, match="not a list"):
        assert_fires("30 2 * * *", "2026-03-28 02:30", after="2026-03-28 00:00")


def test_assert_survives_starts_from_the_policy_of_scheduler(assert_survives):
    """Nothing is too late, and the newest stands for all, as in `Scheduler.kron` with the same text."""
    outage = {"outage": timedelta(hours=48), "start": "2026-03-01 00:00"}
    assert assert_survives("0 3 * * *", **outage) == "1 executed, 1 missed (coalesced)"
    assert assert_survives("0 3 * * * @policy(deadline=1h)", **outage) == "1 missed (coalesced), 1 missed (deadline)"
    s = Scheduler("memory:")
    s.kron("0 3 * * *", name="job")(print)
    assert assert_survives(s.declared["job"].job.schedule, **outage) == "1 executed, 1 missed (coalesced)"
    assert assert_survives("0 3 * * *", **outage, preset="kron") == "2 missed (deadline)"
    with pytest.raises(KronError, match="did you mean 'service'"):
        assert_survives("0 3 * * *", **outage, preset="servic")
