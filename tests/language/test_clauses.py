"""@policy, @only and @avoid, clause by clause of the syntax document."""

from dataclasses import replace

import pytest

from kron.language import parse
from kron.language.modifier_args import CONCURRENCY
from kron.timing.schedule.policy import Overlap, Policy
from kron.timing.schedule.window import SECOND
from tests.language.asking import kron, modified, numbers, refusal

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.req("KSYN-POL-CONCURRENCY")
def test_concurrency_is_allow_forbid_or_replace_and_forbid_by_default():
    for name in ("allow", "forbid", "replace"):
        assert modified(f"@policy(concurrency={name})").policy.overlap is CONCURRENCY[name]
    assert kron("0 0 * * *").policy.overlap is Overlap.SKIP
    for name in ("skip", "Forbid", "queue", ""):
        assert refusal(f"0 0 * * * @policy(concurrency={name})") == ("BAD_PARAMETER", name)


@pytest.mark.req("KSYN-POL-DEADLINE")
def test_a_deadline_is_a_duration_and_0s_by_default():
    assert modified("@policy(deadline=10m)").policy.deadline == 10 * MINUTE
    assert kron("0 0 * * *").policy.deadline == 0
    assert modified("@policy(deadline=0s)") == kron("0 0 * * *")
    assert refusal("0 0 * * * @policy(deadline=-1s)") == ("NEGATIVE_DURATION", "-1s")
    assert refusal("0 0 * * * @policy(deadline=10)") == ("BAD_DURATION", "10")


@pytest.mark.req("KSYN-POL-SUSPEND")
def test_suspend_is_true_or_false_and_false_by_default():
    assert modified("@policy(suspend=true)").policy.suspend is True
    assert modified("@policy(suspend=false)").policy.suspend is False
    assert kron("0 0 * * *").policy.suspend is False
    for text in ("yes", "True", "1", ""):
        assert refusal(f"0 0 * * * @policy(suspend={text})") == ("BAD_PARAMETER", text)


@pytest.mark.req("KSYN-POL-EX")
def test_the_examples_of_policies():
    assert kron("0 0 * * * @policy(concurrency=forbid,deadline=10m)").policy == Policy(deadline=10 * MINUTE)
    assert kron("0 10 * * * @policy(concurrency=replace)").policy == Policy(Overlap.REPLACE)


@pytest.mark.req("KSYN-VAL-POLICY")
def test_policy_keys_are_known_and_come_once():
    assert refusal("0 0 * * * @policy(retries=3)") == ("UNKNOWN_PARAMETER", "retries")
    assert refusal("0 0 * * * @policy(suspend=true,suspend=true)") == ("DUPLICATE_PARAMETER", "suspend=true")
    assert refusal("0 0 * * * @policy(concurrency)") == ("BAD_PARAMETER", "concurrency")
    assert refusal("0 0 * * * @policy(forbid)") == ("UNKNOWN_PARAMETER", "forbid")


def only(spec):
    return modified(f"@only({spec})").constraints.only


@pytest.mark.req("KSYN-CON-LIST")
def test_clauses_are_joined_by_semicolons():
    found = only("dow=MON-FRI;between=08:00-20:00")
    assert (numbers(found.dow), found.between) == ([1, 2, 3, 4, 5], ((480, 1200),))
    assert modified("@avoid(dow=MON-FRI;between=08:00-20:00)").constraints.avoid == found
    for spec in ("hours=8;", ";hours=8", "hours=8;;dow=1"):
        assert refusal(f"0 0 * * * @only({spec})")[0] == "EMPTY_CLAUSE"
    assert refusal("0 0 * * * @only(hours=8,dow=1)") == ("NOT_A_NUMBER", "dow=1")


@pytest.mark.req("KSYN-CON-LIST")
def test_a_key_given_twice_means_either():
    assert only("hours=8;hours=10-11") == only("hours=8,10-11")
    assert only("date=2026-01-01;date=2026-01-03").dates == only("date=2026-01-03;date=2026-01-01").dates


@pytest.mark.req("KSYN-CON-HOURS")
def test_hours():
    assert numbers(only("hours=8-18").hours) == list(range(8, 19))
    assert refusal("0 0 * * * @only(hours=24)") == ("OUT_OF_RANGE", "24")
    assert refusal("0 0 * * * @only(hours=18-8)") == ("REVERSED_RANGE", "18-8")


@pytest.mark.req("KSYN-CON-DOW")
def test_dow_takes_numbers_and_names():
    assert numbers(only("dow=MON-FRI").dow) == [1, 2, 3, 4, 5]
    assert only("dow=mon-fri") == only("dow=1-5") == only("dow=1,TUE,3-THU,5")
    for bad in ("7", "MONDAY", "JAN"):
        assert refusal(f"0 0 * * * @only(dow={bad})")[1] == bad


@pytest.mark.req("KSYN-CON-DOM")
def test_dom():
    assert numbers(only("dom=1-5,15").dom) == [1, 2, 3, 4, 5, 15]
    for bad in ("0", "32"):
        assert refusal(f"0 0 * * * @only(dom={bad})") == ("OUT_OF_RANGE", bad)


@pytest.mark.req("KSYN-CON-MONTHS")
def test_months_take_numbers_and_names():
    assert numbers(only("months=JAN,6-8").months) == [1, 6, 7, 8]
    assert only("months=dec") == only("months=12")
    for bad in ("0", "13", "June", "MON"):
        assert refusal(f"0 0 * * * @only(months={bad})")[1] == bad


