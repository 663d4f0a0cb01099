"""Schedule texts of every dialect and named fields, for tests that read definitions."""

from hypothesis import strategies as st

from kron import KronError, parse

ZONES = st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu"])
IDENTITIES = st.sampled_from(["a", "prod/report", "x.y-1"])
DAILY = ["daily", "daily around 14:00", "weekly on monday around 9am", "every 2 hours", "daily around 9am utc+2"]


def field(low, high, names=()):
    """Values, ranges, steps and lists of one cron field."""
    values = st.integers(low, high).map(str)
    spans = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda ab: f"{min(ab)}-{max(ab)}")
    lists = st.lists(values | spans | (st.sampled_from(names) if names else values), min_size=1, max_size=3)
    return st.just("*") | lists.map(",".join) | st.integers(2, 9).map(lambda step: f"*/{step}")


DAYS, MONTHS, WEEKDAYS = field(1, 28), field(1, 12, ("JAN", "dec")), field(0, 6, ("SUN", "fri"))
five = st.tuples(field(0, 59), field(0, 23), DAYS, MONTHS, WEEKDAYS).map(" ".join)
six = st.tuples(field(0, 59), five).map(" ".join)
MODIFIERS = {
    "win": st.sampled_from(["after,2h", "around,90m"]),
    "seed": st.sampled_from(["daily", 'stable,salt="a b"', "stable,salt=@tz"]),
    "policy": st.sampled_from(["concurrency=allow", "deadline=5m"]),
    "avoid": st.sampled_from(["hours=12", "months=JUL,AUG"]),
}
modifiers = st.fixed_dictionaries({}, optional={"tz": ZONES, **MODIFIERS})


def valid(text):
    """Whether a text is valid in the kron dialect."""
    try:
        parse(text, dialect="kron")
    except KronError:
        return False
    return True


kron_texts = st.tuples(five, modifiers).map(
    lambda pair: " ".join([pair[0], *(f"@{name}({body})" for name, body in pair[1].items())])
)
kron_texts = kron_texts.filter(valid)
fields = st.fixed_dictionaries(
    {"schedule": five.filter(valid)},
    optional={
        "timezone": ZONES,
        "window_duration": st.sampled_from(["2h", "90m"]),
        "salt": st.sampled_from(["a b", ")", '"']),
        "policy": st.just({"concurrency": "allow"}),
        "constraints": st.just({"avoid": "hours=12"}),
    },
)
