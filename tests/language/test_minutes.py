"""The two passes, and that every minute stays inside its window: exhaustively, not by sample."""

import pytest

from kron.language.sentences.minutes import SatisfiedRules, avoid, avoid_hour_boundary, avoid_peak_minutes, place
from kron.language.sentences.placeholder import Around, Between
from tests.language.scatter_oracle import admissible, off_the_hour, passes, settle

PEAKS = [(range(6, 10), range(27, 34)), (range(14, 19), range(12, 19)), (range(14, 19), range(42, 49))]
FARTHEST = 7  # minutes that the passes move anything


@pytest.mark.req("FUZZY-6.4.1-LOW", "FUZZY-6.4.1-HIGH", "FUZZY-6.4.1-MID")
def test_the_ends_of_the_hour_move_inwards():
    assert [avoid_hour_boundary(m) for m in range(5)] == [5, 6, 7, 8, 9]
    assert [avoid_hour_boundary(m) for m in range(5, 55)] == list(range(5, 55))
    assert [avoid_hour_boundary(m) for m in range(55, 60)] == [50, 51, 52, 53, 54]


@pytest.mark.req("FUZZY-6.4.2-EU", "FUZZY-6.4.2-US15", "FUZZY-6.4.2-US45", "FUZZY-6.4.2-EX1", "FUZZY-6.4.2-EX2")
def test_the_peaks_move_to_the_minute_after_them():
    for hour in range(24):
        for minute in range(60):
            expected = minute
            if hour in (6, 7, 8, 9) and 27 <= minute <= 33:
                expected = 34
            if hour in (14, 15, 16, 17, 18) and 12 <= minute <= 18:
                expected = 19
            if hour in (14, 15, 16, 17, 18) and 42 <= minute <= 48:
                expected = 49
            assert avoid_peak_minutes(hour, minute) == expected
    assert avoid_peak_minutes(14, 28) == 28
    assert avoid_peak_minutes(15, 13) == 19


@pytest.mark.req("FUZZY-6.4-PASSES", "FUZZY-6.4.2-ORDER", "FUZZY-6.5-5", "FUZZY-R-SAFE-002")
def test_the_boundary_pass_comes_before_the_peak_pass():
    for minute in range(1440):
        hour, within = divmod(minute, 60)
        assert avoid(minute) == hour * 60 + avoid_peak_minutes(hour, avoid_hour_boundary(within))
        assert avoid(minute) == hour * 60 + passes(hour, within)
        assert admissible(avoid(minute))
        assert avoid(avoid(minute)) == avoid(minute)
        assert abs(avoid(minute) - minute) <= FARTHEST


def check(minute, first, last):
    """Inside, and off the hour and the peaks."""
    hour, within = minute % 1440 // 60, minute % 60
    return (
        first <= minute <= last
        and 5 <= within <= 54
        and not any(hour in hours and within in minutes for hours, minutes in PEAKS)
    )


@pytest.mark.req("FUZZY-R-SAFE-001", "FUZZY-T-SCATTER-005", "FUZZY-3.2.2-WINDOW", "FUZZY-4.2.1-WINDOW")
@pytest.mark.req("FUZZY-T-SCATTER-012", "FUZZY-T-SCATTER-013", "FUZZY-T-SCATTER-014", "FUZZY-6.4.1-SCOPE")
def test_all_172_800_pairs_of_a_target_and_an_offset_stay_within_the_hour_and_avoid_everything():
    left = 0
    for target in range(1440):
        stretch = Around(target)
        first, last = stretch.first, stretch.last
        assert (first, last, stretch.size) == (target - 60, target + 60, 120)
        for offset in range(120):
            raw = first + offset
            minute, kept = place(raw, first, last)
            assert check(minute, first, last), (target, offset)
            assert kept is SatisfiedRules.ALL
            literal = raw - raw % 60 + passes(raw // 60 % 24, raw % 60)
            if first <= literal <= last:
                assert minute == literal
            else:
                left += 1
                assert minute == settle(raw, first, last)
    assert left == 1_374  # which the literal algorithm would let leave the window


@pytest.mark.slow
@pytest.mark.req("FUZZY-R-SAFE-001", "FUZZY-T-SCATTER-006", "FUZZY-3.2.3-SCATTER", "FUZZY-6.4.1-SCOPE")
def test_all_288_000_ranges_of_1_to_200_minutes_keep_every_draw_inside():
    # The passes move nothing farther than 7 minutes (shown above for each minute of the day), so a raw minute
    # that lies 7 or more from both ends stays inside, and is placed by the passes alone. What is left to try of
    # each range are the draws within 7 minutes of its ends, which are all of a short range.
    good = [admissible(minute % 1440) for minute in range(1440 + 201)]
    fair = [off_the_hour(minute) for minute in range(1440 + 201)]
    tried, kinds = 0, dict.fromkeys(SatisfiedRules, 0)
    for first in range(1440):
        for size in range(1, 201):
            last, worst = first + size, SatisfiedRules.ALL
            offsets = range(size) if size <= 2 * FARTHEST else (*range(FARTHEST), *range(size - FARTHEST, size))
            for raw in (first + offset for offset in offsets):
                minute, kept = place(raw, first, last)
                tried += 1
                assert first <= minute <= last, (first, size, raw)
                assert good[minute] or kept is not SatisfiedRules.ALL
                if kept is not SatisfiedRules.ALL:
                    worst = kept
                    assert fair[minute] if kept is SatisfiedRules.HOUR else minute == raw
            kinds[worst] += 1
            if worst is not SatisfiedRules.ALL:  # and then it could not be helped
                assert not any((good if worst is SatisfiedRules.HOUR else fair)[first : last + 1]), (first, size)
    print(
        f"{tried:,} draws of 288,000 ranges:",
        *(f"{kinds[kept]:,} ranges keep {kept.value}" for kept in SatisfiedRules),
        sep="\n",
    )
    assert tried == 1440 * (sum(range(1, 15)) + 14 * 186)
    assert kinds[SatisfiedRules.NONE] == 24 * sum(
        10 - size for size in range(1, 10)
    )  # those that lie within :55 to :04
    assert kinds[SatisfiedRules.HOUR] == (4 + 5 + 5) * sum(
        7 - size for size in range(1, 7)
    )  # those that lie within a peak


def test_ranges_across_midnight_are_counted_the_same_way():
    stretch = Between(22 * 60, 2 * 60)
    assert (stretch.first, stretch.last, stretch.size) == (1320, 1560, 240)
    for offset in range(240):
        minute, _ = place(stretch.first + offset, stretch.first, stretch.last)
        assert check(minute, 1320, 1560)
        assert minute == settle(1320 + offset, 1320, 1560)


def test_where_the_passes_leave_the_window_the_nearest_good_minute_inside_is_taken():
    around = Around(14 * 60 + 58)  # whose first minute is 13:58, which the passes move to 13:53
    assert place(around.first, around.first, around.last) == (14 * 60 + 5, SatisfiedRules.ALL)
    assert place(9 * 60 + 1, 9 * 60, 9 * 60 + 3) == (9 * 60 + 1, SatisfiedRules.NONE)
    assert place(14 * 60 + 15, 14 * 60 + 12, 14 * 60 + 18) == (14 * 60 + 15, SatisfiedRules.HOUR)
