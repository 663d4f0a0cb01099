"""The calendar against `datetime.date`, over one whole cycle of it and around its edges."""

from datetime import date, timedelta

import pytest

from kron.timing.calendar import CYCLE_DAYS, Date, date_of, day_of, iso_week, weekday_of

EPOCH = date(1970, 1, 1)


def test_every_day_of_400_years_has_the_date_weekday_and_week_that_python_gives_it():
    for day in range(CYCLE_DAYS):
        expected = EPOCH + timedelta(days=day)
        found = date_of(day)
        assert found == (expected.year, expected.month, expected.day)
        assert day_of(found) == day
        assert weekday_of(day) == expected.isoweekday() % 7
        year, week, _ = expected.isocalendar()
        assert iso_week(day) == f"{year}-W{week:02d}"


@pytest.mark.parametrize("year", [1, 400, 1582, 1899, 1900, 1969, 2369, 2370, 2400, 2769, 2770, 9999])
def test_the_calendar_goes_on_in_both_directions(year):
    for month, day in ((1, 1), (2, 28), (3, 1), (12, 31)):
        expected = date(year, month, day)
        number = (expected - EPOCH).days
        assert date_of(number) == (year, month, day)
        assert day_of(Date(year, month, day)) == number
        assert weekday_of(number) == expected.isoweekday() % 7


def test_a_cycle_later_the_same_day_has_the_same_weekday():
    assert weekday_of(12_345) == weekday_of(12_345 + CYCLE_DAYS)
    assert date_of(12_345 + CYCLE_DAYS) == date_of(12_345)._replace(year=date_of(12_345).year + 400)


@pytest.mark.parametrize(
    ("year", "month", "day"),
    [
        (2026, 2, 29),
        (2100, 2, 29),
        (2024, 2, 30),
        (2026, 4, 31),
        (2026, 0, 1),
        (2026, 13, 1),
        (2026, 1, 0),
        (2026, 1, 32),
    ],
)
def test_a_date_that_the_calendar_lacks_has_no_day(year, month, day):
    assert day_of(Date(year, month, day)) is None


def test_a_year_divisible_by_400_has_a_29th_of_february():
    assert day_of(Date(2000, 2, 29)) == 11_016
    assert day_of(Date(2400, 2, 29)) == 11_016 + CYCLE_DAYS


@pytest.mark.parametrize(
    ("day", "week"),
    [("2026-12-31", "2026-W53"), ("2027-01-01", "2026-W53"), ("2027-01-04", "2027-W01"), ("2024-12-30", "2025-W01")],
)
def test_a_week_belongs_to_the_year_that_holds_its_thursday(day, week):
    assert iso_week((date.fromisoformat(day) - EPOCH).days) == week


def test_a_date_is_written_as_iso_8601_writes_it():
    assert date_of(0).text == "1970-01-01"
    assert Date(987, 6, 5).text == "0987-06-05"
