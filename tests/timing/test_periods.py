"""Periods are exactly the instants whose wall clock the fields name: the law against the oracle, then anecdotes."""

import importlib.util
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from benchmarks import campaign, dst_board

import kron
from kron.timing.period import Period, count_nominals, next_nominal, prev_nominal
from kron.timing.zone import EARLIEST, instant_of, rfc3339
from tests.oracle import occurrences, walk
from tests.seeds import seeds

ROOT = Path(__file__).parents[2]
DAY = 86_400


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ids(text: str, after: str, count: int, dialect: str = "kron", zone: str = "UTC") -> list[str]:
    schedule = kron.parse(text, dialect=dialect, timezone=zone)
    return [period.id for period in islice(kron.periods(schedule, at(after)), count)]


# The law


@pytest.mark.req("KSPEC-PERIOD-NEXT", "KSPEC-PERIOD-PREV", "KSPEC-TIME-TZ", "KSPEC-TERM-NOMINAL")
@pytest.mark.parametrize("seed", seeds(5, in_gate=2))
def test_periods_are_exactly_the_instants_whose_wall_clock_matches(seed):
    for case in campaign.cases(seed, 1_000):
        assert campaign.difference(case) == "", campaign.smaller(case)


@pytest.mark.req("KSPEC-PERIOD-NEXT", "KSPEC-PERIOD-PREV", "KSPEC-TIME-TZ")
@pytest.mark.parametrize("expression", dst_board.EXPRESSIONS)
def test_no_change_of_the_clocks_in_2026_makes_a_difference(expression):
    for change in dst_board.changes():
        for backwards in (False, True):
            case = dst_board.Case(change, expression, backwards)
            assert dst_board.answer("Kron", case) == dst_board.right(case), case


@pytest.mark.campaign
def test_the_board_in_the_documentation_is_what_the_script_writes():
    tzdata = pytest.importorskip("tzdata")
    if f"tz database {tzdata.IANA_VERSION}," not in dst_board.DOCUMENT.read_text(encoding="utf-8"):
        pytest.skip(f"the board was written with another tz database than {tzdata.IANA_VERSION}")
    if any(importlib.util.find_spec(peer) is None for peer in ("croniter", "cronsim", "apscheduler")):
        pytest.skip("the libraries to compare with are not installed")
    command = [sys.executable, "-m", "benchmarks.dst_board", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_oracle_itself_knows_a_gap_and_a_fold():
    spring, autumn = instant_of("2026-03-29T00:00:00Z"), instant_of("2026-10-25T00:00:00Z")
    assert occurrences("30 2 * * *", walk("Europe/Berlin", spring, spring + DAY)) == []
    twice = occurrences("30 2 * * *", walk("Europe/Berlin", autumn, autumn + DAY))
    assert [rfc3339(t) for t in twice] == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]


# The neighbours of an instant


@pytest.mark.req("KSPEC-PERIOD-NEXT")
def test_the_next_period_is_later_even_at_a_nominal_time():
    schedule = kron.parse("*/5 * * * *", dialect="kron")
    noon = instant_of("2026-03-01T12:00:00Z")
    assert next_nominal(schedule, noon - 1) == noon
    assert next_nominal(schedule, noon) == noon + 300
    assert next_nominal(schedule, noon + 299) == noon + 300


@pytest.mark.req("KSPEC-PERIOD-PREV")
def test_the_latest_period_may_be_now():
    schedule = kron.parse("*/5 * * * *", dialect="kron")
    noon = instant_of("2026-03-01T12:00:00Z")
    assert prev_nominal(schedule, noon) == noon
    assert prev_nominal(schedule, noon - 1) == noon - 300
    assert kron.last_period(schedule, at("2026-03-01T12:04:59.999999Z")) == Period(noon)


