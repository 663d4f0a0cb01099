"""Windows: their exact bounds, and that no choice ever leaves them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import Period, decide, parse
from kron.timing.decision import candidates
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import HOURS, MINUTES, Cron
from kron.timing.schedule.sampling import Anchor, Direction, Exponential, Normal, SkewEarly, SkewLate, Uniform
from kron.timing.schedule.window import SECOND, Bounds, Mode, Window
from kron.timing.zone import instant_of

EVERY_MINUTE = Schedule(Cron(MINUTES, HOURS))
NOMINAL = instant_of("2026-03-01T00:00:00Z")
DAY = 86_400 * SECOND

durations = (
    st.integers(1, 20)
    | st.integers(1, 3 * SECOND)
    | st.integers(1, 31 * DAY)
    | st.sampled_from([SECOND, SECOND - 1, SECOND + 1, 2 * SECOND - 1, 3661 * SECOND, (1 << 63) - 1])
)
nominals = st.integers(instant_of("0400-01-01T00:00:00Z"), instant_of("9600-01-01T00:00:00Z"))
positive = st.floats(1e-320, 1e308) | st.sampled_from([1e-3, 0.5, 1.0, 2.0, 1e6])
distributions = st.one_of(
    st.just(Uniform()),
    st.builds(SkewEarly, positive),
    st.builds(SkewLate, positive),
    st.builds(Exponential, positive, st.sampled_from(Direction)),
    st.builds(Normal, st.none() | st.sampled_from(Anchor), st.none() | durations),
)


@pytest.mark.req("KSPEC-WIN-AFTER", "KSYN-WIN-AFTER", "KSPEC-TERM-WINDOW")
@settings(deadline=None)
@given(nominals, durations)
def test_after_is_from_nominal_to_nominal_plus_the_duration(nominal, duration):
    decision = decide(replace(EVERY_MINUTE, window=Window(Mode.AFTER, duration)), Period(nominal), "job")
    assert decision.window == Bounds(nominal * SECOND, nominal * SECOND + duration)


@pytest.mark.req("KSPEC-WIN-AROUND", "KSYN-WIN-AROUND", "KSPEC-TERM-WINDOW")
@settings(deadline=None)
@given(nominals, durations)
def test_around_is_half_the_duration_to_either_side(nominal, duration):
    start, end = decide(replace(EVERY_MINUTE, window=Window(Mode.AROUND, duration)), Period(nominal), "job").window
    assert (start + end) // 2 == nominal * SECOND
    assert end - start == duration - duration % 2


@pytest.mark.req("KSYN-VAL-HALF", "KSPEC-WIN-AROUND")
@pytest.mark.parametrize(
    ("duration", "half"),
    [("1s", 500_000_000), ("3ns", 1), ("1ns", 0), ("1h1m1s", 1_830_500_000_000), ("45m", 1_350 * SECOND)],
)
def test_half_of_an_odd_duration_is_exact_to_the_nanosecond(duration, half):
    schedule = parse(f"0 0 * * * @win(around,{duration})", dialect="kron")
    assert schedule.window.at(NOMINAL) == Bounds(NOMINAL * SECOND - half, NOMINAL * SECOND + half)


@pytest.mark.req("KSPEC-INV-1", "KSPEC-WIN-INCL", "KSPEC-DIST-BOUND", "KSPEC-TERM-WINDOW", "KSPEC-TIME-SECOND")
@settings(deadline=None)
@given(st.sampled_from(Mode), durations, distributions, nominals, st.text("abc/-é", min_size=1))
def test_the_chosen_second_lies_in_the_closed_window(mode, duration, distribution, nominal, identity):
    schedule = replace(EVERY_MINUTE, window=Window(mode, duration), distribution=distribution)
    decision = decide(schedule, Period(nominal), identity)
    assert isinstance(decision.chosen, int)
    assert decision.window.start <= decision.chosen * SECOND <= decision.window.end


@pytest.mark.req("KSPEC-INV-1", "KSPEC-DIST-BOUND")
@settings(deadline=None)
@given(
    st.sampled_from(Mode),
    durations,
    distributions,
    st.integers(0, (1 << 53) - 1) | st.sampled_from([0, 1, (1 << 53) - 1]),
)
def test_no_draw_is_placed_outside_of_the_window(mode, duration, distribution, k):
    window = Window(mode, duration)
    assert 0 <= distribution.place(k / (1 << 53), window.anchor, duration) <= 1


@pytest.mark.req("KSPEC-WIN-INCL")
@pytest.mark.parametrize(
    ("window", "seconds"),
    [
        ("after,1s", {0, 1}),
        ("after,10s", set(range(11))),
        ("after,2500ms", {0, 1, 2}),
        ("around,10s", set(range(-5, 6))),
        ("around,3s", {-1, 0, 1}),
        ("around,4001ms", {-2, -1, 0, 1, 2}),
        ("around,1s", {0}),
        ("after,999ms", {0}),
    ],
)
@pytest.mark.parametrize("distribution", ["uniform", "skewEarly", "skewLate", "normal", "exponential"])
def test_every_whole_second_of_the_window_is_reached_and_so_are_both_ends(window, seconds, distribution):
    schedule = parse(f"* * * * * @win({window}) @dist({distribution})", dialect="kron")
    chosen = [decide(schedule, Period(NOMINAL + 60 * i), "job") for i in range(4000)]
    assert {decision.chosen - decision.period.nominal for decision in chosen} == seconds


@pytest.mark.req("KSPEC-WIN-ZERO")
@settings(deadline=None)
@given(nominals, st.sampled_from(Mode), distributions)
def test_without_a_window_the_nominal_time_is_chosen_and_nothing_drawn(nominal, mode, distribution):
    schedule = replace(EVERY_MINUTE, window=Window(mode, 0), distribution=distribution)
    decision = decide(schedule, Period(nominal), "job")
    assert (decision.chosen, decision.draws) == (nominal, 0)
    assert decision.window == Bounds(nominal * SECOND, nominal * SECOND)


@pytest.mark.req("KSPEC-WIN-ZERO", "KSYN-CON-UNSCHED")
def test_without_a_window_the_nominal_time_must_still_satisfy_the_constraints():
    schedule = parse("0 0 * * * @only(hours=12)", dialect="kron")
    decision = decide(schedule, Period(NOMINAL), "job")
    assert (decision.chosen, decision.draws, decision.unschedulable) == (None, 0, True)


@pytest.mark.req("KSPEC-WIN-INCL", "KSPEC-TIME-SECOND")
@settings(deadline=None)
@given(st.sampled_from(Mode), durations, nominals)
def test_a_draw_in_the_second_that_the_window_cuts_counts_for_its_first_whole_second(mode, duration, nominal):
    """The window opens at 08:59:29.5: the draws of second 29 are raised to 30, which is inside."""
    schedule = replace(EVERY_MINUTE, window=Window(mode, duration))
    bounds = schedule.window.at(nominal)
    first = next(candidates(schedule, nominal, "0" * 64))
    slots = bounds.end // SECOND - bounds.start // SECOND + 1
    u = 0.8833108082136426  # the first draw of the seed 0: 0xE220A8397B1DCDAF >> 11, of 2**53
    assert first == max(-(-bounds.start // SECOND), bounds.start // SECOND + int(u * slots))
