"""Upcoming runs without stored state: leaps over closed periods, their number, and the bound that ends a search."""

import random
from itertools import islice

import pytest

from kron import parse
from kron.timing.decision import decide
from kron.timing.openings import search_periods, written_clauses
from kron.timing.period import nominals, periods
from kron.timing.upcoming import time_of
from kron.timing.upcoming_runs import Bound, upcoming_runs
from kron.timing.zone import EARLIEST, LATEST, instant_of, moment, rfc3339

MONDAY = instant_of("2026-06-01T00:00:00Z")
DAY = 86_400


def kron(text):
    return parse(text, dialect="kron")


@pytest.mark.parametrize(
    ("text", "first", "closed"),
    [
        ("* * * * * @only(dow=SUN)", "2026-06-07T00:00:00Z", 6 * 1440 - 1),
        ("0 * * * * @only(date=2026-12-25)", "2026-12-25T00:00:00Z", 207 * 24 - 1),
        ("0 10 * * * @only(date=2026-12-25)", "2026-12-25T10:00:00Z", 207),
        ("* * * * * @only(date=2120-02-01)", "2120-02-01T00:00:00Z", 34212 * 1440 - 1),
        ("0 0 * * * @win(after,2h) @only(months=8;hours=0-1)", "2026-08-01T01:04:08Z", 60),
    ],
)
def test_upcoming_runs_leap_over_closed_periods(text, first, closed):
    search = upcoming_runs(kron(text), "a", MONDAY, 1)
    assert search.end is None
    assert rfc3339(search.runs[0].decision.chosen) == first
    assert search.runs[0].unschedulable.periods == closed


CLAUSES = ["dow=SUN", "dow=MON,THU;hours=3-5", "between=22:30-02:10;dow=SAT", "dom=9,17", "hours=1;dow=WED", "hours=2"]


@pytest.mark.parametrize("seed", range(20))
def test_upcoming_runs_equal_a_walk_over_every_period(seed):
    dice = random.Random(seed)
    zone = dice.choice(["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"])
    window = dice.choice(["", "@win(after,3h)", "@win(around,9h)", "@win(around,3001ms)", "@win(after,7m)"])
    kind = dice.choice(["only", "avoid"])
    line = f"{dice.choice(['0', '*/20', '7,41'])} */{dice.choice([1, 2, 3])} * * *"
    schedule = kron(f"{line} @tz({zone}) {window} @{kind}({dice.choice(CLAUSES)})")
    after = instant_of(dice.choice(["2026-03-25T00:00:00Z", "2026-10-22T11:30:05Z", "2026-09-30T15:00:00Z"]))
    walk = islice(periods(schedule, moment(after - 30 * 3_600)), 2_500)
    decisions = sorted(
        (d for d in (decide(schedule, period, "a") for period in walk) if time_of(d) > after), key=time_of
    )
    expected, closed = [], 0
    for decision in decisions:
        if decision.chosen is None:
            closed += 1
        else:
            expected.append((decision, closed))
            closed = 0
    search = upcoming_runs(schedule, "a", after, 10)
    assert search.end is None
    assert [(run.decision, run.unschedulable.periods) for run in search.runs] == expected[:10]


@pytest.mark.parametrize("seed", range(10))
def test_search_steps_cover_every_period_once(seed):
    dice = random.Random(seed)
    schedule = kron(f"*/{dice.choice([7, 20])} * * * * @tz(Europe/Paris) @only({dice.choice(CLAUSES)})")
    end, covered = MONDAY + 60 * DAY, []
    for step in search_periods(schedule, MONDAY):
        if step.nominal > end:
            break
        until = step.nominal if step.closed_until is None else step.closed_until
        covered += nominals(schedule, step.nominal - 1, until)
    assert [n for n in covered if n <= end] == list(nominals(schedule, MONDAY, end))


def test_clauses_of_the_unschedulable_periods_are_named():
    (run,) = upcoming_runs(kron("0 10 * * * @only(date=2026-12-25)"), "a", MONDAY, 1).runs
    assert run.unschedulable.clauses == ("only dates",)
    schedule = kron("0 9 * * * @only(hours=8-18;dow=MON-FRI) @avoid(date=2026-12-25)")
    assert written_clauses(schedule.constraints) == ("only hours", "only dow", "avoid dates")


def test_search_ends_where_the_constraints_close_100_years():
    search = upcoming_runs(kron("0 * * * * @only(date=2026-06-01)"), "a", MONDAY + 20 * 3_600, 5)
    assert [rfc3339(run.decision.chosen)[11:13] for run in search.runs] == ["21", "22", "23"]
    assert search.end.bound is Bound.CONSTRAINTS
    assert rfc3339(search.end.upto).startswith("2126-")
    assert search.end.unschedulable.periods == (search.end.upto - MONDAY) // 3_600 - 23


def test_search_with_a_window_of_292_years_finds_a_date_in_it():
    """The window of the first period begins 146 years before its first allowed second."""
    search = upcoming_runs(kron("0 0 1 1 * @win(around,2562047h) @only(dates=2020-01-01..2060-01-01)"), "a", MONDAY, 1)
    assert "2026-06-01" < rfc3339(search.runs[0].decision.chosen) < "2060-01-02"


def test_search_ends_after_the_periods_that_it_decides():
    """Openings and periods never meet, and no stretch is closed for 100 years."""
    search = upcoming_runs(kron("30 12 * * * @only(between=12:00-12:10)"), "a", MONDAY, 1, 500)
    assert (search.runs, search.end.bound) == ([], Bound.PERIODS)
    assert search.end.upto == MONDAY + 500 * DAY + 12 * 3_600 + 1_799
    assert search.end.unschedulable.periods == 500


def test_search_ends_when_the_caller_has_enough():
    answers = iter([False] * 7 + [True])
    search = upcoming_runs(kron("0 12 * * *"), "a", MONDAY, 100, enough=lambda: next(answers))
    assert [run.decision.chosen for run in search.runs] == [MONDAY + DAY * n + DAY // 2 for n in range(7)]
    assert (search.end.bound, search.end.upto) == (Bound.CALLER, MONDAY + 7 * DAY + DAY // 2 - 1)


def test_windows_that_overlap_beyond_the_limit_give_no_run():
    """The first 20,000 periods do not tell which run is next."""
    search = upcoming_runs(kron("0 0 * * * @win(around,2562047h)"), "a", MONDAY, 3)
    assert (search.runs, search.end.bound) == ([], Bound.PERIODS)
    assert search.end.upto < MONDAY


def test_search_ends_with_the_calendar_and_with_days_that_never_come():
    search = upcoming_runs(kron("0 0 1 1 *"), "a", instant_of("9998-01-01T00:00:00Z"), 3)
    assert (search.runs, search.end.bound, search.end.upto) == ([], Bound.CALENDAR, LATEST)
    search = upcoming_runs(parse("0 0 30 2 *", dialect="posix"), "a", MONDAY, 3)
    assert (search.runs, search.end.bound) == ([], Bound.NO_DAY)


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT-5", "Europe/Paris"])
def test_no_period_precedes_the_earliest_instant(zone):
    search = upcoming_runs(
        kron(f"0 0 1 1 * @tz({zone}) @win(around,2000h)"), "a", instant_of("0001-01-01T00:00:00Z"), 1
    )
    (run,) = search.runs
    assert EARLIEST <= run.decision.period.nominal < EARLIEST + 366 * DAY
