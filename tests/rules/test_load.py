"""Load of the coming days: the counters of a table equal a walk over the upcoming runs of each schedule."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.rules.load import (
    HORIZON_MINUTES,
    MAX_KINDS,
    SHOWN_KINDS,
    LoadHour,
    LoadInterval,
    LoadKind,
    LoadTable,
    is_shared,
    load_of,
    upcoming_minutes,
)
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, MINUTE, SERVICE, Resume
from kron.timing.zone import instant_of

NOW = instant_of("2026-03-27T10:20:30Z") * 1000  # the clocks of Paris change in two days
FIRST = NOW // 60_000
DAY = 86_400_000
TEXTS = [
    "0 * * * *",
    "*/30 1-3 * * * @tz(Europe/Paris)",
    "0 */3 * * * @win(after,4h)",
    "0 */3 * * * @win(around,2h) @avoid(hours=12)",
    "0 9 * * MON @only(dom=30)",
]
POLICIES = [KRON, replace(SERVICE, jitter=20 * MINUTE), replace(SERVICE, max_runs=5), replace(SERVICE, suspend=True)]


def a_state(text, policy=KRON, dialect="kron", **more):
    job = {name: more.pop(name) for name in ("start", "end") if name in more}
    schedule = replace(parse(text, dialect=dialect), policy=policy)
    return ScheduleState(Job("job", schedule, target="test:it", **job), 1, NOW // 1000 - 1, 0, **more)


def counted(state, last=FIRST + HORIZON_MINUTES):
    counts = Counter()
    for minute, runs in upcoming_minutes(state, NOW, FIRST, last):
        counts[minute] += runs
    return +counts


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(TEXTS),
    st.sampled_from(POLICIES),
    st.fixed_dictionaries(
        {},
        optional={
            "start": st.integers(0, 4).map(lambda days: (NOW + days * DAY) // 1000),
            "end": st.integers(1, 4).map(lambda days: (NOW + days * DAY) // 1000),
            "paused_until": st.integers(1, 5 * DAY).map(lambda length: NOW + length),
            "handled_ahead": st.just(frozenset({instant_of("2026-03-27T12:00:00Z")})),
        },
    ),
)
def test_minutes_equal_those_of_the_upcoming_runs(text, policy, more):
    if policy.jitter and "@" in text:
        policy = SERVICE
    state = a_state(text, replace(policy, resume=Resume.DROP), **more, paused="paused_until" in more)
    expected = Counter(
        due.at // 60_000 for due in upcoming(state, NOW, 2_000) if due.at // 60_000 < FIRST + HORIZON_MINUTES
    )
    listed = counted(state)
    listed = Counter({minute: runs for minute, runs in listed.items() if minute > FIRST})  # this minute has begun
    assert listed == Counter({minute: runs for minute, runs in expected.items() if minute > FIRST})


def test_schedule_with_seconds_is_counted_by_the_minute():
    counts = counted(a_state("*/20 */30 * * * *", dialect="service"))
    assert set(counts.values()) == {3}
    assert len(counts) == 8 * 48


def test_schedules_of_the_same_text_share_their_runs_if_nothing_is_drawn_or_limited():
    assert is_shared(a_state("0 * * * *"))
    assert is_shared(a_state("0 * * * * @avoid(hours=3)"))
    for other in (
        a_state("0 * * * * @win(after,1m)"),
        a_state("0 * * * *", POLICIES[1]),
        a_state("0 * * * *", POLICIES[2]),
        a_state("0 * * * *", end=NOW),
        a_state("0 * * * *", paused=True),
    ):
        assert not is_shared(other)


def test_table_has_hours_with_60_minutes_and_the_most_frequent_texts():
    table = LoadTable(FIRST)  # 10:20
    table.add(FIRST, 2, "a")
    table.add(FIRST + 39, 1, "b")
    table.add(FIRST + 39, 3, "a")
    table.add(FIRST + HORIZON_MINUTES - 1, 7, "a")
    first, last = table.hours("t/", 5)
    assert first.counts == (*[0] * 20, 2, *[0] * 38, 4)
    assert (first.kinds, first.written, first.hour) == ((LoadKind("a", 3, 5), LoadKind("b", 1, 1)), 5, FIRST // 60)
    assert last.counts == (*[0] * 19, 7, *[0] * 40)


def test_kinds_are_bounded_and_all_runs_are_counted():
    table = LoadTable(FIRST)
    for n in range(MAX_KINDS + 50):
        table.add(FIRST, n + 1, f"text {n}")
    assert len(table.kinds) == MAX_KINDS
    (hour,) = table.hours("", 0)
    assert sum(hour.counts) == sum(range(1, MAX_KINDS + 51))
    assert [kind.runs for kind in hour.kinds] == list(range(MAX_KINDS, MAX_KINDS - SHOWN_KINDS, -1))


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=60, max_size=60), min_size=1, max_size=4),
    st.sampled_from([1, 7, 60, 90]),
)
def test_intervals_equal_a_walk_over_the_minutes(rows, minutes):
    hours = [
        LoadHour("", 100 + n, tuple(row), (LoadKind("a", max(row), sum(row)),), n + 9) for n, row in enumerate(rows)
    ]
    first, last = 100 * 3_600 + 600, (100 + len(rows)) * 3_600 + 1_200
    load = load_of(hours, first, last, minutes * 60)
    every = [count for row in rows for count in row] + [0] * 60
    expected = []
    for start in range(first, last, minutes * 60):
        begin = (start - 360_000) // 60
        part = every[begin : min(begin + minutes, (last - 360_000) // 60)]
        busiest = max(part)
        expected.append(LoadInterval(start, sum(part), busiest, start + part.index(busiest) * 60 if busiest else None))
    assert load.intervals == expected
    assert load.kinds == [LoadKind("a", max(map(max, rows)), sum(map(sum, rows)))]
    assert load.written == 9


def test_load_of_nothing_is_empty():
    assert load_of([], 0, 120, 60) == ([LoadInterval(0, 0, 0, None), LoadInterval(60, 0, 0, None)], [], None)
