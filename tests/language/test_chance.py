"""@dist and @seed, clause by clause of the syntax document."""

import pytest

from kron.errors import LanguageError
from kron.timing.schedule.sampling import (
    Anchor,
    Direction,
    Exponential,
    Normal,
    Seed,
    SkewEarly,
    SkewLate,
    Strategy,
    Uniform,
)
from kron.timing.schedule.window import SECOND
from tests.language.asking import kron, modified, refusal

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.req("KSYN-DIST-NAMES")
def test_there_are_five_distributions():
    found = {name: modified(f"@dist({name})").distribution for name in DISTRIBUTIONS}
    assert found == DISTRIBUTIONS
    for name in ("gaussian", "Uniform", "skewearly", "poisson", "skew"):
        assert refusal(f"0 0 * * * @dist({name})") == ("UNKNOWN_DISTRIBUTION", name)


DISTRIBUTIONS = {
    "uniform": Uniform(),
    "normal": Normal(),
    "skewEarly": SkewEarly(),
    "skewLate": SkewLate(),
    "exponential": Exponential(),
}


@pytest.mark.req("KSYN-DIST-PARAMS")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_parameters_are_known_pairs_each_given_once(name):
    assert refusal(f"0 0 * * * @dist({name},foo=1)") == ("UNKNOWN_PARAMETER", "foo")
    assert refusal(f"0 0 * * * @dist({name},1)") == ("UNKNOWN_PARAMETER", "1")
    assert refusal(f"0 0 * * * @dist({name},)")[0] == "BAD_PARAMETER"


@pytest.mark.req("KSYN-DIST-PARAMS")
def test_a_parameter_has_a_value_and_comes_once():
    assert refusal("0 0 * * * @dist(skewEarly,shape)") == ("BAD_PARAMETER", "shape")
    assert refusal("0 0 * * * @dist(skewEarly,shape=)")[0] == "BAD_PARAMETER"
    assert refusal("0 0 * * * @dist(skewEarly,shape=2,shape=2)") == ("DUPLICATE_PARAMETER", "shape=2")
    assert refusal("0 0 * * * @dist(skewEarly,Shape=2)") == ("UNKNOWN_PARAMETER", "Shape")


@pytest.mark.req("KSYN-DIST-UNIFORM")
def test_uniform_takes_no_parameters():
    assert modified("@dist(uniform)").distribution == Uniform()
    assert refusal("0 0 * * * @dist(uniform,x=1)") == ("UNKNOWN_PARAMETER", "x")
    assert refusal("0 0 * * * @dist(uniform,shape=2)") == ("UNKNOWN_PARAMETER", "shape")


@pytest.mark.req("KSYN-DIST-NORMAL")
def test_normal_takes_mu_and_sigma_or_one_of_them_or_none():
    assert modified("@dist(normal)").distribution == Normal(None, None)
    assert modified("@dist(normal,mu=end)").distribution == Normal(Anchor.END, None)
    assert modified("@dist(normal,sigma=1m)").distribution == Normal(None, MINUTE)
    assert modified("@dist(normal,sigma=1m,mu=end)").distribution == Normal(Anchor.END, MINUTE)


@pytest.mark.req("KSYN-DIST-NORMAL-MU")
def test_mu_is_one_of_four_anchors_and_sets_the_mean():
    means = {"nominal": (0.0, 0.5), "start": (0.0, 0.0), "mid": (0.5, 0.5), "end": (1.0, 1.0)}
    for anchor, (after, around) in means.items():
        for mode, mean in (("after", after), ("around", around)):
            schedule = modified(f"@win({mode},2h) @dist(normal,mu={anchor})")
            assert schedule.distribution.mean(schedule.window.anchor) == mean
    for anchor in ("middle", "Start", "centre", "0.5", ""):
        assert refusal(f"0 0 * * * @dist(normal,mu={anchor})") == ("BAD_PARAMETER", anchor)


@pytest.mark.req("KSYN-DIST-NORMAL-SIGMA")
def test_sigma_is_a_duration_above_zero():
    schedule = modified("@win(after,2h) @dist(normal,sigma=20m)")
    assert schedule.distribution.sigma == 20 * MINUTE
    assert schedule.distribution.spread(schedule.window.duration) == pytest.approx(1 / 6)
    assert refusal("0 0 * * * @dist(normal,sigma=20)") == ("BAD_DURATION", "20")
    assert refusal("0 0 * * * @dist(normal,sigma=-1s)") == ("NEGATIVE_DURATION", "-1s")
    assert refusal("0 0 * * * @dist(normal,sigma=0s)") == ("BAD_PARAMETER", "0s")


