"""Upcoming decisions of a schedule without stored state, and the minimum interval of its periods."""

from bisect import insort
from itertools import islice

import pytest

from kron import parse
from kron.timing.decision import decide
from kron.timing.period import next_nominal, nominals, periods
from kron.timing.upcoming import minimum_interval, time_of, upcoming_decisions
from kron.timing.zone import instant_of, moment

MARCH = instant_of("2026-03-01T00:00:00Z")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Australia/Lord_Howe"])
@pytest.mark.parametrize("window", ["", "@win(after,3h)", "@win(around,5h)", "@win(around,3001ms)", "@win(after,26h)"])
@pytest.mark.parametrize("constraint", ["", "@only(hours=2-20)", "@avoid(between=00:10-23:50)"])
def test_upcoming_decisions_equal_a_sorted_walk(zone, window, constraint):
    schedule = parse(f"*/20 * * * * @tz({zone}) {window} {constraint}", dialect="kron")
    for after in (MARCH, MARCH + 1_199, instant_of("2026-03-29T00:59:59Z")):
        walk = islice(periods(schedule, moment(after - 30 * 3_600)), 600)
        decisions = [d for d in (decide(schedule, period, "a") for period in walk) if time_of(d) > after]
        decisions.sort(key=time_of)
        assert list(islice(upcoming_decisions(schedule, "a", after), 40)) == decisions[:40]


def test_upcoming_decisions_end_at_their_limit():
    """Decisions that the first period beyond the limit can precede are left out."""
    schedule = parse("*/5 * * * * @win(around,2h)", dialect="kron")
    expected = []
    *within, beyond = islice(nominals(schedule, MARCH - 3_601), 51)
    for nominal in within:
        decision = decide(schedule, next(periods(schedule, moment(nominal - 1))), "a")
        if MARCH < time_of(decision) <= beyond - 3_600:
            insort(expected, decision, key=time_of)
    assert len(expected) > 20
    assert list(upcoming_decisions(schedule, "a", MARCH, 50)) == expected
    assert list(upcoming_decisions(parse("0 0 30 2 *", dialect="posix"), "a", MARCH)) == []


def test_nominals_are_those_of_the_range():
    schedule = parse("0 9 * * *", dialect="posix")
    day = 86_400
    nine = MARCH + 9 * 3_600
    assert list(nominals(schedule, nine, nine + 2 * day)) == [nine + day, nine + 2 * day]
    assert list(nominals(schedule, nine - 1, nine)) == [nine]
    assert list(nominals(schedule, nine, nine)) == []
    assert next(nominals(schedule, nine)) == next_nominal(schedule, nine)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("*/7 * * * *", 240), ("0 9 * * *", 86_400), ("0 0 1 1 *", 365 * 86_400), ("0 0 30 2 *", 0), ("0 0 29 2 *", None)],
)
def test_minimum_interval(text, seconds):
    assert minimum_interval(parse(text, dialect="service"), MARCH) == seconds