@pytest.mark.req("KSPEC-PERIOD-NEXT", "KSPEC-PERIOD-PREV")
@pytest.mark.parametrize("text", ["* * * * *", "0 0 29 2 *", "30 2 * * *", "15 9 1,15 * MON"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"])
def test_next_and_latest_undo_each_other(text, zone):
    schedule = kron.parse(text, dialect="kron", timezone=zone)
    for period in islice(kron.periods(schedule, at("2011-12-28T00:00:00Z")), 500):
        assert prev_nominal(schedule, period.nominal) == period.nominal
        before = prev_nominal(schedule, period.nominal - 1)
        assert next_nominal(schedule, before) == period.nominal


def test_a_schedule_that_names_no_day_has_no_periods():
    never = kron.parse("0 0 30 2 *", dialect="service")
    assert list(kron.periods(never, at("2026-01-01T00:00:00Z"))) == []
    assert kron.last_period(never, at("2026-01-01T00:00:00Z")) is None


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("1892-03-01", "1896"),
        ("1896-03-01", "1904"),
        ("2096-03-01", "2104"),
        ("2396-03-01", "2400"),
        ("2369-12-31", "2372"),
    ],
)
def test_a_leap_day_is_found_across_the_century_that_has_none(after, found):
    assert ids("0 0 29 2 *", f"{after}T00:00:00Z", 1) == [f"{found}-02-29T00:00:00Z"]
    schedule = kron.parse("0 0 29 2 *", dialect="kron")
    assert kron.last_period(schedule, at(f"{found}-02-28T00:00:00Z")).time < at(f"{after}T00:00:00Z")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_the_walk_ends_before_dates_do(zone):
    yearly = kron.parse("0 0 1 1 *", dialect="kron", timezone=zone)
    last = list(kron.periods(yearly, at("9690-06-01T00:00:00Z")))[-1]
    assert last.time.year == 9702
    assert next_nominal(yearly, last.nominal) is None
    assert kron.last_period(yearly, at("0323-06-01T00:00:00Z")).time.year == 323
    assert kron.last_period(yearly, at("0321-06-01T00:00:00Z")) is None


# What a period is


@pytest.mark.req("KSPEC-PERIOD-ID", "KSPEC-TERM-PERIOD")
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "Etc/GMT+12", "Etc/GMT-14"])
@pytest.mark.parametrize("text", ["0 0 1 1 *", "30 4 * * *", "* * * * *", "0 0 L * *", "30 4 * * * @dst(once)"])
def test_the_calendar_begins_at_one_instant_in_every_zone(text, zone):
    schedule = kron.parse(text, dialect="plus", timezone=zone)
    beginning = instant_of("0001-01-05T00:00:00Z")
    first = next_nominal(schedule, beginning)
    assert first >= EARLIEST
    assert first == next_nominal(schedule, EARLIEST - 1)
    assert (prev_nominal(schedule, first), prev_nominal(schedule, first - 1)) == (first, None)
    assert count_nominals(schedule, beginning, first) == 1


def test_the_id_of_a_period_is_its_nominal_time_as_rfc_3339_in_utc():
    assert ids("0 0 1 * *", "2026-02-14T00:00:00Z", 2) == ["2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"]
    assert ids("0 0 1 * * @tz(Asia/Kolkata)", "2026-02-14T00:00:00Z", 1) == ["2026-02-28T18:30:00Z"]


@pytest.mark.req("KSPEC-PERIOD-IDENTITY", "KSPEC-TERM-PERIOD")
def test_periods_are_the_same_exactly_if_their_nominal_times_are():
    daily, yearly = (kron.parse(text, dialect="kron") for text in ("0 0 * * *", "0 0 1 1 *"))
    after = at("2026-12-31T12:00:00Z")
    first, second = islice(kron.periods(daily, after), 2)
    assert first == next(kron.periods(yearly, after))
    assert hash(first) == hash(Period(first.nominal))
    assert first != second
    assert first < second


@pytest.mark.req("KSPEC-PERIOD-SAME", "KSPEC-TIME-UTC")
def test_one_instant_is_one_period_whatever_zone_shows_it():
    moment = at("2026-03-01T12:00:00+01:00")
    here = [moment, moment.astimezone(ZoneInfo("Asia/Tokyo")), moment.astimezone(timezone(-timedelta(hours=9)))]
    schedule = kron.parse("0 11 * * *", dialect="kron")
    assert {kron.last_period(schedule, time).id for time in here} == {"2026-03-01T11:00:00Z"}
    tokyo = kron.parse("0 20 * * * @tz(Asia/Tokyo)", dialect="kron")
    assert kron.last_period(tokyo, moment) == kron.last_period(schedule, moment)


