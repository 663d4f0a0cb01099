"""Listed moments, intervals of elapsed time, and validity: what holds of them in every zone, also in gaps and folds."""

from random import Random
from time import process_time

import pytest

import kron
from kron.language.moment import write_moment
from kron.language.reading import read_stored
from kron.timing.period import count_nominals, next_nominal, nominals, prev_nominal
from kron.timing.schedule.head import Moment
from kron.timing.zone import EARLIEST, LATEST, instant_of, rfc3339, zone, zone_names
from tests import plus_oracle

DAY = 86_400
GAP = "2026-03-29T02:30"  # in Berlin, where 03:00 follows 01:59
FOLD = "2026-10-25T02:30"  # in Berlin, where it comes twice
BERLIN = "Europe/Berlin"


def read(text: str, timezone: str = "UTC") -> kron.Schedule:
    return read_stored(text, "plus", timezone)  # a store also accepts moments that the clocks skip or repeat


def ids(text: str, timezone: str = "UTC", start: str = "2026-01-01T00:00:00Z") -> list[str]:
    """All periods from an instant on, the instant included, of a schedule that has an end."""
    return [rfc3339(t) for t in nominals(read(text, timezone), instant_of(start) - 1, instant_of(start) + 400 * DAY)]


def changed_zones() -> list[tuple[str, int]]:
    """Each zone that changes its clocks in 2026, with the first wall-clock time of the gap or fold."""
    start, end = instant_of("2026-01-01T00:00:00Z"), instant_of("2027-01-01T00:00:00Z")
    shifts = [(name, shift) for name in sorted(zone_names()) for shift in zone(name).shifts(start, end)]
    return [(name, shift.at + min(shift.before, shift.after)) for name, shift in shifts]


# every


@pytest.mark.parametrize("seconds", [1, 90, 5_400, 7_201, 86_400, 1_000_000])
def test_intervals_are_constant_and_begin_at_the_anchor(seconds):
    rng = Random(seconds)
    for name in rng.sample(sorted(zone_names()), 40):
        wall = instant_of("2026-03-01T00:00:00Z") + rng.randrange(300 * DAY)
        text = f"every {seconds}s from {write_moment(Moment(wall))}"
        schedule = read(text, name)
        (anchor,) = plus_oracle.resolve(write_moment(Moment(wall)), zone(name).rules, "after", "first")
        t, first = instant_of("1990-01-01T00:00:00Z"), int(anchor.timestamp())
        for turn in range(50):
            t = next_nominal(schedule, t)
            assert t == first + turn * seconds, (text, name)
        assert prev_nominal(schedule, first - 1) is None
        assert prev_nominal(schedule, first) == first
        assert count_nominals(schedule, EARLIEST, t) == 50


def test_an_anchor_in_a_gap_is_the_end_of_the_gap():
    assert ids(f"every 12h from {GAP} @valid(times=3)", BERLIN) == [
        "2026-03-29T01:00:00Z",
        "2026-03-29T13:00:00Z",
        "2026-03-30T01:00:00Z",
    ]


def test_an_anchor_in_a_fold_is_its_first_instant():
    assert ids(f"every 30m from {FOLD} @valid(times=2)", BERLIN) == ["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"]


# at


def test_a_moment_has_one_period_at_every_change_of_2026_in_every_zone():
    for name, wall in changed_zones():
        for moment in (wall - 60, wall, wall + 60, wall + 600):
            text = f"at {write_moment(Moment(moment))}"
            schedule = read(text, name)
            expected = plus_oracle.instants(text, name, moment - 3 * DAY, moment + 3 * DAY)
            assert len(expected) == 1
            assert list(nominals(schedule, EARLIEST)) == expected, (text, name)
            assert count_nominals(schedule, EARLIEST, LATEST) == 1
            assert prev_nominal(schedule, LATEST) == expected[0]


def test_moments_run_once_each_in_order_whatever_their_offsets():
    text = "at 2026-12-24T12:00,2026-12-01T09:00Z,2026-12-01T09:30+02:00,2026-12-01T09:00:30"
    assert ids(text, BERLIN) == [
        "2026-12-01T07:30:00Z",
        "2026-12-01T08:00:30Z",
        "2026-12-01T09:00:00Z",
        "2026-12-24T11:00:00Z",
    ]


def test_two_moments_with_the_same_instant_are_one_period():
    assert ids("at 2026-12-01T09:00,2026-12-01T08:00Z", BERLIN) == ["2026-12-01T08:00:00Z"]
    assert ids(f"at {GAP},2026-03-29T02:45", BERLIN) == ["2026-03-29T01:00:00Z"]  # both right after the gap
    assert ids(f"at {GAP},2026-03-29T02:45 @dst(gap=shift)", BERLIN) == ["2026-03-29T01:30:00Z", "2026-03-29T01:45:00Z"]


@pytest.mark.parametrize(
    ("rule", "gap", "fold"),
    [
        ("", ["01:00"], ["00:30"]),
        ("@dst(once)", ["01:00"], ["00:30"]),
        ("@dst(wall)", None, ["00:30", "01:30"]),
        ("@dst(gap=shift,fold=last)", ["01:30"], ["01:30"]),
        ("@dst(gap=after,fold=both)", ["01:00"], ["00:30", "01:30"]),
    ],
)
def test_a_moment_follows_the_rule_for_clock_changes(rule, gap, fold):
    assert [text[11:16] for text in ids(f"at {FOLD} {rule}", BERLIN)] == fold
    if gap is not None:
        assert [text[11:16] for text in ids(f"at {GAP} {rule}", BERLIN)] == gap
        return
    assert ids(f"at {GAP} {rule}", BERLIN) == []  # a text that is stored already stays readable
    with pytest.raises(kron.LanguageError) as caught:
        kron.parse(f"at {GAP} {rule}", dialect="plus", timezone=BERLIN)
    assert caught.value.code == "NEVER"


