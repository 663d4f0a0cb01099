"""Rules for clock changes against an oracle that reads every wall-clock time with `zoneinfo`, then named cases."""

from random import Random

import pytest
from benchmarks import campaign, dst_board

import kron
from kron.language.reading import read_stored
from kron.timing.period import count_nominals, next_nominal, prev_nominal
from kron.timing.recurrence import stands_for
from kron.timing.zone import instant_of, rfc3339
from tests import plus_oracle
from tests.seeds import seeds

DAY = 86_400
RULES = [f"gap={gap},fold={fold}" for gap, fold in plus_oracle.POLICIES]


def read(text: str, zone: str) -> kron.Schedule:
    return read_stored(text, "plus", zone)  # a store also accepts moments that the clocks skip or repeat


def times_between(schedule: kron.Schedule, start: int, end: int) -> list[int]:
    """The nominal times with `start <= t < end`, which are the same forwards, backwards and counted."""
    forwards, t = [], start - 1
    while (t := next_nominal(schedule, t)) is not None and t < end:
        forwards.append(t)
    backwards, t = [], end - 1
    while (t := prev_nominal(schedule, t)) is not None and t >= start:
        backwards.append(t)
        t -= 1
    assert backwards[::-1] == forwards
    assert count_nominals(schedule, start - 1, end - 1) == len(forwards)
    return forwards


def assert_equals_oracle(text: str, zone: str, start: int, end: int) -> None:
    expected = plus_oracle.instants(text, zone, start, end)
    assert times_between(read(text, zone), start, end) == expected, (text, zone, start, end)


def ids(text: str, zone: str, start: str, end: str) -> list[str]:
    return [rfc3339(t) for t in times_between(read(text, zone), instant_of(start), instant_of(end))]


@pytest.mark.parametrize("expression", dst_board.EXPRESSIONS)
def test_nine_rules_at_every_change_of_2026_equal_the_oracle(expression):
    for change in dst_board.changes():
        for rule in RULES:
            text = f"{expression} @dst({rule})"
            assert_equals_oracle(text, change.zone, change.at - 2 * DAY, change.at + 2 * DAY)


@pytest.mark.parametrize("expression", dst_board.EXPRESSIONS)
def test_once_at_every_change_of_2026_equals_the_oracle(expression):
    for change in dst_board.changes():
        assert_equals_oracle(f"{expression} @dst(once)", change.zone, change.at - 2 * DAY, change.at + 2 * DAY)


def test_the_changes_of_2026_are_all_there():
    assert len(dst_board.changes()) >= 58  # 60 in the tz database 2025b, 58 in 2026f


@pytest.mark.parametrize("seed", seeds(11, in_gate=3))
def test_rules_at_changes_of_later_years_equal_the_oracle(seed):
    year = 2027 + seed
    rng = Random(year)
    for change in dst_board.changes(year):
        for rule in (*rng.sample(RULES, 2), "once"):
            text = f"{rng.choice(dst_board.EXPRESSIONS)} @dst({rule})"
            assert_equals_oracle(text, change.zone, change.at - 2 * DAY, change.at + 2 * DAY)


@pytest.mark.parametrize(("zone", "day"), campaign.ANECDOTES)
def test_rules_at_odd_changes_equal_the_oracle(zone, day):
    noon = instant_of(f"{day}T12:00:00Z")
    for rule in (*RULES, "once", "wall"):
        for expression in ("*/20 * * * *", "30 0,2 * * *", "0 */5 * * *", "15 23 L,30 * FRI"):
            assert_equals_oracle(f"{expression} @dst({rule})", zone, noon - 2 * DAY, noon + 2 * DAY)


# Cases in which cronsim does not keep Debian's rule: after the fold of Lord Howe it drops 02:00, which comes once.
CRONSIM_DIFFERS = {("Australia/Lord_Howe", "2026-04-05", "0 */2 * * *")}