@pytest.mark.req("KSPEC-TIME-UTC")
def test_a_moment_without_a_zone_is_refused():
    schedule = kron.parse("0 0 * * *", dialect="kron")
    naive = datetime(2026, 3, 1)  # noqa: DTZ001
    with pytest.raises(ValueError, match="has no zone"):
        next(kron.periods(schedule, naive))
    with pytest.raises(ValueError, match="has no zone"):
        kron.last_period(schedule, naive)


@pytest.mark.req("KSPEC-TIME-UTC", "KSPEC-PERIOD-SAME")
def test_the_two_times_of_a_fold_are_two_periods():
    found = ids("30 2 * * * @tz(Europe/Berlin)", "2026-10-24T12:00:00Z", 2)
    assert found == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
    berlin, schedule = ZoneInfo("Europe/Berlin"), kron.parse("30 2 * * *", dialect="kron", timezone="Europe/Berlin")
    between = [datetime(2026, 10, 25, 2, 45, fold=fold, tzinfo=berlin) for fold in (0, 1)]
    assert [kron.last_period(schedule, time).id for time in between] == found


@pytest.mark.req("KSPEC-TERM-NOMINAL")
def test_the_nominal_time_of_a_period_is_a_moment_in_utc():
    period = next(kron.periods(kron.parse("0 9 * * * @tz(Europe/Paris)", dialect="kron"), at("2026-07-01T00:00:00Z")))
    assert period.time == datetime(2026, 7, 1, 7, tzinfo=UTC)
    assert period.time.tzinfo is UTC
    assert datetime.fromtimestamp(period.nominal, UTC) == period.time


# Which days


@pytest.mark.req("DECL-CRON-TT-1", "DECL-CRON-OK-1", "KSYN-CRON-EX1")
@pytest.mark.parametrize("dialect", ["posix", "kron"])
def test_two_stars_are_every_day(dialect):
    found = ids("0 0 * * *", "2026-02-26T12:00:00Z", 4, dialect)
    assert found == [f"2026-{day}T00:00:00Z" for day in ("02-27", "02-28", "03-01", "03-02")]


@pytest.mark.req("DECL-CRON-TT-2")
def test_a_weekday_alone_is_every_such_day():
    found = ids("0 0 * * 1", "2026-02-26T12:00:00Z", 3, "posix")
    assert found == [f"2026-{day}T00:00:00Z" for day in ("03-02", "03-09", "03-16")]


@pytest.mark.req("DECL-CRON-TT-3")
def test_a_day_of_the_month_alone_is_that_day():
    found = ids("0 0 15 * *", "2026-02-26T12:00:00Z", 3, "posix")
    assert found == [f"2026-{day}T00:00:00Z" for day in ("03-15", "04-15", "05-15")]


@pytest.mark.req("DECL-CRON-OR", "DECL-CRON-TT-4")
def test_a_day_of_the_month_and_a_weekday_are_either_of_them():
    found = ids("0 0 1,15 * 1", "2026-02-26T12:00:00Z", 6, "posix")
    assert found == [f"2026-{day}T00:00:00Z" for day in ("03-01", "03-02", "03-09", "03-15", "03-16", "03-23")]


@pytest.mark.req("DECL-CRON-OR")
@pytest.mark.parametrize("days", ["*/1", "1-31"])
def test_a_day_field_is_unrestricted_only_if_it_is_written_as_a_star(days):
    found = ids(f"0 0 {days} * MON", "2026-02-26T12:00:00Z", 3)
    assert found == [f"2026-{day}T00:00:00Z" for day in ("02-27", "02-28", "03-01")]
    found = ids("0 0 13 * */1", "2026-02-26T12:00:00Z", 3)
    assert found == [f"2026-{day}T00:00:00Z" for day in ("02-27", "02-28", "03-01")]


def test_the_month_is_asked_for_either_way():
    found = ids("0 0 31 4,5 MON", "2026-04-25T00:00:00Z", 3)
    assert found == [f"2026-{day}T00:00:00Z" for day in ("04-27", "05-04", "05-11")]


# The examples of the specification


@pytest.mark.req("KSYN-CRON-EX2")
def test_quarter_past_nine_on_working_days():
    found = ids("15 9 * * MON-FRI", "2026-03-05T12:00:00Z", 3)
    assert found == [f"2026-{day}T09:15:00Z" for day in ("03-06", "03-09", "03-10")]