@pytest.mark.req("KSYN-DIST-NORMAL-DEF-AROUND", "KSYN-DIST-NORMAL-DEF-AFTER")
@pytest.mark.parametrize(("mode", "anchor"), [("around", "nominal"), ("after", "mid")])
def test_the_default_mean_is_where_the_window_says(mode, anchor):
    default, written = (
        modified(f"@win({mode},2h) @dist(normal)"),
        modified(f"@win({mode},2h) @dist(normal,mu={anchor})"),
    )
    assert default.distribution.mean(default.window.anchor) == written.distribution.mean(written.window.anchor)
    for u in (0.01, 0.3, 0.5, 0.99):
        assert place(default, u) == place(written, u)


@pytest.mark.req("KSYN-DIST-NORMAL-DEF-SIGMA")
def test_the_default_deviation_is_a_sixth_of_the_window():
    default, written = modified("@win(after,2h) @dist(normal)"), modified("@win(after,2h) @dist(normal,sigma=20m)")
    for u in (0.01, 0.3, 0.5, 0.99):
        assert place(default, u) == pytest.approx(place(written, u))


def place(schedule, u):
    return schedule.distribution.place(u, schedule.window.anchor, schedule.window.duration)


@pytest.mark.req("KSYN-DIST-NORMAL-EX")
def test_the_examples_of_normal():
    assert kron("0 10 * * * @win(around,2h) @dist(normal,sigma=20m)").distribution == Normal(None, 20 * MINUTE)
    schedule = kron("0 10 * * * @win(after,2h)  @dist(normal,mu=start,sigma=15m)")
    assert schedule.distribution == Normal(Anchor.START, 15 * MINUTE)


@pytest.mark.req("KSYN-DIST-SKEW")
@pytest.mark.parametrize(("name", "skew"), [("skewEarly", SkewEarly), ("skewLate", SkewLate)])
def test_a_skew_has_a_shape_above_zero(name, skew):
    assert modified(f"@dist({name})").distribution == skew(2.0)
    for text, shape in (("3", 3.0), ("1.5", 1.5), (".5", 0.5), ("1e-3", 0.001), ("2.", 2.0)):
        assert modified(f"@dist({name},shape={text})").distribution == skew(shape)
    for text in ("0", "0.0", "-1", "+1", "nan", "inf", "1e999", "1e-999", "1_0", "0x2", "\uff12", "two", ""):
        assert refusal(f"0 0 * * * @dist({name},shape={text})") == ("BAD_PARAMETER", text)


@pytest.mark.req("KSYN-DIST-SKEW-EX")
def test_the_examples_of_skews():
    assert kron("0 10 * * * @win(after,2h) @dist(skewEarly,shape=3)").distribution == SkewEarly(3.0)
    assert kron("0 10 * * * @win(after,2h) @dist(skewLate,shape=1.5)").distribution == SkewLate(1.5)


@pytest.mark.req("KSYN-DIST-EXP")
def test_exponential_takes_a_positive_lambda_and_a_direction():
    assert modified("@dist(exponential,lambda=2.5)").distribution == Exponential(2.5)
    assert modified("@dist(exponential,dir=late)").distribution == Exponential(1.0, Direction.LATE)
    for text in ("0", "-1", "nan", "x"):
        assert refusal(f"0 0 * * * @dist(exponential,lambda={text})") == ("BAD_PARAMETER", text)
    for text in ("x", "Early", "start", ""):
        assert refusal(f"0 0 * * * @dist(exponential,dir={text})") == ("BAD_PARAMETER", text)


@pytest.mark.req("KSYN-DIST-EXP-DEF")
def test_exponential_is_early_with_lambda_1_by_default():
    assert modified("@dist(exponential)") == modified("@dist(exponential,lambda=1.0,dir=early)")


@pytest.mark.req("KSYN-DIST-EXP-EX")
def test_the_examples_of_exponential():
    early = kron("0 10 * * * @win(after,2h) @dist(exponential,dir=early,lambda=1.2)")
    assert early.distribution == Exponential(1.2, Direction.EARLY)
    late = kron("0 10 * * * @win(after,2h) @dist(exponential,dir=late,lambda=0.8)")
    assert late.distribution == Exponential(0.8, Direction.LATE)


