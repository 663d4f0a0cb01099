"""A job as named fields: the same words as on one line, and the same schedule."""

import pytest
from hypothesis import given, settings

from kron.errors import KronError
from kron.language.canonical import distribution_parameters, write_clauses, write_cron, write_window
from kron.language.krontab import read_table
from kron.language.manifest import FIELDS, define
from kron.language.modifier_args import CONCURRENCY
from kron.timing.decision import decide
from kron.timing.job import Job, Source
from kron.timing.period import Period
from kron.timing.schedule.policy import Overlap, Policy
from kron.timing.schedule.sampling import Exponential, Normal, SkewEarly, SkewLate
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import UTC_ZONE
from tests.language import texts
from tests.language.asking import kron

NAMES = {overlap: name for name, overlap in CONCURRENCY.items()}

MINIMAL = {"identity": "a", "schedule": "0 10 * * *"}
EVERYTHING = {
    "identity": "msgs/paris",
    "schedule": "0 10 * * *",
    "timezone": "Europe/Paris",
    "window_mode": "around",
    "window_duration": "90m",
    "distribution": {"name": "skewLate", "shape": 2.5},
    "seed_strategy": "daily",
    "salt": 'a "b" c',
    "constraints": {"only": "dow=MON-FRI;between=08:00-20:00", "avoid": "date=2026-12-25"},
    "policy": {"concurrency": "replace", "deadline": "10m", "suspend": True},
}
ONE_LINE = (
    '0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) @seed(daily,salt="a \\"b\\" c")'
    " @only(dow=MON-FRI;between=08:00-20:00) @avoid(date=2026-12-25)"
    " @policy(concurrency=replace,deadline=10m,suspend=true)"
)


def code(**fields):
    with pytest.raises(KronError) as caught:
        define({**MINIMAL, **fields})
    return caught.value.code


@pytest.mark.req("KSYN-SCOPE-CRD")
def test_the_fields_and_the_line_and_the_krontab_entry_give_equal_schedules():
    (job,) = read_table(f"{ONE_LINE} name=x command=y", "/t").jobs
    assert define(EVERYTHING).schedule == kron(ONE_LINE) == job.schedule


@pytest.mark.req("KSYN-SCOPE-CRD")
@settings(max_examples=100, deadline=None)
@given(texts.schedules)
def test_any_schedule_can_be_given_by_fields(schedule):
    given = {
        "identity": "a",
        "schedule": write_cron(schedule.cron),
        "timezone": schedule.zone.name,
        "window_mode": str(schedule.window.mode),
        "window_duration": write_window(schedule.window).partition(",")[2],
        "distribution": {"name": schedule.distribution.name, **distribution_parameters(schedule)},
        "seed_strategy": str(schedule.seed.strategy),
        "salt": schedule.seed.salt,
        "constraints": {
            "only": write_clauses(schedule.constraints.only) if schedule.constraints.only else None,
            "avoid": write_clauses(schedule.constraints.avoid) if schedule.constraints.avoid else None,
        },
        "policy": {
            "concurrency": NAMES[schedule.policy.overlap],
            "deadline": f"{schedule.policy.deadline}ns",
            "suspend": schedule.policy.suspend,
        },
    }
    assert define(given).schedule == schedule


@pytest.mark.req("KSPEC-IN-FIELDS")
def test_a_job_has_exactly_the_fields_of_the_specification():
    assert set(FIELDS) == set(EVERYTHING)
    schedule = define(EVERYTHING).schedule
    for field in EVERYTHING.keys() - {"identity", "schedule"}:
        without = {name: value for name, value in EVERYTHING.items() if name != field}
        assert define(without).schedule != schedule, f"{field} says nothing"
    assert code(retries=3) == "UNKNOWN_FIELD"
    assert code(constraints={"never": "hours=8"}) == "UNKNOWN_FIELD"
    for field in ("identity", "schedule"):
        with pytest.raises(KronError, match=f"field {field} is missing"):
            define({name: value for name, value in EVERYTHING.items() if name != field})


