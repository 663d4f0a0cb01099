"""Local days against a slow oracle that looks at a clock every minute."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.timing.clock_change import fold_pass
from kron.timing.local_day import day_bounds, day_start
from kron.timing.zone import zone

EPOCH = date(1970, 1, 1)
ODD = [  # a zone, a day near a change of its clocks, and what is odd about it
    ("Australia/Lord_Howe", date(2026, 10, 4)),  # half an hour forward
    ("Australia/Lord_Howe", date(2026, 4, 5)),  # half an hour back
    ("Pacific/Apia", date(2011, 12, 30)),  # a day that was left out
    ("Pacific/Kwajalein", date(1993, 8, 21)),  # another one
    ("Asia/Kathmandu", date(2026, 10, 22)),  # 5 hours and 45 minutes ahead of UTC
    ("Europe/Paris", date(2026, 10, 25)),
    ("America/St_Johns", date(2010, 11, 7)),  # back over midnight: 00:01 to 23:01 of the day before
    ("America/Havana", date(2026, 3, 8)),  # a day without midnight
    ("America/Sao_Paulo", date(2018, 11, 4)),  # another one
    ("Antarctica/Troll", date(2026, 3, 29)),  # two hours forward
]


def oracle(name, first, last):
    """Return when each date is shown first, or a later one, by a look at the clock every minute."""
    info, found = ZoneInfo(name), {}
    t = datetime(first.year, first.month, first.day, tzinfo=UTC) - timedelta(days=2)
    wanted = first
    while wanted <= last:
        while wanted <= last and t.astimezone(info).date() >= wanted:
            found[wanted] = int(t.timestamp())
            wanted += timedelta(days=1)
        t += timedelta(minutes=1)
    return found


@pytest.mark.parametrize(("name", "day"), ODD)
def test_days_begin_when_a_clock_shows_them(name, day):
    first, last = day - timedelta(days=2), day + timedelta(days=3)
    for each, start in oracle(name, first, last).items():
        assert day_start(zone(name), (each - EPOCH).days) == start


@pytest.mark.parametrize(
    ("name", "day", "minutes"),
    [
        ("Australia/Lord_Howe", date(2026, 10, 4), 23 * 60 + 30),
        ("Australia/Lord_Howe", date(2026, 4, 5), 24 * 60 + 30),
        ("Pacific/Apia", date(2011, 12, 30), 0),
        ("Europe/Paris", date(2026, 10, 25), 25 * 60),
        ("Europe/Paris", date(2027, 3, 28), 23 * 60),
        ("Asia/Kathmandu", date(2026, 10, 25), 24 * 60),
    ],
)
def test_days_have_their_lengths(name, day, minutes):
    start, end = day_bounds(zone(name), [(day - EPOCH).days])
    assert end - start == minutes * 60


@given(st.sampled_from(sorted({name for name, _ in ODD})), st.integers(0, 30_000))
def test_days_follow_one_another_without_a_gap(name, day):
    bounds = day_bounds(zone(name), range(day, day + 40))
    assert bounds == sorted(bounds)
    for number, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            assert zone(name).wall(start).day == day + number
            assert zone(name).wall(end - 1).day in (day + number, day + number - 1)


@given(st.sampled_from(sorted({name for name, _ in ODD})), st.integers(1_000_000_000, 2_000_000_000))
def test_pass_of_a_fold_is_that_of_the_clock(name, t):
    """Oracle: the fold of `datetime`, and whether the other pass shows the same time."""
    local = datetime.fromtimestamp(t, ZoneInfo(name))
    other = local.replace(fold=1 - local.fold)
    is_fold = other.astimezone(UTC) != local.astimezone(UTC)
    assert fold_pass(zone(name), t) == (local.fold + 1 if is_fold else 0)


@pytest.mark.parametrize(("t", "expected"), [(1_792_888_200, 1), (1_792_891_800, 2), (1_792_895_400, 0)])
def test_both_passes_of_an_hour_are_told_apart(t, expected):
    """02:30 in Paris on 2026-10-25, twice, and 03:30."""
    assert fold_pass(zone("Europe/Paris"), t) == expected
