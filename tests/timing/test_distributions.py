"""Distributions against theory: 100,000 draws each, in the seconds of a window, by Kolmogorov and Smirnov.

The draws are fixed: the first draw of each of 100,000 jobs. So these tests never flicker; what they
assert is that this family of seeds passes at a significance of 1 in 1,000. The distance is taken over
the whole seconds, where its limit is on the safe side. What is expected comes from scipy.
"""

from itertools import islice, pairwise
from math import erf, inf, nextafter, sqrt
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from kron import Period, decide, parse
from kron.timing.decision import candidates, violated_clause
from kron.timing.schedule.normal import mass_below, quantile
from kron.timing.schedule.sampling import (
    Anchor,
    Direction,
    Exponential,
    Normal,
    Seed,
    SkewEarly,
    SkewLate,
    Uniform,
    draw,
    draws,
)
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import instant_of

DRAWS = 100_000
LIMIT = stats.kstwobign.isf(1e-3)  # of the distance, times the root of the number of draws
HOUR = 3_600 * SECOND
NOMINAL = instant_of("2026-03-01T00:00:00Z")
SHAPES = (0.5, 2.0, 3.0)
MORE_SHAPES = (1e-3, 0.01, 1.0, 1.5, 2.5, 50.0, 1e6)
RATES = (1.0, 5.0)
MORE_RATES = (1e-12, 1e-3, 0.8, 1.2, 50.0, 1e6)
SIGMAS = (None, HOUR // 3)
MORE_SIGMAS = (HOUR // 12, HOUR, 1, SECOND, 1000 * HOUR, 10**6 * HOUR)


def slowly(values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.fixture(scope="module")
def first_draws():
    """The first draw of each of the jobs."""
    return [draw(Seed().hash(f"job-{i}", "2026-03-01T00:00:00Z"), 1) for i in range(DRAWS)]


def seconds(distribution, window, sample):
    """The second of the window that each draw is put into, counted from the one in which it opens."""
    slots = window.last - window.origin + 1
    places = [distribution.place(u, window.anchor, window.duration) for u in sample]
    return np.minimum(np.floor(np.array(places) * slots).astype(int), slots - 1)


def expected(distribution, window):
    """The chance of a second up to any of the window, as theory has it."""
    cdf, slots = theory(distribution, window), window.last - window.origin + 1
    return lambda second: cdf((second + 1) / slots)


def theory(distribution, window):
    """The distribution function on [0, 1]."""
    match distribution:
        case SkewEarly(shape):
            return stats.powerlaw(1 / shape).cdf
        case SkewLate(shape):
            return lambda x: 1 - stats.powerlaw(1 / shape).cdf(1 - x)
        case Exponential(decay, lean):
            early = stats.truncexpon(b=decay, scale=1 / decay)
            return early.cdf if lean is Direction.EARLY else lambda x: 1 - early.cdf(1 - x)
        case Normal(mu, sigma):
            nominal = 0.0 if window.mode is Mode.AFTER else 0.5
            mean = {Anchor.NOMINAL: nominal, Anchor.START: 0.0, Anchor.END: 1.0}.get(mu, 0.5)
            spread = 1 / 6 if sigma is None else sigma / window.duration
            return stats.truncnorm(-mean / spread, (1 - mean) / spread, loc=mean, scale=spread).cdf
        case _:
            return stats.uniform.cdf


def distance(chosen, upto):
    """How far the share of the sample up to any second is from its chance, times the root of its size."""
    found, counts = np.unique(chosen, return_counts=True)
    shares = np.cumsum(counts) / len(chosen)
    above, below = np.abs(shares - upto(found)), np.abs(shares - counts / len(chosen) - upto(found - 1))
    return max(above.max(), below.max()) * sqrt(len(chosen))


def check(distribution, window, sample):
    assert distance(seconds(distribution, window, sample), expected(distribution, window)) < LIMIT


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("duration", ["1s", "1h", "24h", "720h"])
@pytest.mark.parametrize("mode", Mode)
def test_uniform(first_draws, mode, duration):
    check(Uniform(), parse(f"* * * * * @win({mode},{duration})", dialect="kron").window, first_draws)


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("shape", [*SHAPES, *slowly(MORE_SHAPES)])
@pytest.mark.parametrize("kind", [SkewEarly, SkewLate])
def test_skewed(first_draws, kind, shape):
    check(kind(shape), Window(Mode.AFTER, HOUR), first_draws)


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("rate", [*RATES, *slowly(MORE_RATES)])
@pytest.mark.parametrize("lean", Direction)
def test_exponential(first_draws, lean, rate):
    check(Exponential(rate, lean), Window(Mode.AFTER, HOUR), first_draws)


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("sigma", [*SIGMAS, *slowly(MORE_SIGMAS)])
@pytest.mark.parametrize("mu", Anchor)
def test_normal(first_draws, mu, sigma):
    check(Normal(mu, sigma), Window(Mode.AFTER, HOUR), first_draws)


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("mu", [None, Anchor.NOMINAL])
def test_normal_around_nominal(first_draws, mu):
    check(Normal(mu, HOUR // 5), Window(Mode.AROUND, HOUR), first_draws)


@pytest.mark.slow
@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("duration", [SECOND, 24 * HOUR, 720 * HOUR, 3661 * SECOND, 1_500_000_000])
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "distribution",
    [
        *(kind(shape) for kind in (SkewEarly, SkewLate) for shape in (0.01, 2.5, 50.0)),
        *(Exponential(rate, lean) for rate in (1e-3, 1.2, 50.0) for lean in Direction),
        *(Normal(mu, sigma) for mu in Anchor for sigma in (None, SECOND, HOUR, 1000 * HOUR)),
    ],
    ids=str,
)
def test_other_windows(first_draws, distribution, mode, duration):
    check(distribution, Window(mode, duration), first_draws[:10_000])


@pytest.mark.req("KSPEC-SEED-PRNG")
def test_the_stream_of_one_seed_is_even_and_one_draw_says_nothing_of_the_next():
    stream = list(islice(draws(Seed().hash("prod/db-backup", "2026-03-01T00:00:00Z")), DRAWS + 1))
    assert stats.kstest(stream, "uniform").statistic * sqrt(DRAWS) < LIMIT
    pairs = np.histogram2d(stream[:-1], stream[1:], bins=20, range=[(0, 1), (0, 1)])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-3


@pytest.mark.req("KSPEC-SEED-PRNG")
def test_the_first_draws_of_many_jobs_are_even(first_draws):
    assert stats.kstest(first_draws, "uniform").statistic * sqrt(DRAWS) < LIMIT


TEXTS = [
    "uniform",
    "skewEarly",
    "skewEarly,shape=3",
    "skewLate,shape=1.5",
    "exponential,lambda=3",
    "exponential,dir=late,lambda=0.8",
    "normal",
    "normal,mu=start,sigma=15m",
    "normal,mu=end,sigma=1h",
]


@pytest.mark.req("KSPEC-DIST-MAP")
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("window", ["after,1h", "around,90m"])
def test_decisions_follow_their_distribution_from_end_to_end(window, text):
    schedule = parse(f"* * * * * @win({window}) @dist({text})", dialect="kron")
    made = [decide(schedule, Period(NOMINAL + 60 * i), "prod/db-backup") for i in range(5_000)]
    chosen = np.array([decision.chosen - decision.period.nominal for decision in made]) - schedule.window.origin
    assert distance(chosen, expected(schedule.distribution, schedule.window)) < LIMIT


@pytest.mark.req("KSPEC-CON-LOOP")
@pytest.mark.parametrize("text", TEXTS)
def test_under_constraints_decisions_follow_what_the_distribution_leaves_of_the_open_seconds(text):
    constraints = "@only(between=10:05-10:24;between=10:40-11:30) @avoid(between=10:50-10:54)"
    schedule = parse(f"0 10 * * * @win(after,2h) @dist({text}) {constraints}", dialect="kron")
    nominal = instant_of("2026-03-01T10:00:00Z")
    made = [decide(schedule, Period(nominal), f"job-{i}") for i in range(5_000)]
    chances = np.diff(expected(schedule.distribution, schedule.window)(np.arange(-1, 7201)))
    chances[[bool(violated_clause(schedule, nominal + s)) for s in range(7201)]] = 0
    upto = np.append(np.cumsum(chances) / chances.sum(), 0)  # the last is for the second before the window
    chosen = np.array([decision.chosen - nominal for decision in made if decision.chosen is not None])
    assert len(chosen) > 4_990
    assert distance(chosen, lambda second: upto[second]) < LIMIT


@pytest.mark.req("KSYN-DIST-SKEW-DIR")
def test_skew_early_leans_to_the_start_and_skew_late_to_the_end_the_more_the_larger_the_shape(first_draws):
    ways = [SkewEarly(50.0), SkewEarly(3.0), SkewEarly(), Uniform(), SkewLate(), SkewLate(3.0), SkewLate(50.0)]
    means = [seconds(way, Window(Mode.AFTER, HOUR), first_draws).mean() for way in ways]
    assert all(b > a + 60 for a, b in pairwise(means))


@pytest.mark.req("KSYN-DIST-EXP-DIR")
def test_exponential_leans_to_the_start_or_to_the_end_the_more_the_larger_the_rate(first_draws):
    early, late = Direction
    ways = [Exponential(5.0, early), Exponential(), Uniform(), Exponential(1.0, late), Exponential(5.0, late)]
    means = [seconds(way, Window(Mode.AFTER, HOUR), first_draws).mean() for way in ways]
    assert all(b > a + 60 for a, b in pairwise(means))


@pytest.mark.req("KSPEC-DIST-DEFAULTS")
@pytest.mark.parametrize(
    ("short", "full", "window"),
    [
        ("skewEarly", "skewEarly,shape=2.0", "after,1h"),
        ("skewLate", "skewLate,shape=2.0", "after,1h"),
        ("exponential", "exponential,lambda=1.0,dir=early", "after,1h"),
        ("normal", "normal,mu=mid,sigma=10m", "after,1h"),
        ("normal", "normal,mu=nominal,sigma=10m", "around,1h"),
        ("normal,sigma=5m", "normal,mu=mid,sigma=5m", "after,1h"),
        ("normal,mu=end", "normal,mu=end,sigma=10m", "after,1h"),
    ],
)
def test_missing_parameters_take_their_defaults(short, full, window):
    def times(distribution):
        schedule = parse(f"* * * * * @win({window}) @dist({distribution})", dialect="kron")
        return [decide(schedule, Period(NOMINAL + 60 * i), "job").chosen for i in range(300)]

    assert times(short) == times(full)
    assert times(short) != times("uniform")


WAYS = st.one_of(
    st.just(Uniform()),
    st.builds(SkewEarly, st.floats(0.05, 20)),
    st.builds(SkewLate, st.floats(0.05, 20)),
    st.builds(Exponential, st.floats(1e-12, 20), st.sampled_from(Direction)),
    st.builds(Normal, st.sampled_from(Anchor), st.none() | st.integers(HOUR // 8, 1000 * HOUR)),
)


@settings(deadline=None)
@given(WAYS, st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.sampled_from([0.0, 0.5]))
def test_a_draw_is_placed_before_x_just_when_it_is_less_than_the_chance_of_that(way, u, x, anchor):
    placed, chance = way.place(u, anchor, HOUR), way.below(x, anchor, HOUR)
    falling = isinstance(way, Exponential) and way.lean is Direction.LATE  # there a small draw means a late second
    mass = 1 - u if falling else u
    if mass < chance - 1e-9:
        assert placed <= x + 1e-9
    elif mass > chance + 1e-9:
        assert placed >= x - 1e-9


@settings(deadline=None)
@given(WAYS, st.floats(0, 1), st.sampled_from(Mode))
def test_below_is_what_theory_says(way, x, mode):
    window = Window(mode, HOUR)
    assert way.below(x, window.anchor, HOUR) == pytest.approx(float(theory(way, window)(x)), abs=1e-9)


@settings(deadline=None)
@given(WAYS, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 0.5]))
def test_a_larger_draw_is_never_placed_on_the_other_side(way, u, v, anchor):
    low, high = sorted((u, v))
    first, second = way.place(low, anchor, HOUR), way.place(high, anchor, HOUR)
    falling = isinstance(way, Exponential) and way.lean is Direction.LATE
    assert second - first <= 1e-12 if falling else first - second <= 1e-12


@settings(deadline=None)
@given(st.floats(1e-300, 0.5))
def test_quantiles_are_those_of_scipy_and_of_the_standard_library(p):
    assert quantile(p, 1 - p) == pytest.approx(ndtri(p), rel=2e-15, abs=2e-16)
    assert quantile(p, 1 - p) == pytest.approx(NormalDist().inv_cdf(p), rel=2e-15, abs=2e-16)
    assert quantile(1 - p, p) == -quantile(p, 1 - p)


@pytest.mark.parametrize("exponent", [*range(1, 20), 30, 50, 100, 200, 300])
def test_quantiles_hold_far_into_the_tails(exponent):
    p = 10.0**-exponent
    assert quantile(p, 1 - p) == pytest.approx(ndtri(p), rel=2e-15)
    assert mass_below(quantile(p, 1 - p)) == pytest.approx(p, rel=1e-13 * max(1, exponent * 2.4))


def test_quantiles_end_where_there_is_no_mass_and_turn_in_the_middle():
    assert quantile(0.0, 1.0) == -inf
    assert quantile(1.0, 0.0) == inf
    assert quantile(0.5, 0.5) == 0
    assert quantile(nextafter(0.5, 0), 0.5) < 0 < quantile(0.5, nextafter(0.5, 0))


def test_the_seams_of_the_quantile_do_not_show():
    """The formula has three parts: they meet at 0.075 and at exp(-25)."""
    for seam in (0.075, 1.388794386496402e-11):
        around = [quantile(seam * (1 + k * 1e-9), 1 - seam) for k in range(-5, 6)]
        assert all(b - a == pytest.approx(around[1] - around[0], rel=1e-3) for a, b in pairwise(around))


@settings(deadline=None)
@given(st.sampled_from(Anchor), st.floats(10, 1e12), st.floats(0, 1, exclude_max=True))
def test_a_bell_far_wider_than_the_window_is_almost_flat(mu, spread, u):
    """A few years of sigma for an hour of window: the tails cancel all but what the window sees."""
    bell = Normal(mu, int(spread * HOUR))
    mean = bell.mean(0.0)
    low, high = erf(-mean / spread / sqrt(2)), erf((1 - mean) / spread / sqrt(2))
    x = bell.place(u, 0.0, HOUR)
    assert (erf((x - mean) / spread / sqrt(2)) - low) / (high - low) == pytest.approx(u, abs=1e-9)


def test_the_mean_of_a_bell_is_its_anchor_where_the_window_does_not_cut_it():
    schedule = parse("0 10 * * * @win(around,2h) @dist(normal,sigma=10m)", dialect="kron")
    nominal = instant_of("2026-03-01T10:00:00Z")
    found = [next(candidates(schedule, nominal, Seed().hash(f"{i}", "k"))) - nominal for i in range(10_000)]
    assert abs(fmean(found)) < 3 * 600 / 100
    assert np.std(found) == pytest.approx(600, rel=0.03)
