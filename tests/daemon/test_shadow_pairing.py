"""Periods and starts of one command: which belong together."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron.apps.krontab.shadow.pairing import Pair, pair

MINUTE = 60_000
periods = st.lists(st.integers(0, 8).map(lambda minute: minute * 60), max_size=8)
instants = st.integers(0, 10 * MINUTE)
twice = instants.map(lambda first: (first, first + 3 * MINUTE))  # a local time that occurs twice
starts = st.lists(st.one_of(st.tuples(instants), twice), max_size=8)


def oracle(nominals, starts, max_late):
    """Slow and obvious: cross out what is taken."""
    free, pairs = list(enumerate(nominals)), []
    left = sorted(enumerate(starts), key=lambda each: (each[1], each[0]))
    for earlier in (range(1), range(1, max_late + 1)):
        for number, times in list(left):
            choices = [
                (position, at)
                for at in times
                for minutes in earlier
                for position, nominal in sorted(free, key=lambda each: each[0])
                if nominal // 60 == at // MINUTE - minutes
            ]
            if choices:
                position, at = choices[0]
                pairs.append(Pair(position, number, at))
                free = [each for each in free if each[0] != position]
                left = [each for each in left if each[0] != number]
    return sorted(pairs)


@given(periods, starts, st.integers(0, 5))
@example([60, 120], [(125_000,), (125_500,)], 5)
def test_pairs_are_those_of_the_oracle(nominals, starts, max_late):
    assert pair(nominals, starts, max_late) == oracle(nominals, starts, max_late)


@given(periods, starts, st.integers(0, 5))
def test_nothing_is_paired_twice_and_nothing_that_fits_is_left(nominals, starts, max_late):
    pairs = pair(nominals, starts, max_late)
    paired_periods, paired_starts = {each.period for each in pairs}, {each.start for each in pairs}
    assert len(paired_periods) == len(paired_starts) == len(pairs)
    for each in pairs:
        assert each.at in starts[each.start]
        assert 0 <= each.at // MINUTE - nominals[each.period] // 60 <= max_late
    for start in set(range(len(starts))) - paired_starts:
        for period in set(range(len(nominals))) - paired_periods:
            assert not any(0 <= at // MINUTE - nominals[period] // 60 <= max_late for at in starts[start])


@pytest.mark.parametrize(
    ("nominals", "starts", "expected"),
    [
        ([60, 120, 180], [(61_000,), (181_000,)], [(0, 0), (2, 1)]),  # the middle one was lost
        ([60, 120, 180], [(190_000,), (190_100,), (190_200,)], [(0, 2), (1, 1), (2, 0)]),  # all of them late, at once
        ([60, 60], [(61_000,)], [(0, 0)]),  # two lines with the same command, one of them lost
        ([60], [(59_999,)], []),  # cron is never early
        ([60], [(7 * MINUTE,)], []),  # too late to belong to it
        ([0, 3600], [(1_000, 3_601_000), (1_000, 3_601_000)], [(0, 0), (1, 1)]),  # in both hours when clocks go back
    ],
)
def test_cases(nominals, starts, expected):
    assert [(each.period, each.start) for each in pair(nominals, starts, 5)] == expected
