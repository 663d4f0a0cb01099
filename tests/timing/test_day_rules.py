"""Days that L, W, #, match=both and every= select, against an oracle that looks at each day, and against peers."""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from random import Random
from time import process_time

import pytest

import kron
from kron.timing.period import count_nominals, next_nominal, prev_nominal
from kron.timing.schedule.cron import Cron
from tests import plus_oracle
from tests.oracle import MONTHS, WEEKDAYS
from tests.seeds import seeds

DAY = 86_400
EPOCH = date(1970, 1, 1)
SPAN = 150  # days of a case
RARE = (("every", "100d"), ("from", "1926-03-11"), ("match", "both"))


def number(day: date) -> int:
    return (day - EPOCH).days


@lru_cache(16)
def days_from(start: date, count: int) -> list[date]:
    return [start + timedelta(days=n) for n in range(count)]


def selected(text: str, start: date, count: int = SPAN) -> list[date]:
    """The days that a text selects from a day on, one by one."""
    words, days, _, _ = plus_oracle.split(text)
    rule = tuple(sorted(days.items()))
    return [day for day in days_from(start, count) if plus_oracle.selects(tuple(words[-3:]), rule, day)]


def random_text(rng: Random, start: date) -> str:
    """Fields for days with at least one token or option, as a line that runs at 00:00."""
    dom = random_field(rng, ("L", f"L-{rng.randint(1, 30)}", "LW", f"{rng.randint(1, 31)}W"), 1, 31, ())
    dow_tokens = (f"{rng.choice(WEEKDAYS)}#{rng.randint(1, 5)}", f"{rng.randint(0, 6)}L", f"{rng.choice(WEEKDAYS)}L")
    dow = random_field(rng, dow_tokens, 0, 6, WEEKDAYS)
    month = "*" if rng.random() < 0.6 else random_field(rng, (), 1, 12, MONTHS)
    options = ["match=both"] if rng.random() < 0.4 else []
    if rng.random() < 0.4:
        begin = start + timedelta(days=rng.randrange(-2_000, SPAN))
        options += [f"every={rng.randint(1, 15)}{rng.choice('dw')}", f"from={begin}"]
    return f"0 0 {dom} {month} {dow}" + (f" @days({','.join(options)})" if options else "")


def random_field(rng: Random, tokens: tuple[str, ...], low: int, high: int, names: tuple[str, ...]) -> str:
    if rng.random() < 0.3:
        return "*"
    elements = rng.sample(tokens, min(rng.choice((0, 1, 1, 2)), len(tokens)))
    while not elements or rng.random() < 0.3:
        first, last = sorted(rng.randint(low, high) for _ in range(2))
        name = names[first - low] if names else str(first)
        elements.append(rng.choice((str(first), name, f"{first}-{last}", f"*/{rng.randint(2, 9)}")))
    return ",".join(rng.sample(elements, len(elements)))


