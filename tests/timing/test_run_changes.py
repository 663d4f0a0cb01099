"""Runs of a schedule in two tz databases: what moves, what is lost, what is added."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.timing.decision import decide
from kron.timing.period import Period, nominals
from kron.timing.run_changes import Change, RunChange, run_changes
from kron.timing.zone import DAY, instant_of, rfc3339, zone_in
from tests.timing.test_zone_changes import NEW, OLD

START, END = instant_of("2026-10-20T00:00:00Z"), instant_of("2027-04-20T00:00:00Z")


def zones(name):
    return zone_in(OLD, name), zone_in(NEW, name)


def changes(text, name, start=START, end=END):
    return run_changes(parse(text, dialect="kron"), "job", zones(name), start, end)


def written(found):
    return [(str(c.kind), *(None if t is None else rfc3339(t) for t in c)) for c in found]


def runs(text, zone, start, end):
    """Every chosen time, one decision after the other."""
    schedule = replace(parse(text, dialect="kron"), zone=zone)
    margin = 10 * DAY
    times = (decide(schedule, Period(t), "job").chosen for t in nominals(schedule, start - margin, end + margin))
    return Counter(t for t in times if t is not None)


def test_daily_run_moves_by_the_hour():
    found = changes("0 9 * * *", "America/Vancouver")
    assert {c.kind for c in found} == {Change.MOVED}
    assert written(found)[0] == ("moved", "2026-11-01T17:00:00Z", "2026-11-01T16:00:00Z")
    assert written(found)[-1] == ("moved", "2027-03-13T17:00:00Z", "2027-03-13T16:00:00Z")
    assert len(found) == 133


def test_run_that_happens_at_the_same_instants_is_unchanged():
    assert changes("* * * * *", "America/Vancouver") == []
    assert changes("0 * * * * @win(after,30m)", "America/Vancouver") == []


def test_run_in_a_repeated_hour_that_is_gone_is_lost():
    found = changes("30 1 * * *", "America/Vancouver", end=instant_of("2026-11-02T00:00:00Z"))
    assert written(found) == [("lost", "2026-11-01T09:30:00Z", None)]


def test_run_in_a_skipped_hour_that_exists_again_is_added():
    found = changes("30 2 * * *", "America/Vancouver", start=instant_of("2027-03-14T00:00:00Z"))
    assert written(found) == [("added", None, "2027-03-14T09:30:00Z")]


def test_zone_that_does_not_differ_has_no_changes():
    assert changes("0 9 * * *", "Europe/Berlin") == []
    assert changes("0 9 * * *", "UTC") == []


def test_run_that_moves_over_the_end_is_not_lost():
    end = instant_of("2026-11-20T16:30:00Z")  # between its new and its old time
    assert written(changes("0 9 * * *", "America/Vancouver", end=end))[-1][0] == "moved"


def test_the_time_of_a_change_is_the_earlier_one():
    assert [RunChange(*times).at for times in ((1, 2), (2, 1), (None, 1), (1, None))] == [1, 1, 1, 1]


TEXTS = ["0 9 * * *", "30 1 * * *", "30 2 * * *", "*/30 9-17 * * MON-FRI", "0 0 1 * *", "15 */6 * * *", "0 1,2,3 * * *"]
REST = [
    "",
    "@win(after,3h)",
    "@win(around,90m) @seed(daily)",
    "@win(after,26h) @seed(weekly)",
    "@win(around,2h) @only(hours=9-10)",
    "@avoid(between=01:00-03:00)",
    "@win(after,6h) @avoid(dow=SUN;hours=2)",
]
NAMES = ["America/Vancouver", "Africa/Casablanca", "America/Havana", "Europe/Chisinau", "America/Inuvik"]


@settings(deadline=None, max_examples=60)
@given(*map(st.sampled_from, (TEXTS, REST, NAMES)), st.integers(0, 400))
def test_changes_turn_the_old_runs_into_the_new_ones(text, rest, name, day):
    start = START + day * DAY
    end = start + 60 * DAY
    whole = f"{text} {rest}".strip()
    expected_old, expected_new = (runs(whole, zone, start, end) for zone in zones(name))
    found = run_changes(parse(whole, dialect="kron"), "job", zones(name), start - 2 * DAY, end + 2 * DAY)
    before = Counter(c.before for c in found if c.before is not None)
    after = Counter(c.after for c in found if c.after is not None)
    for t in {*expected_old, *expected_new, *before, *after}:
        if start <= t < end:
            assert expected_old[t] - before[t] + after[t] == expected_new[t], rfc3339(t)


@pytest.mark.parametrize("text", ["0 9 * * *", "0 9 * * * @win(around,2h) @only(hours=9-10)"])
def test_changes_are_in_the_order_of_their_times(text):
    found = changes(text, "America/Vancouver")
    assert found == sorted(found, key=lambda c: c.at)
    assert all(START <= c.at < END for c in found)
