"""Schedules made of their parts, and valid texts of each dialect made of the grammar's own words."""

from hypothesis import strategies as st

from kron.language.grammar import DAY_NAMES, MONTH_NAMES
from kron.timing.calendar import Date, day_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import Clauses, Constraints
from kron.timing.schedule.cron import HOURS, MINUTES, MONTH_DAYS, WEEK, YEAR, Cron, possible
from kron.timing.schedule.policy import Overlap, Policy
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
from kron.timing.schedule.window import Mode, Window
from kron.timing.zone import zone

ZONES = ("UTC", "Etc/UTC", "Europe/Paris", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu", "GMT")
LONGEST = (1 << 63) - 1
WRITABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")  # half a character cannot be written down

durations = st.one_of(
    st.integers(0, LONGEST),
    st.integers(0, 48).map(lambda hours: hours * 3_600_000_000_000),
    st.integers(0, 90).map(lambda minutes: minutes * 60_000_000_000),
)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)


@st.composite
def crons(draw, *, seconds=False):
    """A cron of bit sets. A field that is written `*` has all its bits."""
    any_day, any_weekday = draw(st.booleans()), draw(st.booleans())
    return Cron(
        draw(st.one_of(st.integers(1, MINUTES), st.just(MINUTES), st.integers(0, 59).map(lambda m: 1 << m))),
        draw(st.one_of(st.integers(1, HOURS), st.just(HOURS), st.integers(0, 23).map(lambda h: 1 << h))),
        MONTH_DAYS if any_day else draw(st.integers(1, MONTH_DAYS)),
        draw(st.one_of(st.integers(1, YEAR), st.just(YEAR))),
        WEEK if any_weekday else draw(st.integers(1, WEEK)),
        any_day,
        any_weekday,
        draw(st.integers(1, MINUTES)) if seconds else 1,
    )


distributions = st.one_of(
    st.just(Uniform()),
    st.builds(SkewEarly, positive),
    st.builds(SkewLate, positive),
    st.builds(Exponential, positive, st.sampled_from(Direction)),
    st.builds(Normal, st.none() | st.sampled_from(Anchor), st.none() | st.integers(1, LONGEST)),
)
seeds = st.builds(Seed, st.sampled_from(Strategy), st.text(WRITABLE, max_size=20))
policies = st.builds(Policy, st.sampled_from([Overlap.ALLOW, Overlap.SKIP, Overlap.REPLACE]), durations, st.booleans())
days = st.dates().map(lambda date: day_of(Date(date.year, date.month, date.day)))


def spans(ends):
    """Distinct spans in order, as a constraint keeps them."""
    return st.lists(ends, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))


clauses = st.builds(
    Clauses,
    hours=st.just(0) | st.integers(1, HOURS),
    dow=st.just(0) | st.integers(1, WEEK),
    dom=st.just(0) | st.integers(1, MONTH_DAYS).map(lambda bits: bits << 1),
    months=st.just(0) | st.integers(1, YEAR).map(lambda bits: bits << 1),
    between=spans(st.tuples(st.integers(0, 1439), st.integers(0, 1439))),
    dates=spans(st.tuples(days, days).map(lambda pair: tuple(sorted(pair)))),
).filter(lambda made: made != Clauses())
constraints = st.builds(Constraints, st.none() | clauses, st.none() | clauses)

schedules = st.builds(
    Schedule,
    crons().filter(possible),
    st.sampled_from(ZONES).map(zone),
    st.builds(Window, st.sampled_from(Mode), durations),
    distributions,
    seeds,
    constraints,
    policies,
)


# Texts, as people write them


@st.composite
def elements(draw, low, high, names=(), *, steps=True):
    """A number, name, range or step of a field."""

    def value(number):
        named = names and draw(st.booleans())
        word = names[number - low] if named else str(number)
        return draw(st.sampled_from([word, word.lower(), word.title()])) if named else draw(zeros) + word

    first, last = sorted(draw(st.tuples(st.integers(low, high), st.integers(low, high))))
    form = draw(st.sampled_from(["n", "n-m"] + (["*/s", "n-m/s"] if steps else [])))
    text = {"n": value(first), "*/s": "*"}.get(form) or f"{value(first)}-{value(last)}"
    return text + (f"/{draw(st.integers(1, 70))}" if form.endswith("/s") else "")


zeros = st.sampled_from(["", "", "", "0", "00"])
gaps = st.text(" \t", min_size=1, max_size=3)
margins = st.text(" \t", max_size=2)


def fields(low, high, names=(), *, steps=True):
    """A whole field."""
    return st.just("*") | st.lists(elements(low, high, names, steps=steps), min_size=1, max_size=4).map(",".join)