@pytest.mark.req("KSYN-CON-BETWEEN")
def test_between_takes_two_times_of_day():
    assert only("between=08:00-20:00").between == ((480, 1200),)
    assert only("between=22:00-06:00").between == ((1320, 360),)  # across midnight
    assert only("between=00:00-23:59").between == ((0, 1439),)
    for bad in ("8:00", "24:00", "08:60", "0800", "\uff10\uff18:00", "", "08:00:00"):
        assert refusal(f"0 0 * * * @only(between={bad}-20:00)") == ("BAD_TIME", bad)
    assert refusal("0 0 * * * @only(between=08:00)") == ("BAD_TIME", "08:00")


@pytest.mark.req("KSYN-CON-DATE")
def test_date_is_a_day_of_the_calendar():
    assert only("date=1970-01-02").dates == ((1, 1),)
    assert only("date=2024-02-29").dates == ((19_782, 19_782),)
    for bad in ("2026-02-30", "2025-02-29", "2026-13-01", "2026-00-01", "2026-1-1", "26-01-01", "2026-12-25Z"):
        assert refusal(f"0 0 * * * @avoid(date={bad})") == ("BAD_DATE", bad)


@pytest.mark.req("KSYN-CON-DATES")
def test_dates_hold_both_ends():
    assert only("dates=1970-01-01..1970-01-03").dates == ((0, 2),)
    assert only("dates=1970-01-01..1970-01-01") == only("date=1970-01-01")
    assert refusal("0 0 * * * @avoid(dates=2026-12-31..2026-12-24)")[0] == "REVERSED_RANGE"
    assert refusal("0 0 * * * @avoid(dates=2026-12-24)")[0] == "BAD_DATE"
    assert refusal("0 0 * * * @avoid(dates=2026-12-24..2026-12-32)") == ("BAD_DATE", "2026-12-32")


@pytest.mark.req("KSYN-CON-RANGES")
def test_ranges_are_numbers_lists_and_hyphens():
    assert numbers(only("hours=1-5,7,9-12").hours) == [1, 2, 3, 4, 5, 7, 9, 10, 11, 12]
    assert numbers(only("dom=1-5,7,9-12").dom) == [1, 2, 3, 4, 5, 7, 9, 10, 11, 12]
    assert refusal("0 0 * * * @only(hours=*/2)") == ("STEP", "*/2")
    assert refusal("0 0 * * * @only(hours=*)") == ("BAD_CLAUSE", "*")
    assert refusal("0 0 * * * @only(hours=)") == ("BAD_CLAUSE", "hours=")
    assert refusal("0 0 * * * @only(hours=1,)")[0] == "EMPTY_ELEMENT"


@pytest.mark.req("KSYN-CON-EX1")
def test_the_first_example_of_constraints():
    schedule = kron("0 10 * * * @win(after,2h) @avoid(hours=0-6)")
    assert numbers(schedule.constraints.avoid.hours) == [0, 1, 2, 3, 4, 5, 6]
    assert schedule.constraints.only is None


@pytest.mark.req("KSYN-VAL-CON")
def test_clause_keys_are_known():
    assert refusal("0 0 * * * @only(foo=1)") == ("UNKNOWN_CLAUSE", "foo")
    assert refusal("0 0 * * * @avoid(Hours=1)") == ("UNKNOWN_CLAUSE", "Hours")
    assert refusal("0 0 * * * @only(weekend)") == ("UNKNOWN_CLAUSE", "weekend")
    assert refusal("0 0 * * * @only(hours)") == ("BAD_CLAUSE", "hours")
    assert refusal("0 0 * * * @only(between=8am-5pm)") == ("BAD_TIME", "8am")


@pytest.mark.req("KSYN-VAL-BOTH")
def test_only_and_avoid_may_both_be_there():
    constraints = modified("@only(hours=8-18) @avoid(dow=SAT)").constraints
    assert numbers(constraints.only.hours) == list(range(8, 19))
    assert numbers(constraints.avoid.dow) == [6]


def test_policy_keys_replace_only_their_own_fields_of_a_base():
    base = Policy(Overlap.QUEUE, deadline=None, run_lease=MINUTE)
    for text, changed in {
        "": {},
        "@policy(deadline=0s)": {"deadline": 0},
        "@policy(concurrency=allow)": {"overlap": Overlap.ALLOW},
        "@policy(concurrency=forbid)": {"overlap": Overlap.SKIP},
        "@policy(suspend=true)": {"suspend": True},
        "@policy(concurrency=replace,deadline=5m)": {"overlap": Overlap.REPLACE, "deadline": 5 * MINUTE},
    }.items():
        found = parse(f"0 9 * * * {text}".strip(), dialect="kron", policy=base).policy
        assert found == replace(base, **changed), text


def test_parse_keeps_the_base_policy_in_every_dialect():
    base = Policy(deadline=None)
    texts = {"posix": "0 9 * * *", "service": "0 0 9 * * *", "kron": "0 9 * * *", "fuzzy": "daily"}
    for dialect, text in texts.items():
        assert parse(text, dialect=dialect, identity="x", policy=base).policy == base
        assert parse(text, dialect=dialect, identity="x").policy == Policy()