@pytest.mark.req("KSPEC-IN-FIELDS")
def test_the_distribution_is_a_name_with_parameters():
    def distribution(**parameters):
        return define({**MINIMAL, "distribution": parameters}).schedule.distribution

    assert distribution(name="skewEarly") == SkewEarly(2.0)
    assert distribution(name="skewLate", shape="1.5") == distribution(name="skewLate", shape=1.5) == SkewLate(1.5)
    assert distribution(name="normal", sigma="20m") == Normal(None, 1200 * SECOND)
    assert distribution(**{"name": "exponential", "lambda": 2}) == Exponential(2.0)
    assert code(distribution={"name": "gauss"}) == "UNKNOWN_DISTRIBUTION"
    assert code(distribution={"name": "normal", "mu": "start,sigma=5m"}) == "BAD_FIELD"


@pytest.mark.req("KSPEC-IN-TZDEF")
def test_the_zone_is_utc_by_default():
    assert define(MINIMAL).schedule.zone is UTC_ZONE
    assert define({**MINIMAL, "timezone": None}).schedule.zone is UTC_ZONE
    assert define({**MINIMAL, "timezone": "Asia/Tokyo"}).schedule.zone.name == "Asia/Tokyo"
    assert code(timezone="Mars/Base") == "UNKNOWN_ZONE"


@pytest.mark.req("KSPEC-IN-WINMODE")
def test_the_window_is_after_or_around_and_not_negative():
    def window(**fields):
        return define({**MINIMAL, **fields}).schedule.window

    assert window() == Window(Mode.AFTER, 0)
    assert window(window_mode="after", window_duration="2h") == Window(Mode.AFTER, 7200 * SECOND)
    assert window(window_mode="around", window_duration="0s") == Window(Mode.AROUND, 0)
    assert window(window_duration="1s") == Window(Mode.AFTER, SECOND)
    assert code(window_mode="before", window_duration="2h") == "UNKNOWN_MODE"
    assert code(window_mode="after", window_duration="-1s") == "NEGATIVE_DURATION"
    assert code(window_mode="after", window_duration="soon") == "BAD_DURATION"


@pytest.mark.req("KSPEC-IN-POLICY")
def test_the_policy_forbids_overlap_allows_no_lateness_and_is_not_suspended_by_default():
    def policy(**fields):
        return define({**MINIMAL, "policy": fields}).schedule.policy

    assert define(MINIMAL).schedule.policy == policy() == Policy(Overlap.SKIP, 0, suspend=False)
    for concurrency in ("allow", "forbid", "replace"):
        assert policy(concurrency=concurrency).overlap is CONCURRENCY[concurrency]
    assert policy(deadline="10m").deadline == 600 * SECOND
    assert policy(suspend=True).suspend is policy(suspend="true").suspend is True
    assert code(policy={"concurrency": "skip"}) == "BAD_PARAMETER"
    assert code(policy={"deadline": "-1s"}) == "NEGATIVE_DURATION"
    assert code(policy={"suspend": 1}) == "BAD_PARAMETER"
    assert code(policy={"retries": 3}) == "UNKNOWN_PARAMETER"


@pytest.mark.req("KSPEC-TERM-IDENTITY")
def test_the_identity_is_kept_as_it_is_and_sets_the_decisions_apart():
    schedule = kron("0 0 * * * @win(after,3h)")
    one, other = define({**MINIMAL, "identity": "prod/a"}), define({**MINIMAL, "identity": "prod/b"})
    assert one == Job("prod/a", one.schedule, source=Source(MINIMAL["schedule"], "kron", "UTC"))
    assert one.schedule == other.schedule
    assert decide(schedule, Period(0), one.identity) == decide(schedule, Period(0), "prod/a")
    assert decide(schedule, Period(0), one.identity).chosen != decide(schedule, Period(0), other.identity).chosen
    assert code(identity="a\nb") == "BAD_FIELD"
    assert code(identity="") == "MISSING_FIELD"
    (first,), (second,) = (
        read_table(f"{text} name=x command=y", "/etc/krontab").jobs for text in ("0 0 * * *", ONE_LINE)
    )
    assert first.identity == second.identity == "/etc/krontab:x"  # whatever the schedule says


@pytest.mark.parametrize(
    "field", [field for field in FIELDS if field not in ("window_mode", "window_duration", "seed_strategy")]
)
@pytest.mark.parametrize("value", [5, True, ["x"], b"x", object()], ids=["int", "bool", "list", "bytes", "object"])
def test_a_field_of_another_type_is_refused_in_words(field, value):
    assert code(**{field: value}) == "BAD_FIELD"
