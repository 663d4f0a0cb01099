"""Celery schedules as Kron texts: Celery itself is the oracle."""

import copy
from datetime import UTC, datetime, timedelta

import celery
import pytest
from celery import Celery
from celery.schedules import crontab, schedule, solar
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import InvalidSchedule, parse
from kron.integrations.celery.schedule_text import schedule_text
from kron.timing.period import next_nominal

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def app_in(zone):
    app = Celery("zone", set_as_current=False)
    app.conf.timezone = zone
    return app


APPS = {zone: app_in(zone) for zone in ("UTC", "Europe/Paris", "Asia/Kolkata")}


def times_of_celery(entry, start, count, zone="UTC"):
    """The next times of a crontab, as beat would find them one after the other."""
    entry, last, times = copy.copy(entry), start, []
    entry.app = APPS[zone]
    for _ in range(count):
        last = last.astimezone(entry.app.timezone)
        entry.nowfun = lambda last=last: last
        last = last.astimezone(UTC) + entry.remaining_estimate(last)
        times.append(last)
    return times


def times_of_kron(entry, start, count, zone="UTC"):
    text = schedule_text(entry, "entry", zone)
    schedule, last, times = parse(text, dialect="plus", timezone=zone), int(start.timestamp()), []
    for _ in range(count):
        last = next_nominal(schedule, last)
        times.append(datetime.fromtimestamp(last, UTC))
    return times


def fields(first, last):
    return st.one_of(st.just("*"), st.sets(st.integers(first, last), min_size=1, max_size=5))


@settings(max_examples=60, deadline=None)
@given(
    minute=fields(0, 59),
    hour=fields(0, 23),
    day_of_week=fields(0, 6),
    day_of_month=fields(1, 28),
    month_of_year=fields(1, 12),
    start=st.integers(0, 2 * 366 * 1440).map(lambda minutes: DAY + timedelta(minutes=minutes)),
)
def test_crontab_has_the_periods_of_celery(start, **values):
    entry = crontab(**values)
    assert times_of_kron(entry, start, 4) == times_of_celery(entry, start, 4)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "* * * * *"),
        ({"minute": 0, "hour": "*/3,1-5"}, "0 0,1,2,3,4,5,6,9,12,15,18,21 * * *"),
        ({"minute": "0", "hour": "9", "day_of_week": "mon-fri"}, "0 9 * * 1,2,3,4,5"),
        ({"minute": 0, "hour": 0, "day_of_week": "sat-mon"}, "0 0 * * 0,1,6"),
        ({"minute": 0, "hour": 0, "month_of_year": "1-12/2"}, "0 0 * 1,3,5,7,9,11 *"),
        ({"minute": 0, "hour": 0, "day_of_month": 13, "day_of_week": "fri"}, "0 0 13 * 5 @days(match=both)"),
        ({"minute": 0, "hour": 0, "day_of_month": "1-31", "day_of_week": "0-6"}, "0 0 * * *"),
    ],
)
def test_crontab_text_lists_the_parsed_values(values, text):
    assert schedule_text(crontab(**values), "entry", "UTC") == text


@pytest.mark.skipif(celery.VERSION[:2] < (5, 7), reason="older versions estimate an hour too much or too little")
@pytest.mark.parametrize("start", ["2026-03-27T12:00:00+00:00", "2026-10-23T12:00:00+00:00"])
@pytest.mark.parametrize("values", [{"minute": 30, "hour": 2}, {"minute": 0, "hour": [1, 4, 23]}])
def test_crontab_follows_celery_through_clock_changes(values, start):
    entry, start = crontab(**values), datetime.fromisoformat(start)
    expected = times_of_celery(entry, start, 8, "Europe/Paris")
    assert times_of_kron(entry, start, 8, "Europe/Paris") == expected


def test_crontab_without_hours_runs_in_a_repeated_hour():
    """Celery is silent for an hour there."""
    start = datetime(2026, 10, 24, 23, 50, tzinfo=UTC)
    assert [time.hour for time in times_of_kron(crontab(minute=0), start, 4, "Europe/Paris")] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (schedule(30), "every 30s from 1970-01-01T00:00Z"),
        (schedule(30.0), "every 30s from 1970-01-01T00:00Z"),
        (schedule(timedelta(days=2, seconds=1)), "every 172801s from 1970-01-01T00:00Z"),
        (schedule(timedelta(hours=2), relative=True), "every 7200s from 1970-01-01T00:00"),
        (schedule(timedelta(seconds=7), relative=True), "every 7s from 1970-01-01T00:00"),
        (schedule(timedelta(days=2), relative=True), "0 0 * * * @days(every=2d,from=1970-01-01) @dst(once)"),
    ],
)
def test_interval_text_has_a_fixed_anchor(interval, text):
    assert schedule_text(interval, "entry", "Europe/Paris") == text
    assert parse(text, dialect="plus", timezone="Europe/Paris")


def test_relative_interval_runs_at_full_hours_of_the_local_time():
    interval, start = schedule(timedelta(hours=2), relative=True), DAY
    times = times_of_kron(interval, start, 3, "Asia/Kolkata")
    assert [time.astimezone(APPS["Asia/Kolkata"].timezone).minute for time in times] == [0, 0, 0]
    assert times[1] - times[0] == timedelta(hours=2)


class OwnCrontab(crontab):
    """A schedule that decides by itself."""


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (solar.__new__(solar), "BAD_SCHEDULE"),  # without ephem, which its constructor needs
        (OwnCrontab(), "BAD_SCHEDULE"),
        ("0 9 * * *", "BAD_SCHEDULE"),
        (crontab(nowfun=lambda: DAY), "BAD_SCHEDULE"),
        (schedule(0.5), "BAD_DURATION"),
        (schedule(2.5), "BAD_DURATION"),
        (schedule(0), "BAD_DURATION"),
        (schedule(timedelta(minutes=90), relative=True), "BAD_DURATION"),
    ],
)
def test_schedule_without_equivalent_is_refused_by_name(refused, code):
    with pytest.raises(InvalidSchedule, match="nightly") as caught:
        schedule_text(refused, "nightly", "UTC")
    assert caught.value.code == code
    assert caught.value.hint