@pytest.mark.req("KSYN-CRON-EX3")
def test_every_five_minutes():
    found = ids("*/5 * * * *", "2026-03-05T23:52:30Z", 3)
    assert found == ["2026-03-05T23:55:00Z", "2026-03-06T00:00:00Z", "2026-03-06T00:05:00Z"]


@pytest.mark.req("KSYN-CRON-EX4")
def test_three_o_clock_on_the_first():
    found = ids("0 3 1 * *", "2026-03-05T00:00:00Z", 2)
    assert found == ["2026-04-01T03:00:00Z", "2026-05-01T03:00:00Z"]


@pytest.mark.req("DECL-CRON-OK-2")
def test_quarter_past_three_on_working_days():
    found = ids("15 3 * * 1-5", "2026-03-05T12:00:00Z", 3, "posix")
    assert found == [f"2026-{day}T03:15:00Z" for day in ("03-06", "03-09", "03-10")]


@pytest.mark.req("DECL-CRON-OK-3")
def test_every_half_hour():
    found = ids("0,30 * * * *", "2026-03-05T23:15:00Z", 3, "posix")
    assert found == ["2026-03-05T23:30:00Z", "2026-03-06T00:00:00Z", "2026-03-06T00:30:00Z"]


@pytest.mark.req("DECL-CRON-OK-4")
def test_noon_on_the_fourteenth_of_february():
    found = ids("0 12 14 2 *", "2026-03-05T00:00:00Z", 2, "posix")
    assert found == ["2027-02-14T12:00:00Z", "2028-02-14T12:00:00Z"]


@pytest.mark.req("KSYN-TZ-EX", "KSPEC-TIME-TZ")
@pytest.mark.parametrize(
    ("text", "winter", "summer"),
    [
        ("0 10 * * * @tz(Europe/Paris)", "2026-01-10T09:00:00Z", "2026-07-10T08:00:00Z"),
        ("0 18 * * * @tz(America/Los_Angeles)", "2026-01-11T02:00:00Z", "2026-07-11T01:00:00Z"),
    ],
)
def test_a_time_in_a_zone_is_another_instant_in_summer(text, winter, summer):
    assert ids(text, "2026-01-10T08:59:59Z", 1) == [winter]
    assert ids(text, "2026-07-10T07:59:59Z", 1) == [summer]


def test_the_seconds_of_six_fields_are_kept_across_minutes_hours_and_days():
    found = ids("10,50 59 23 31 12 *", "2026-12-31T23:59:10Z", 2, "service")
    assert found == ["2026-12-31T23:59:50Z", "2027-12-31T23:59:10Z"]
    assert ids("*/20 * * * * *", "2026-12-31T23:59:20Z", 2, "service") == [
        "2026-12-31T23:59:40Z",
        "2027-01-01T00:00:00Z",
    ]


# Famous gaps and folds


@pytest.mark.req("KSPEC-TIME-TZ")
@pytest.mark.parametrize(
    ("text", "zone", "after", "found"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-30T00:30:00Z"]),
        ("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["2026-03-09T06:30:00Z"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", ["2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"]),
        ("15 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", ["2026-04-04T14:15:00Z", "2026-04-05T14:45:00Z"]),
        ("0 0 * * *", "Africa/Cairo", "2026-04-22T23:00:00Z", ["2026-04-24T21:00:00Z"]),
        ("0 0 * * *", "Asia/Beirut", "2026-03-27T23:00:00Z", ["2026-03-29T21:00:00Z"]),
        ("0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", ["2026-03-09T04:00:00Z"]),
        ("0 12 30 12 *", "Pacific/Apia", "2010-12-31T12:00:00Z", ["2012-12-29T22:00:00Z"]),
        ("0 * * * *", "Africa/Monrovia", "1972-01-06T23:50:00Z", ["1972-01-07T01:00:00Z"]),
        ("0 0 * * *", "Africa/Monrovia", "1972-01-05T12:00:00Z", ["1972-01-06T00:44:30Z", "1972-01-08T00:00:00Z"]),
    ],
)
def test_a_famous_gap_or_fold(text, zone, after, found):
    assert ids(text, after, len(found), zone=zone) == found
