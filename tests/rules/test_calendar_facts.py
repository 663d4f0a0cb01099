"""Calendar facts: rare schedules, local hours and clock changes, against walks over all runs and minutes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.rules.calendar_facts import (
    CLOCK_CHANGE_DAYS,
    MAX_RUNS_OF_DAY,
    MAX_ZONES,
    RARE_DAYS,
    CalendarTable,
    RareDay,
    RareRun,
    ZoneHours,
    fixed_hours,
    next_clock_change,
    rare_runs,
)
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE
from kron.timing.zone import DAY, instant_of, zone

NOW = instant_of("2026-10-22T08:42:17Z")


def a_state(text, identity="a", now=NOW):
    schedule = replace(parse(text, dialect="kron"), policy=SERVICE)
    return ScheduleState(Job(identity, schedule, target="test:it"), 1, now, now * 1000)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("0 4 1 * *", ["2026-11-01T04:00:00Z", "2026-12-01T04:00:00Z"]),
        ("0 6 25 * * @tz(Europe/Berlin)", ["2026-10-25T05:00:00Z", "2026-11-25T05:00:00Z"]),
        ("0 0 24 12 *", []),
        ("0 0 1 12 *", ["2026-12-01T00:00:00Z"]),
        ("0 0 1,15 * *", []),
        ("0 0 * * MON", []),
        ("0 0 * * *", []),
        ("* * * * *", []),
    ],
)
def test_rare_runs_are_those_of_schedules_that_run_at_most_monthly(text, runs):
    assert rare_runs(a_state(text), NOW * 1000) == [RareRun(instant_of(run) * 1000, "a") for run in runs]


DAYS = st.sampled_from(["*", "1", "28", "1,15", "1-3"])
MONTHS = st.sampled_from(["*", "2", "*/3", "11", "1,12"])
WEEKDAYS = st.sampled_from(["*", "MON", "1-5"])
WINDOWS = st.sampled_from(["", " @win(after,5h)", " @win(around,40h)"])


@settings(deadline=None, max_examples=60)
@given(DAYS, MONTHS, WEEKDAYS, WINDOWS, st.integers(0, 900))
def test_rare_runs_are_all_runs_of_the_coming_days_or_none(day, month, weekday, window, days):
    now = NOW + days * DAY
    state = a_state(f"0 3 {day} {month} {weekday} @tz(Europe/Paris){window}", now=now)
    last = (now + RARE_DAYS * DAY) * 1000
    dues = [due for due in upcoming(state, now * 1000, 70) if due.at <= last]
    at_nominal = upcoming(a_state(f"0 3 {day} {month} {weekday} @tz(Europe/Paris)", now=now), now * 1000, 70)
    is_rare = sum(due.nominal <= now + RARE_DAYS * DAY for due in at_nominal) <= 2
    assert rare_runs(state, now * 1000) == ([RareRun(due.at, "a") for due in dues][:2] if is_rare else [])


def test_only_schedules_with_local_hours_have_fixed_ones():
    assert fixed_hours(parse("0 2,9 * * * @tz(Europe/Paris)", dialect="kron")) == 1 << 2 | 1 << 9
    for text in ("0 2 * * *", "0 * * * * @tz(Europe/Paris)", "0 2 * * * @tz(UTC)"):
        assert fixed_hours(parse(text, dialect="kron")) == 0, text


@pytest.mark.parametrize(
    ("name", "now", "at", "shift", "hours"),
    [
        ("Europe/Paris", "2026-10-22T00:00:00Z", "2026-10-25T01:00:00Z", -3600, {2}),
        ("Europe/Paris", "2026-03-01T00:00:00Z", "2026-03-29T01:00:00Z", 3600, {2}),
        ("Australia/Lord_Howe", "2026-09-20T00:00:00Z", "2026-10-03T15:30:00Z", 1800, {2}),
        ("Australia/Lord_Howe", "2026-03-20T00:00:00Z", "2026-04-04T15:00:00Z", -1800, {1}),
        ("America/New_York", "2026-10-22T00:00:00Z", "2026-11-01T06:00:00Z", -3600, {1}),
    ],
)
def test_clock_change_counts_schedules_by_hour(name, now, at, shift, hours):
    counts = tuple(1 << hour for hour in range(24))
    change = next_clock_change(ZoneHours(name, 1 << 30, counts), zone(name), instant_of(now))
    assert (change.zone, change.at, change.shift) == (name, instant_of(at), shift)
    assert (change.schedules, change.inside) == (1 << 30, sum(counts[hour] for hour in hours))


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"]), st.integers(0, 800))
def test_clock_change_is_the_first_hour_with_another_offset(name, days):
    where, now = zone(name), NOW + days * DAY
    hours = range(now - now % 1800 + 1800, now + CLOCK_CHANGE_DAYS * DAY, 1800)
    expected = next((at for at in hours if where.wall(at).offset != where.wall(at - 1).offset), None)
    change = next_clock_change(ZoneHours(name, 1, (0,) * 24), where, now)
    assert (change and change.at) == expected


@given(st.lists(st.tuples(st.integers(0, 3 * DAY), st.text("ab", max_size=3)), max_size=60))
def test_table_keeps_the_earliest_runs_of_each_day_and_counts_all(runs):
    table, listed = CalendarTable(), [RareRun(at * 1000, identity) for at, identity in runs]
    for run in listed:
        table.add("UTC", 0, [run])
    days = sorted({run.at // 86_400_000 for run in listed})
    by_day = {day: sorted(run for run in listed if run.at // 86_400_000 == day) for day in days}
    expected = tuple(RareDay(day, len(by_day[day]), tuple(by_day[day][:MAX_RUNS_OF_DAY])) for day in days)
    assert table.facts(7) == ((), expected, 7)


def test_table_tells_a_bounded_number_of_zones_apart():
    table = CalendarTable()
    for number in range(MAX_ZONES + 5):
        table.add(f"Z{number:03}", 0b101, [])
        table.add("Z000", 0b100, [])
    zones = table.facts(0).zones
    assert len(zones) == MAX_ZONES
    assert zones[0] == ("Z000", MAX_ZONES + 6, (1, 0, MAX_ZONES + 6, *(0,) * 21))
    table.add("UTC", 0, [RareRun(1, "x" * 201)])
    assert table.facts(0).days == (RareDay(0, 1, ()),), "counted without its name"