# @valid


@pytest.mark.parametrize(
    ("valid", "first", "last"),
    [
        ("from=2026-05-01T09:00,until=2026-05-03T09:00", "2026-05-01T09:00", "2026-05-03T09:00"),  # both included
        ("from=2026-05-01T09:00:01,until=2026-05-03T08:59:59", "2026-05-02T09:00", "2026-05-02T09:00"),
        ("from=2026-05-01T11:00+02:00,until=2026-05-03T09:00Z", "2026-05-01T09:00", "2026-05-03T09:00"),
    ],
)
def test_a_validity_includes_both_ends(valid, first, last):
    times = ids(f"0 9 * * * @valid({valid})")
    assert (times[0], times[-1]) == (f"{first}:00Z", f"{last}:00Z")


def test_a_validity_that_begins_or_ends_in_a_gap():
    """A beginning in a gap is the end of the gap. An end in a gap is the last second before it."""
    assert ids(f"*/30 * * * * @valid(from={GAP},times=1)", BERLIN) == ["2026-03-29T01:00:00Z"]
    assert ids(f"*/30 * * * * @valid(from=2026-03-29T01:00,until={GAP})", BERLIN) == [
        "2026-03-29T00:00:00Z",
        "2026-03-29T00:30:00Z",
    ]


def test_a_validity_that_begins_or_ends_in_a_fold_includes_both_passes():
    assert ids(f"30 2 * * * @valid(from={FOLD},until={FOLD})", BERLIN) == [
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:30:00Z",
    ]


@pytest.mark.parametrize("rule", ["", "@dst(once)", "@dst(gap=shift,fold=last)", "@days(every=2w,from=2026-02-03)"])
@pytest.mark.parametrize("times", [1, 2, 3, 10, 999])
def test_times_is_the_number_of_periods(times, rule):
    rng = Random(times)
    for name in rng.sample(sorted(zone_names()), 15):
        start = instant_of("2026-03-01T00:00:00Z") + rng.randrange(300 * DAY)
        moment = write_moment(Moment(start, is_instant=rng.random() < 0.5))
        text = f"{rng.randrange(60)} 0-3 * * * {rule}"
        limited, unlimited = read(f"{text} @valid(from={moment},times={times})", name), read(text, name)
        (first,) = plus_oracle.resolve(moment, zone(name).rules, "after", "first")
        expected = [t for t, _ in zip(nominals(unlimited, int(first.timestamp()) - 1), range(times), strict=False)]
        assert list(nominals(limited, EARLIEST)) == expected, (text, name, moment)
        assert prev_nominal(limited, LATEST) == expected[-1]
        assert count_nominals(limited, EARLIEST, LATEST) == times


def test_times_with_an_end_has_no_more_periods_than_there_are():
    assert len(ids("0 9 * * * @valid(from=2026-01-01T00:00,until=2026-01-05T00:00,times=10)")) == 4
    assert len(ids("at 2026-01-01T00:00,2026-01-02T00:00 @valid(times=1)")) == 1
    assert len(ids("every 1h from 2026-01-01T00:00 @valid(from=2026-01-02T00:30,times=5)")) == 5


@pytest.mark.parametrize("timezone", ["UTC", "Europe/Paris"])
@pytest.mark.parametrize("line", ["0 0 1 1 *", "0 0 L 1 *", "0 0 29 2 *", "0 0 * * * @dst(once)"])
def test_many_times_are_not_counted_before_they_matter(line, timezone):
    """The last of a million yearly periods is beyond the year 9999. Nothing visits all the years before it."""
    began = process_time()
    schedule = read(f"{line} @valid(from=2026-01-01T00:00,times=1000000)", timezone)
    following = next_nominal(schedule, instant_of("2030-06-01T00:00:00Z"))
    assert prev_nominal(schedule, following) == following
    assert count_nominals(schedule, EARLIEST, following) > 0
    assert process_time() - began < 2


# Limits


def test_a_moment_near_the_limits_of_time_is_read_again_from_its_canonical_text():
    for limit in (EARLIEST, LATEST):
        for offset in ("Z", "+23:59", "-23:59"):
            for days in range(-5, 6):
                text = f"at {rfc3339(limit + days * DAY)[:-1]}{offset}"
                try:
                    schedule = read(text)
                except kron.LanguageError as error:
                    assert error.code == "BAD_MOMENT"
                    continue
                assert read(kron.unparse(schedule)) == schedule, text


@pytest.mark.parametrize(
    ("rule", "runs"),
    [
        ("fold=last", ["2026-03-29T01:00:00Z", "2026-10-25T01:30:00Z"]),
        ("gap=shift", ["2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z"]),
        ("gap=skip", ["2026-10-25T00:30:00Z"]),
        ("wall", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
    ],
)
def test_key_that_is_not_written_keeps_the_default_of_moments(rule, runs):
    schedule = read(f"at 2026-03-29T02:30,2026-10-25T02:30 @dst({rule})", "Europe/Berlin")
    found, t = [], instant_of("2026-01-01T00:00:00Z")
    while (t := next_nominal(schedule, t)) is not None:
        found.append(rfc3339(t))
    assert found == runs
    assert read(kron.unparse(schedule)) == schedule


def test_store_reads_a_moment_that_a_later_tz_database_skips():
    """A row must stay readable: the schedule then has no period."""
    schedule = read(f"at {GAP} @dst(gap=skip)", BERLIN)
    assert next_nominal(schedule, EARLIEST) is None
    with pytest.raises(kron.KronError, match="NEVER"):
        kron.parse(f"at {GAP} @dst(gap=skip)", dialect="plus", timezone=BERLIN)