@st.composite
def cron_texts(draw, *, names=True, steps=True, seven=False, seconds=False):
    """The fields of a line, and odd but allowed white space around them."""
    found = [
        fields(0, 59, steps=steps),
        fields(0, 23, steps=steps),
        fields(1, 31, steps=steps),
        fields(1, 12, MONTH_NAMES if names else (), steps=steps),
        fields(0, 6 + seven, (*DAY_NAMES, "SUN")[: 7 + seven] if names and not seven else (), steps=steps),
    ]
    if seconds:
        found = [fields(0, 59, steps=steps), *found]
    words = [draw(field) for field in found]
    return draw(margins) + "".join(word + draw(gaps) for word in words[:-1]) + words[-1] + draw(margins)


posix_texts = cron_texts(names=False, steps=False)
service_texts = st.one_of(cron_texts(), cron_texts(seven=True), cron_texts(seconds=True))


@st.composite
def duration_texts(draw):
    """A duration as Go takes it."""
    number = st.from_regex(r"[0-9]{1,4}|[0-9]{1,4}\.[0-9]{0,6}|\.[0-9]{1,6}", fullmatch=True)
    part = st.tuples(number, st.sampled_from(["ns", "us", "µs", "μs", "ms", "s", "m", "h"])).map("".join)
    return draw(st.just("0") | st.lists(part, min_size=1, max_size=4).map("".join))


def joined(word, parameters):
    """`word,key=value,...` with some of the parameters, in any order."""
    chosen = st.lists(st.sampled_from(sorted(parameters)), unique=True, max_size=len(parameters))
    pairs = chosen.flatmap(lambda keys: st.tuples(*(parameters[key].map(f"{key}={{}}".format) for key in keys)))
    return pairs.map(lambda found: ",".join([*([word] if word else []), *found]))


quoted = st.text(WRITABLE, max_size=8).map(lambda s: '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"')
plain = st.text("abcXYZ0189_-.", max_size=8)
escaped = st.text(WRITABLE, max_size=4).map(lambda s: "".join("\\" + c for c in s))
numbers = st.from_regex(r"[1-9][0-9]{0,5}(\.[0-9]{0,5})?([eE][+-]?[0-9]{1,2})?|\.[0-9]{0,3}[1-9]", fullmatch=True)
times = st.times().map(lambda time: f"{time:%H:%M}")
dates = st.dates().map(lambda date: date.isoformat())
nonzero_durations = st.integers(1, 10**6).map("{}ms".format)


def ranges(low, high, names=()):
    """The value of a set clause."""
    return st.lists(elements(low, high, names, steps=False), min_size=1, max_size=4).map(",".join)


clause_texts = st.one_of(
    ranges(0, 23).map("hours={}".format),
    ranges(0, 6, DAY_NAMES).map("dow={}".format),
    ranges(1, 31).map("dom={}".format),
    ranges(1, 12, MONTH_NAMES).map("months={}".format),
    st.tuples(times, times).map("between={0[0]}-{0[1]}".format),
    dates.map("date={}".format),
    st.tuples(dates, dates).map(sorted).map("dates={0[0]}..{0[1]}".format),
)
constraint_texts = st.one_of(
    st.lists(clause_texts, min_size=1, max_size=4).map(";".join),
    st.lists(clause_texts, min_size=1, max_size=4).map(lambda found: '"' + " ; ".join(found) + '"'),
    st.lists(clause_texts, min_size=1, max_size=4).map(r"\ ;\ ".join),
)
body_texts = {
    "tz": st.sampled_from(ZONES),
    "win": st.tuples(st.sampled_from(["after", "around"]), duration_texts()).map(",".join),
    "dist": st.one_of(
        st.just("uniform"),
        joined("normal", {"mu": st.sampled_from(["nominal", "start", "mid", "end"]), "sigma": nonzero_durations}),
        joined("skewEarly", {"shape": numbers}),
        joined("skewLate", {"shape": numbers}),
        joined("exponential", {"lambda": numbers, "dir": st.sampled_from(["early", "late"])}),
    ),
    "seed": st.sampled_from(["stable", "daily", "weekly"]).flatmap(
        lambda strategy: joined(strategy, {"salt": st.one_of(quoted, plain, escaped)})
    ),
    "policy": joined(
        "",
        {
            "concurrency": st.sampled_from(["allow", "forbid", "replace"]),
            "deadline": duration_texts(),
            "suspend": st.sampled_from(["true", "false"]),
        },
    ).filter(bool),
    "avoid": constraint_texts,
    "only": constraint_texts,
}


@st.composite
def modifier_texts(draw):
    """Some of the seven modifiers, in any order."""
    names = draw(st.lists(st.sampled_from(sorted(body_texts)), unique=True, max_size=7))
    return [f"@{name}({draw(body_texts[name])})" for name in names]


@st.composite
def kron_texts(draw):
    """A text of Kron's own dialect, though its days may be ones that no month has."""
    return draw(cron_texts()) + "".join(draw(gaps) + modifier for modifier in draw(modifier_texts())) + draw(margins)
