"""Constraints against a slow and obvious oracle: ask the standard library what the wall shows, and compare."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kron import Period, decide, parse, periods, to_record
from kron.language.lint import admissible
from kron.timing.decision import MAX_DRAWS, candidates, count_rejections, violated_clause
from kron.timing.schedule.sampling import draw
from kron.timing.zone import instant_of, moment

DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kathmandu",  # +05:45
    "Australia/Lord_Howe",  # changes by half an hour
    "America/St_Johns",
    "Pacific/Apia",  # has no 2011-12-30
    "Pacific/Kiritimati",  # +14:00
    "Africa/Monrovia",  # -00:44:30 until 1972
    "Europe/Dublin",  # whose winter is the saving time
    "Antarctica/Troll",  # changes by two hours
    "Africa/Casablanca",
)


def kron(text):
    return parse(text, dialect="kron")


def wall(zone, t):
    return datetime.fromtimestamp(t, UTC).astimezone(ZoneInfo(zone))


# The oracle. A constraint is a list of clauses (key, value) as a person would write them down.


def holds(clause, at):
    key, value = clause
    match key:
        case "hours":
            return at.hour in value
        case "dow":
            return at.isoweekday() % 7 in value
        case "dom":
            return at.day in value
        case "months":
            return at.month in value
        case "between":
            start, end = value
            now = (at.hour, at.minute)
            return start <= now <= end if start <= end else now >= start or now <= end
        case _:
            first, last = value
            return first <= at.date() <= last


def kind(clause):
    return "dates" if clause[0] == "date" else clause[0]


def satisfied(clauses, at):
    """Whether for every key that was written one of its clauses holds."""
    return all(any(holds(c, at) for c in clauses if kind(c) == key) for key in map(kind, clauses))


def hit(clauses, at):
    return any(holds(clause, at) for clause in clauses)


def write(clauses):
    return ";".join(f"{key}={write_value(key, value)}" for key, value in clauses)


def write_value(key, value):
    match key:
        case "between":
            return "-".join(f"{hour:02d}:{minute:02d}" for hour, minute in value)
        case "date":
            return value[0].isoformat()
        case "dates":
            return f"{value[0].isoformat()}..{value[1].isoformat()}"
        case "dow":
            return ",".join(DAYS[day] for day in sorted(value))
        case _:
            return ",".join(map(str, sorted(value)))


@st.composite
def clauses_near(draw, at):
    """Clauses whose ends lie near what the wall shows, where mistakes would be made."""

    def clock(shift):
        then = at + timedelta(minutes=draw(st.integers(-shift, shift)))
        return then.hour, then.minute

    def day():
        return at.date() + timedelta(days=draw(st.integers(-2, 2)))

    def clause():
        key = draw(st.sampled_from(["hours", "dow", "dom", "months", "between", "date", "dates"]))
        match key:
            case "hours":
                value = draw(st.sets(st.integers(0, 23), min_size=1))
            case "dow":
                value = draw(st.sets(st.integers(0, 6), min_size=1))
            case "dom":
                value = draw(st.sets(st.integers(1, 31), min_size=1))
            case "months":
                value = draw(st.sets(st.integers(1, 12), min_size=1))
            case "between":
                value = (clock(3), clock(900))
                value = value if draw(st.booleans()) else value[::-1]
            case "date":
                value = (day(),) * 2
            case _:
                value = tuple(sorted((day(), day())))
        return key, value

    return [clause() for _ in range(draw(st.integers(1, 4)))]


@st.composite
def cases(draw):
    zone = draw(st.sampled_from(ZONES))
    t = draw(st.integers(instant_of("1960-01-01T00:00:00Z"), instant_of("2090-01-01T00:00:00Z")))
    at = wall(zone, t)
    only, avoid = (draw(st.none() | clauses_near(at)) for _ in range(2))
    assume(only or avoid)
    text = f"* * * * * @tz({zone})"
    text += f" @only({write(only)})" if only else ""
    text += f" @avoid({write(avoid)})" if avoid else ""
    return kron(text), t, only, avoid


@pytest.mark.req("KSPEC-CON-ONLY", "KSPEC-CON-AVOID", "KSPEC-CON-BOTH", "KSPEC-CON-TZ", "KSYN-CON-TZ", "KSPEC-TIME-TZ")
@settings(deadline=None, max_examples=500)
@given(cases())
def test_a_second_is_admissible_just_when_the_oracle_says_so(case):
    schedule, t, only, avoid = case
    at = wall(schedule.zone.name, t)
    allowed = (not only or satisfied(only, at)) and not (avoid and hit(avoid, at))
    assert (violated_clause(schedule, t) == "") == allowed


@settings(deadline=None, max_examples=200)
@given(cases())
def test_an_objection_names_a_clause_that_is_against_it(case):
    schedule, t, only, avoid = case
    refused = violated_clause(schedule, t)
    assume(refused)
    way, key = refused.split()
    at = wall(schedule.zone.name, t)
    named = [holds(clause, at) for clause in (only if way == "only" else avoid) if kind(clause) == key]
    assert any(named) == (way == "avoid")


@pytest.mark.req("KSPEC-CON-BOTH")
@pytest.mark.parametrize(
    ("at", "allowed"),
    [
        ("2026-03-02T10:00:00Z", True),  # in only, not in avoid
        ("2026-03-02T12:00:00Z", False),  # in only, in avoid
        ("2026-03-02T20:00:00Z", False),  # not in only, not in avoid
        ("2026-03-02T22:00:00Z", False),  # not in only, in avoid
    ],
)
def test_the_truth_table_of_only_and_avoid(at, allowed):
    schedule = kron("* * * * * @only(hours=8-18) @avoid(hours=12,22)")
    decision = decide(schedule, Period(instant_of(at)), "job")
    assert (decision.chosen is not None) == allowed


@pytest.mark.req("KSPEC-CON-ONLY", "KSPEC-CON-AVOID")
@pytest.mark.parametrize(
    ("constraint", "at", "allowed"),
    [
        # values of a clause, and a key given twice, are alternatives
        ("only(hours=9,11)", "2026-03-02T11:30:00Z", True),
        ("only(hours=9;hours=11)", "2026-03-02T11:30:00Z", True),
        ("only(hours=9;hours=11)", "2026-03-02T10:30:00Z", False),
        ("only(date=2026-03-01;dates=2026-03-03..2026-03-04)", "2026-03-03T00:00:00Z", True),
        # of different keys `only` wants every one, and `avoid` is against any
        ("only(dow=MON;hours=8-18)", "2026-03-02T10:00:00Z", True),
        ("only(dow=MON;hours=8-18)", "2026-03-02T19:00:00Z", False),
        ("only(dow=MON;hours=8-18)", "2026-03-03T10:00:00Z", False),
        ("avoid(dow=SAT;hours=0-6)", "2026-03-07T12:00:00Z", False),
        ("avoid(dow=SAT;hours=0-6)", "2026-03-06T03:00:00Z", False),
        ("avoid(dow=SAT;hours=0-6)", "2026-03-06T12:00:00Z", True),
    ],
)
def test_how_clauses_combine(constraint, at, allowed):
    assert (violated_clause(kron(f"* * * * * @{constraint}"), instant_of(at)) == "") == allowed


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        ("between=08:00-20:00", ("2026-03-02T08:00:00Z", "2026-03-02T20:00:59Z"), ("07:59:59", "20:01:00")),
        ("between=12:00-12:00", ("2026-03-02T12:00:00Z", "2026-03-02T12:00:59Z"), ("11:59:59", "12:01:00")),
        ("hours=8-18", ("2026-03-02T08:00:00Z", "2026-03-02T18:59:59Z"), ("07:59:59", "19:00:00")),
        ("between=22:00-06:00", ("2026-03-02T22:00:00Z", "2026-03-02T06:00:59Z"), ("21:59:59", "06:01:00")),
        ("between=22:00-06:00", ("2026-03-02T00:00:00Z", "2026-03-02T23:59:59Z"), ("12:00:00", "18:00:00")),
        ("between=00:00-23:59", ("2026-03-02T00:00:00Z", "2026-03-02T23:59:59Z"), ()),
    ],
)
def test_ends_are_included_to_their_last_second_and_between_may_run_across_midnight(constraint, inside, outside):
    only, avoid = kron(f"* * * * * @only({constraint})"), kron(f"* * * * * @avoid({constraint})")
    for at in inside:
        assert violated_clause(only, instant_of(at)) == ""
        assert violated_clause(avoid, instant_of(at)) == f"avoid {constraint.split('=')[0]}"
    for clock in outside:
        t = instant_of(f"2026-03-02T{clock}Z")
        assert violated_clause(only, t).startswith("only")
        assert violated_clause(avoid, t) == ""


@pytest.mark.req("KSPEC-CON-TZ", "KSYN-CON-TZ", "KSPEC-TIME-TZ")
def test_one_instant_is_allowed_in_one_zone_and_refused_in_another():
    t = instant_of("2026-03-01T03:30:00Z")  # Sunday 03:30 in UTC, Saturday 19:30 in Los Angeles
    for constraint in (
        "only(dow=SAT)",
        "only(hours=19)",
        "only(between=19:00-20:00)",
        "avoid(hours=3)",
        "only(dom=28)",
    ):
        assert violated_clause(kron(f"* * * * * @tz(America/Los_Angeles) @{constraint}"), t) == ""
        assert violated_clause(kron(f"* * * * * @{constraint}"), t) != ""


@pytest.mark.req("KSPEC-TIME-TZ")
def test_schedule_and_constraint_are_read_in_the_same_zone():
    schedule = kron("0 10 * * * @tz(Europe/Paris) @only(hours=10)")
    winter, summer = (next(periods(schedule, moment(instant_of(f"2026-{m}-01T00:00:00Z")))) for m in ("01", "07"))
    assert (winter.id, summer.id) == ("2026-01-01T09:00:00Z", "2026-07-01T08:00:00Z")
    assert [decide(schedule, p, "job").chosen for p in (winter, summer)] == [winter.nominal, summer.nominal]


@pytest.mark.req("KSYN-CON-WHEN", "KSYN-CON-REDRAW", "KSPEC-CON-LOOP", "KSPEC-TERM-CANDIDATE")
@settings(deadline=None)
@given(st.integers(0, 59), st.integers(1, 30), st.text("abc", min_size=1))
def test_the_chosen_time_is_the_first_of_the_same_candidates_that_the_constraints_allow(minute, length, identity):
    free = kron("0 10 * * * @win(after,2h)")
    end = 600 + minute + length
    bound = kron(f"0 10 * * * @win(after,2h) @only(between=10:{minute:02d}-{end // 60:02d}:{end % 60:02d})")
    period = Period(instant_of("2026-03-02T10:00:00Z"))
    decision = decide(bound, period, identity)
    assert decision.window == decide(free, period, identity).window
    assert decision.seed_hash == decide(free, period, identity).seed_hash
    tried = list(candidates(free, period.nominal, decision.seed_hash))
    assert tried == list(candidates(bound, period.nominal, decision.seed_hash))
    allowed = [10 * 60 + minute <= t % 86_400 // 60 <= end for t in tried]
    expected = next(((t, n) for n, (t, ok) in enumerate(zip(tried, allowed, strict=True), 1) if ok), (None, 64))
    assert (decision.chosen, decision.draws) == expected


@pytest.mark.req("KSYN-CON-REDRAW", "KSPEC-CON-LOOP")
def test_a_narrow_constraint_takes_several_draws():
    schedule = kron("0 10 * * * @win(after,2h) @only(between=11:00-11:05)")
    period = Period(instant_of("2026-03-02T10:00:00Z"))
    attempts = [decide(schedule, period, f"job-{i}").draws for i in range(200)]
    # each draw succeeds with p = 360/7201, so that the mean of the first success is about 20
    assert min(attempts) < 5
    assert 15 < sum(attempts) / len(attempts) < 25
    assert max(attempts) == 64


@pytest.mark.req("KSPEC-CON-BUDGET", "KSYN-CON-UNSCHED", "KSYN-VAL-UNSCHED")
@pytest.mark.parametrize("distribution", ["uniform", "skewEarly", "skewLate", "normal", "exponential"])
def test_an_impossible_constraint_uses_up_the_64_draws_and_the_period_is_unschedulable(distribution):
    schedule = kron(f"0 10 * * * @win(after,1h) @dist({distribution}) @only(hours=12)")
    for identity in ("a", "b", "c"):
        decision = decide(schedule, Period(instant_of("2026-03-02T10:00:00Z")), identity)
        assert (decision.chosen, decision.draws, decision.unschedulable) == (None, 64, True)
        assert to_record(decision)["outcome"] == "unschedulable"
    assert MAX_DRAWS == 64


@pytest.mark.req("KSPEC-CON-BUDGET")
def test_the_budget_is_64_draws_and_not_one_more():
    """Among many jobs some find their time in the last draw, and some would have in the next."""
    schedule = kron("0 10 * * * @win(after,2h) @only(between=11:00-11:01)")
    period = Period(instant_of("2026-03-02T10:00:00Z"))
    made = [decide(schedule, period, f"job-{i}") for i in range(3_000)]
    assert max(decision.draws for decision in made if decision.chosen) == 64
    failed = [decision for decision in made if decision.chosen is None]
    assert {decision.draws for decision in failed} == {64}
    next_draws = [period.nominal + int(draw(decision.seed_hash, 65) * 7201) for decision in failed]
    assert any(not violated_clause(schedule, t) for t in next_draws)


@pytest.mark.req("KSYN-CON-EX2")
def test_example_weekdays_only():
    schedule = kron("0 18 * * * @win(around,1h) @only(dow=MON-FRI;between=08:00-20:00)")
    for day, runs in ((6, True), (7, False), (8, False), (9, True)):  # the 7th of March 2026 is a Saturday
        assert (decide(schedule, Period(instant_of(f"2026-03-0{day}T18:00:00Z")), "job").chosen is not None) == runs


@pytest.mark.req("KSYN-CON-EX3")
def test_example_not_at_christmas():
    schedule = kron("0 19 * * * @avoid(date=2026-12-25)")
    for day, runs in ((24, True), (25, False), (26, True)):
        assert (decide(schedule, Period(instant_of(f"2026-12-{day}T19:00:00Z")), "job").chosen is not None) == runs


@pytest.mark.req("KSYN-CON-EX4")
def test_example_not_between_the_years_both_ends_excluded():
    schedule = kron("0 19 * * * @avoid(dates=2026-12-24..2026-12-31)")
    days = [f"2026-12-{day}" for day in range(23, 32)] + ["2027-01-01"]
    made = [decide(schedule, Period(instant_of(f"{day}T19:00:00Z")), "job") for day in days]
    assert [decision.unschedulable for decision in made] == [False] + [True] * 8 + [False]


@settings(deadline=None)
@given(cases(), st.sampled_from(["after,90m", "around,3h1s", "after,26h"]), st.text("ab", min_size=1, max_size=3))
def test_the_tally_is_a_recount_of_the_refused_candidates(case, window, identity):
    schedule = replace(case[0], window=kron(f"* * * * * @win({window})").window)
    decision = decide(schedule, Period(case[1] // 60 * 60), identity)
    tried = islice(candidates(schedule, decision.period.nominal, decision.seed_hash), decision.draws)
    recount = Counter(violated_clause(schedule, t) for t in tried)
    assert recount.pop("", 0) == (decision.chosen is not None)
    assert count_rejections(decision) == recount


def test_without_a_window_the_refused_nominal_time_is_counted():
    decision = decide(kron("0 19 * * * @avoid(date=2026-12-25)"), Period(instant_of("2026-12-25T19:00:00Z")), "job")
    assert count_rejections(decision) == {"avoid dates": 1}


@settings(deadline=None, max_examples=60)
@given(
    cases(),
    st.sampled_from(["after,0s", "after,90m", "around,1h1m1s", "after,2500ms", "around,3001ms", "after,1ns"]),
    st.sampled_from(["uniform", "skewEarly", "skewLate,shape=0.5", "normal,mu=start", "exponential,dir=late"]),
)
def test_the_admissible_share_is_what_counting_the_seconds_gives(case, window, distribution):
    other = kron(f"* * * * * @win({window}) @dist({distribution})")
    schedule = replace(case[0], window=other.window, distribution=other.distribution)
    w, period = schedule.window, Period(case[1])
    edges = [
        schedule.distribution.below(k / (w.last - w.origin + 1), w.anchor, w.duration or 1)
        for k in range(w.last - w.origin + 2)
    ]
    share = sum(
        edges[k + 1] - edges[k]
        for k in range(w.last - w.origin + 1)
        if not violated_clause(schedule, period.nominal + max(w.first, w.origin + k))
    )
    assert admissible(schedule, period) == pytest.approx(share, abs=1e-9)


def test_a_day_that_does_not_exist_is_never_hit():
    """Samoa went from the 29th to the 31st of December 2011."""
    schedule = kron("* * * * * @tz(Pacific/Apia) @only(date=2011-12-30)")
    start = instant_of("2011-12-30T00:00:00Z")
    assert all(violated_clause(schedule, t) for t in range(start - 86_400, start + 3 * 86_400, 600))
    assert date(2011, 12, 31) in {wall("Pacific/Apia", t).date() for t in range(start, start + 86_400, 600)}