@pytest.mark.req("KSYN-DIST-DEFAULT")
def test_the_distribution_is_uniform_unless_said_otherwise():
    assert modified("@win(after,2h)") == modified("@win(after,2h) @dist(uniform)")


@pytest.mark.req("KSYN-VAL-DIST")
@pytest.mark.parametrize(
    "body",
    [
        "gauss",
        "uniform,x=1",
        "normal,mu=x",
        "normal,sigma=0s",
        "skewLate,shape=0",
        "exponential,lambda=-1",
        "normal,mu",
    ],
)
def test_a_distribution_is_known_and_its_parameters_in_range(body):
    with pytest.raises(LanguageError):
        modified(f"@dist({body})")


@pytest.mark.req("KSYN-SEED-STRATEGY", "KSYN-VAL-SEED")
def test_a_seed_is_stable_daily_or_weekly():
    for name in ("stable", "daily", "weekly"):
        assert modified(f"@seed({name})").seed == Seed(Strategy(name))
    for name in ("monthly", "Daily", "hourly", "random", "1"):
        assert refusal(f"0 0 * * * @seed({name})") == ("UNKNOWN_STRATEGY", name)


@pytest.mark.req("KSYN-SEED-SALT")
def test_salt_is_the_only_parameter_of_a_seed():
    assert modified("@seed(stable,salt=x)").seed.salt == "x"
    assert refusal("0 0 * * * @seed(stable,pepper=x)") == ("UNKNOWN_PARAMETER", "pepper")
    assert refusal("0 0 * * * @seed(stable,x)") == ("UNKNOWN_PARAMETER", "x")
    assert refusal("0 0 * * * @seed(stable,salt=x,salt=y)") == ("DUPLICATE_PARAMETER", "salt=y")


@pytest.mark.req("KSYN-SEED-STRING")
@pytest.mark.parametrize(
    ("written", "salt"),
    [
        ("prod", "prod"),
        ('"team-a"', "team-a"),
        (r'"a\"b"', 'a"b'),
        (r'"a\\b"', "a\\b"),
        (r"a\"b", 'a"b'),
        ('"a b"', "a b"),
        ('"a,b=c)d(e;f"', "a,b=c)d(e;f"),
        (r"a\)b\,c", "a)b,c"),
        ("größe-日本-🕐", "größe-日本-🕐"),
        ('"a\nb"', "a\nb"),
        ('""', ""),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_a_salt_is_any_text_quoted_where_it_must_be(written, salt):
    assert modified(f"@seed(stable,salt={written})").seed.salt == salt


@pytest.mark.req("KSYN-SEED-STRING")
def test_quotes_are_closed_and_whitespace_is_sheltered():
    assert refusal("0 0 * * * @seed(stable,salt=a b)") == ("UNESCAPED_SPACE", " ")
    assert refusal('0 0 * * * @seed(stable,salt="a b)') == ("UNCLOSED_QUOTE", '"a b)')
    assert refusal(r'0 0 * * * @seed(stable,salt="a\")') == ("UNCLOSED_QUOTE", r'"a\")')
    assert refusal('0 0 * * * @seed(stable,salt=a"b"c)') == ("STRAY_QUOTE", '"')
    assert refusal('0 0 * * * @seed(stable,salt="a"b)') == ("STRAY_QUOTE", '"b')
    assert refusal("0 0 * * * @seed(stable,salt=\ud800)") == ("BAD_CHARACTER", "\ud800")
    assert refusal('0 0 * * * @seed(stable,salt="a\0b")') == ("BAD_CHARACTER", "\0")


@pytest.mark.req("KSYN-SEED-DEFAULT")
def test_the_seed_is_stable_without_salt_unless_said_otherwise():
    assert kron("0 0 * * *").seed == Seed(Strategy.STABLE, "")
    assert modified('@seed(stable,salt="")') == kron("0 0 * * *")


@pytest.mark.req("KSYN-SEED-EX")
def test_the_examples_of_seeds():
    assert kron('0 0 * * * @seed(stable,salt="team-a")').seed == Seed(Strategy.STABLE, "team-a")
    assert kron("0 10 * * * @seed(daily)").seed == Seed(Strategy.DAILY)
    assert kron("0 10 * * MON @seed(weekly,salt=prod)").seed == Seed(Strategy.WEEKLY, "prod")