@pytest.mark.parametrize("seed", seeds(10, in_gate=3))
def test_a_thousand_random_lines_select_the_days_of_the_oracle(seed):
    rng = Random(seed)
    starts = [date(rng.randint(1900, 2200), rng.randint(1, 12), 1) for _ in range(10)]
    for case in range(1_000):
        start = starts[case // 100]
        text = random_text(rng, start)
        expected = [number(day) for day in selected(text, start)]
        try:
            cron = kron.parse(text, dialect="plus").cron
        except kron.LanguageError as error:
            assert (error.code, expected) == ("NEVER", []), text
            continue
        assert isinstance(cron, Cron)
        assert_selects(cron, expected, number(start), rng, text)


def assert_selects(cron: Cron, expected: list[int], first: int, rng: Random, text: str) -> None:
    """That a line selects these days, forwards, backwards and counted, also from a day in the middle."""
    end = first + SPAN
    wall, forwards = first * DAY - 1, []
    while (wall := cron.after(wall)) is not None and wall < end * DAY:
        forwards.append(wall // DAY)
    assert forwards == expected, text
    wall, backwards = end * DAY - 1, []
    while (wall := cron.upto(wall)) is not None and wall >= first * DAY:
        backwards.append(wall // DAY)
        wall -= 1
    assert backwards[::-1] == expected, text
    middle = rng.randrange(first, end)
    counts = cron.days_between(first, middle), cron.days_between(middle, end)
    assert counts == (sum(day < middle for day in expected), sum(day >= middle for day in expected)), text
    assert cron.days_between(middle, middle) == 0


@pytest.mark.parametrize(
    ("text", "peer_text"),
    [
        ("0 0 L * *", "0 0 L * *"),
        ("0 0 1,L * *", "0 0 1,L * *"),
        *((f"0 0 * * {name}#{n}", f"0 0 * * {name}#{n}") for name in ("MON", "SUN", "6") for n in range(1, 6)),
        *((f"0 0 * * {name}L", f"0 0 * * L{n}") for n, name in enumerate(WEEKDAYS)),
        *((f"0 0 {n}W * *", f"0 0 {n}W * *") for n in range(1, 29)),
    ],
)
def test_tokens_select_the_days_of_croniter(text, peer_text):
    croniter = pytest.importorskip("croniter")
    walker = croniter.croniter(peer_text, datetime(2023, 12, 31, tzinfo=UTC))
    expected = [walker.get_next(datetime).date() for _ in range(60)]
    assert selected(text, date(2024, 1, 1), (expected[-1] - date(2024, 1, 1)).days + 1) == expected
    schedule, t = kron.parse(text, dialect="plus"), number(date(2024, 1, 1)) * DAY - 1
    for day in expected:
        t = next_nominal(schedule, t)
        assert t == number(day) * DAY


@pytest.mark.parametrize("weeks", [1, 2, 3, 4, 7, 53])
@pytest.mark.parametrize("weekdays", [("MO",), ("SU",), ("WE", "TH"), ("SA", "SU", "MO"), ("TU", "FR")])
@pytest.mark.parametrize("start", [date(2026, 1, 5), date(2026, 1, 11), date(2025, 12, 31), date(2024, 2, 29)])
def test_every_n_weeks_is_the_weekly_rule_of_icalendar(weeks, weekdays, start):
    rrule = pytest.importorskip("dateutil.rrule")
    text = f"FREQ=WEEKLY;INTERVAL={weeks};WKST=MO;BYDAY={','.join(weekdays)};COUNT=40"
    rule = rrule.rrulestr(f"DTSTART:{start:%Y%m%d}T090000\nRRULE:{text}")
    expected = [int(time.replace(tzinfo=UTC).timestamp()) for time in rule]
    names = ",".join(name for name in WEEKDAYS if name[:2] in weekdays)
    schedule = kron.parse(f"0 9 * * {names} @days(every={weeks}w,from={start})", dialect="plus")
    t = expected[0] - 1_000 * DAY
    for nominal in expected:
        t = next_nominal(schedule, t)
        assert t == nominal
    assert prev_nominal(schedule, expected[0] - 1) is None
    assert count_nominals(schedule, 0, expected[-1]) == len(expected)


@pytest.mark.parametrize("every", [1, 2, 3, 14, 31, 1_000])
def test_every_n_days_has_constant_gaps_from_its_beginning_on(every):
    start = date(2026, 1, 6)
    schedule = kron.parse(f"0 9 * * * @days(every={every}d,from={start})", dialect="plus")
    first = number(start) * DAY + 9 * 3600
    t = first - 5_000 * DAY
    for turn in range(200):
        t = next_nominal(schedule, t)
        assert t == first + turn * every * DAY
    assert prev_nominal(schedule, first - 1) is None


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 9 8-14 * TUE @days(match=both)", ["2026-01-13", "2026-02-10", "2026-03-10"]),
        ("0 9 * * TUE#2", ["2026-01-13", "2026-02-10", "2026-03-10"]),
        ("0 9 * * MON#5", ["2026-03-30", "2026-06-29", "2026-08-31"]),  # not in months that have four
        ("0 9 L-2 * *", ["2026-01-29", "2026-02-26", "2026-03-29"]),
        ("0 9 L-29 * *", ["2026-01-02", "2026-03-02", "2026-04-01"]),  # February has no such day
        ("0 9 LW * *", ["2026-01-30", "2026-02-27", "2026-03-31"]),
        ("0 9 1W * *", ["2026-01-01", "2026-02-02", "2026-03-02"]),  # never in the month before
        ("0 9 31W 5 *", ["2026-05-29", "2027-05-31", "2028-05-31"]),  # a Sunday: never in the month after
        ("0 9 31W * *", ["2026-01-30", "2026-03-31", "2026-05-29"]),  # not in months that have no 31st
        ("0 9 * * FRIL", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 9 15,L * *", ["2026-01-15", "2026-01-31", "2026-02-15"]),
        ("0 9 13 * FRI @days(match=both)", ["2026-02-13", "2026-03-13", "2026-11-13"]),
        ("0 9 L * FRI @days(match=both)", ["2026-07-31", "2027-04-30", "2027-12-31"]),
        ("0 9 L * FRI#1", ["2026-01-02", "2026-01-31", "2026-02-06"]),  # either
        ("0 9 29 2 MON @days(match=both)", ["2044-02-29", "2072-02-29", "2112-02-29"]),
    ],
)
def test_named_days(text, days):
    schedule = kron.parse(text, dialect="plus")
    t = number(date(2026, 1, 1)) * DAY - 1
    for day in days:
        t = next_nominal(schedule, t)
        assert datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%d %H:%M") == f"{day} 09:00"


def test_a_cadence_whose_matches_are_centuries_apart_is_found_from_both_sides():
    """Such a line matched before 1970, and then not in the 400 years after which the calendar repeats."""
    schedule = kron.parse("0 9 L-3,1W * MONL @days(from=1926-03-11,match=both,every=100d)", dialect="plus")
    days, t = [], number(date(1926, 1, 1)) * DAY
    while (t := next_nominal(schedule, t)) is not None:
        days.append(EPOCH + timedelta(days=t // DAY))
    assert days[0] == date(1926, 9, 27)
    assert len(days) > 1
    assert [plus_oracle.selects(("L-3,1W", "*", "MONL"), RARE, day) for day in days] == [True] * len(days)
    for earlier, later in pairwise(days):
        assert prev_nominal(schedule, number(later) * DAY) == number(earlier) * DAY + 9 * 3600
    assert prev_nominal(schedule, number(days[0]) * DAY) is None


def test_a_line_that_no_day_matches_is_refused_quickly():
    began = process_time()
    with pytest.raises(kron.LanguageError) as caught:
        kron.parse("0 0 29 2 MON @days(match=both,every=7d,from=2026-01-01)", dialect="plus")  # a Thursday
    assert caught.value.code == "NEVER"
    assert process_time() - began < 2