def test_once_is_what_cronsim_does():
    pytest.importorskip("cronsim")
    different = set()
    for change in dst_board.changes():
        for expression in dst_board.EXPRESSIONS:
            case = dst_board.Case(change, expression, backwards=False)
            schedule = read(f"{expression} @dst(once)", change.zone)
            if dst_board.answer("cronsim", case) != times_between(schedule, case.start, case.end):
                different.add((change.zone, rfc3339(change.at + DAY // 2)[:10], expression))
    assert different == CRONSIM_DIFFERS


# Named cases


def test_a_time_in_a_gap_under_each_rule():
    def of(rule: str) -> list[str]:
        return ids(f"30 2 * * * @dst({rule})", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")

    assert of("wall") == of("gap=skip") == []
    assert of("gap=after") == of("once") == ["2026-03-29T01:00:00Z"]  # 03:00
    assert of("gap=shift") == ["2026-03-29T01:30:00Z"]  # 03:30


def test_a_time_in_a_fold_under_each_rule():
    def of(rule: str) -> list[str]:
        return ids(f"30 2 * * * @dst({rule})", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-26T00:00:00Z")

    assert of("wall") == of("fold=both") == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
    assert of("fold=first") == of("once") == ["2026-10-25T00:30:00Z"]
    assert of("fold=last") == ["2026-10-25T01:30:00Z"]


def test_several_times_in_a_gap_are_one_period_after_it():
    times = ids("*/15 2 * * * @dst(gap=after)", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")
    assert times == ["2026-03-29T01:00:00Z"]


def test_a_shifted_time_that_is_also_an_ordinary_one_is_one_period():
    times = ids("30 2,3 * * * @dst(gap=shift)", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")
    assert times == ["2026-03-29T01:30:00Z"]


def test_once_leaves_repeating_lines_to_the_wall_clock():
    night = "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"
    assert len(ids("*/15 * * * * @dst(once)", "Europe/Berlin", *night)) == 8
    assert len(ids("30 * * * * @dst(once)", "Europe/Berlin", *night)) == 2
    assert len(ids("30 */2 * * * @dst(once)", "Europe/Berlin", *night)) == 2
    assert len(ids("30 0,2 * * * @dst(once)", "Europe/Berlin", *night)) == 1


def test_the_day_that_samoa_skipped_runs_right_after_it():
    days = "2011-12-28T10:00:00Z", "2012-01-01T10:00:00Z"
    assert ids("0 9 * * * @dst(gap=after)", "Pacific/Apia", *days) == [
        "2011-12-28T19:00:00Z",
        "2011-12-29T19:00:00Z",
        "2011-12-30T10:00:00Z",  # 00:00 on the 31st, for 09:00 on the 30th
        "2011-12-30T19:00:00Z",
        "2011-12-31T19:00:00Z",
    ]
    assert len(ids("0 9 * * * @dst(gap=shift)", "Pacific/Apia", *days)) == 4  # 24 hours later is 09:00 on the 31st


@pytest.mark.parametrize("rule", ["", "@dst(gap=after)", "@dst(fold=first)", "@dst(once)"])
@pytest.mark.parametrize(
    ("zone", "day", "hours"), [("America/Juneau", "1867-10-19", "*/3"), ("America/St_Johns", "2009-11-01", "0")]
)
def test_a_first_day_that_begins_before_a_fold_is_found_backwards(zone, day, hours, rule):
    """The fold sets the clock back to the day before, which does not match, although a match is already past."""
    text = f"0 {hours} * * * @days(every=1d,from={day}) {rule}"
    schedule, middle = read(text, zone), instant_of(f"{day}T00:00:00Z")
    expected = plus_oracle.instants(text, zone, middle - 2 * DAY, middle + 3 * DAY)
    for t in range(middle - DAY, middle + 3 * DAY, 900):
        assert prev_nominal(schedule, t) == max((one for one in expected if one <= t), default=None), t


def test_a_line_that_begins_centuries_later_is_read_without_a_search_through_them():
    schedule = read("0 9 * * * @days(every=2w,from=2900-01-06) @dst(gap=after,fold=last)", "Europe/Paris")
    stretches = len(schedule.zone.stretches)
    assert rfc3339(next_nominal(schedule, instant_of("0400-01-01T00:00:00Z"))) == "2900-01-06T08:00:00Z"
    assert len(schedule.zone.stretches) - stretches < 10


@pytest.mark.parametrize(
    ("text", "zone", "nominal", "expected"),
    [
        ("30 2 * * * @dst(gap=after)", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29 02:30"),
        ("30 2 * * * @dst(once)", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29 02:30"),
        ("30 2 * * * @dst(gap=shift)", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-29 02:30"),
        ("15 30 2 * * * @dst(gap=shift)", "Europe/Berlin", "2026-03-29T01:30:15Z", "2026-03-29 02:30:15"),
        ("*/20 2 * * * @dst(gap=after)", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29 02:00"),  # the first
        ("0 2,3 * * * @dst(gap=after)", "Europe/Berlin", "2026-03-29T01:00:00Z", None),  # also 03:00 itself
        ("30 2,3 * * * @dst(gap=shift)", "Europe/Berlin", "2026-03-29T01:30:00Z", None),
        ("30 2 * * * @dst(gap=after)", "Europe/Berlin", "2026-03-30T00:30:00Z", None),
        ("30 2 * * * @dst(once)", "Europe/Berlin", "2026-10-25T00:30:00Z", None),  # a fold
        ("0 9 * * * @dst(gap=after)", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30 09:00"),
        ("0 2 * * * @dst(gap=after)", "Australia/Lord_Howe", "2026-10-03T15:30:00Z", "2026-10-04 02:00"),
        ("at 2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29 02:30"),
        ("at 2026-03-29T02:30 @dst(gap=shift)", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-29 02:30"),
        ("at 2026-03-29T02:30,2026-03-29T03:00", "Europe/Berlin", "2026-03-29T01:00:00Z", None),
        ("at 2026-03-29T02:30,2026-03-29T01:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z", None),
        ("at 2026-12-01T09:00", "Europe/Berlin", "2026-12-01T08:00:00Z", None),
        ("every 1h from 2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z", None),
        ("30 2 * * *", "Europe/Berlin", "2026-03-30T00:30:00Z", None),
        ("30 2 * * * @dst(gap=after)", "UTC", "2026-03-29T02:30:00Z", None),
    ],
)
def test_a_period_names_the_time_that_it_stands_for(text, zone, nominal, expected):
    schedule = read(text, zone)
    assert next_nominal(schedule, instant_of(nominal) - 1) == instant_of(nominal)
    assert stands_for(schedule, instant_of(nominal)) == expected
