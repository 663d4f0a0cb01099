"""Specs of KronJobs: the same table for the schema and the operator, and the same schedule as one line gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.operator.crd import resource_definition
from kron.apps.operator.definition import OperatorDefaults, fields_of, identity_of, job_of_kronjob
from kron.errors import KronError
from kron.kube.kind import Place
from kron.language.canonical import distribution_parameters, write_clauses, write_cron, write_window
from kron.language.manifest import define
from kron.language.modifier_args import CONCURRENCY
from kron.timing.schedule.policy import MINUTE, SECOND, Catchup, Overlap, Resume, WorkerLossPolicy
from tests.language import texts
from tests.language.asking import kron
from tests.operator.specs import BAD, GOOD, LONG_LINE, MINIMAL, OPERATOR, RULE, SCHEMA, TEMPLATE, spec_of
from tests.operator.validation import problems

PLACE = Place("shop", "report")
SPEC_SCHEMA = resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
NAMES = {overlap: name for name, overlap in CONCURRENCY.items()}
LONG_FIELDS = {  # the same schedule as `LONG_LINE`
    "timezone": "Europe/Paris",
    "window": {"duration": "2h"},
    "seed": {"strategy": "daily", "salt": "x"},
    "policy": {"concurrency": "allow", "deadline": "5m"},
}


def defined(changes, defaults=None, place=PLACE):
    return job_of_kronjob(place, spec_of(changes), defaults or OperatorDefaults())


def policy_of(changes, defaults=None):
    return defined(changes, defaults).schedule.policy


@pytest.mark.parametrize("changes", GOOD.values(), ids=GOOD)
def test_good_spec_is_accepted_by_schema_and_operator(changes):
    assert problems(SPEC_SCHEMA, spec_of(changes)) == []
    assert defined(changes).identity == "shop/report"


@pytest.mark.parametrize(("who", "changes", "code"), BAD.values(), ids=BAD)
def test_bad_spec_is_refused_by_whom_the_table_says(who, changes, code):
    assert bool(problems(SPEC_SCHEMA, spec_of(changes))) == (who == SCHEMA)
    assert who in (SCHEMA, RULE, OPERATOR)
    with pytest.raises(KronError) as caught:
        defined(changes)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("line and zone", "has(self.timezone)"),
        ("line and empty constraints", "has(self.constraints)"),
        ("line with a policy and policy", "has(self.policy)"),
        ("window of more than a year", "duration('8784h')"),
        ("end before start", "timestamp(self.startTime) <= timestamp(self.endTime)"),
        ("start of a day that does not exist", "timestamp(self.startTime)"),
        ("deadline of 1,000 years", "duration(self.policy.deadline)"),
    ],
)
def test_every_rule_of_the_operator_is_in_the_resource(name, words):
    """The operator's message is that of the rule which an API server with CEL checks."""
    with pytest.raises(KronError) as caught:
        defined(BAD[name][1])
    rules = [rule for rule in SPEC_SCHEMA["x-kubernetes-validations"] if rule["message"] in caught.value.message]
    assert sum(words in rule["rule"] for rule in rules) == 1
    assert BAD[name][0] == RULE


def test_name_leaves_room_for_the_names_of_jobs():
    assert defined({}, place=Place("shop", "n" * 52)).identity == f"shop/{'n' * 52}"
    with pytest.raises(KronError, match="at most 52 characters"):
        defined({}, place=Place("shop", "n" * 53))
    root = resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert [rule["rule"] for rule in root["x-kubernetes-validations"]] == ["size(self.metadata.name) <= 52"]


def test_identity_has_prefix_namespace_and_name():
    assert identity_of(PLACE, OperatorDefaults("east/")) == "east/shop/report"
    assert defined({}, OperatorDefaults("east/")).identity == "east/shop/report"
    assert defined({}).target == "kronjob:shop/report"


def test_times_become_those_of_the_job():
    job = defined({"startTime": "2026-03-01T01:00:00+01:00", "endTime": "2026-03-02T00:00:00Z"})
    assert (job.start, job.end) == (1_772_323_200, 1_772_409_600)


def test_policy_is_delivered_again_and_keeps_its_lease():
    policy = policy_of({})
    assert (policy.on_worker_loss, policy.run_lease) == (WorkerLossPolicy.REDELIVER, 20 * MINUTE)
    assert (policy.overlap, policy.catchup, policy.suspend) == (Overlap.SKIP, Catchup.BY_DEADLINE, False)
    assert policy_of({"policy": {"suspend": True}}).suspend
    resumes = [policy_of({"policy": {"suspend": suspend}}).resume for suspend in (True, False)]
    assert resumes == [Resume.DROP, Resume.BY_DEADLINE], (
        "the end of a suspension drops what passed, that of a pause not"
    )


@pytest.mark.parametrize("name", ["allow", "forbid", "replace", "queue", "coalesce"])
def test_every_concurrency_is_an_overlap_policy(name):
    expected = {"forbid": Overlap.SKIP}.get(name) or Overlap(name)
    assert policy_of({"policy": {"concurrency": name}}).overlap is expected


@pytest.mark.parametrize("name", ["by-deadline", "latest", "none"])
def test_every_catchup_is_a_catchup_policy(name):
    assert policy_of({"policy": {"catchup": name}}).catchup is Catchup(name)


def test_default_deadline_is_for_kronjobs_that_name_none():
    five = OperatorDefaults(deadline=5 * MINUTE)
    named = [
        {"policy": {"deadline": "0s"}},
        {"schedule": "0 3 * * * @policy(deadline=0s)"},
        {"schedule": "kron: 0 3 * * * @policy(deadline=0s)"},
    ]
    unnamed = [
        {},
        {"policy": {"suspend": True}},
        {"schedule": "0 3 * * * @policy(concurrency=allow)"},
        {"schedule": '0 3 * * * @seed(stable,salt="@policy(deadline=1s)")'},
        {"schedule": "fuzzy: daily around 14:00"},
    ]
    assert [policy_of(changes, five).deadline for changes in named] == [0, 0, 0]
    assert [policy_of(changes, five).deadline for changes in unnamed] == [5 * MINUTE] * 5
    assert policy_of({}).deadline == 0
    assert policy_of({"schedule": LONG_LINE}, OperatorDefaults(deadline=SECOND)).deadline == 5 * MINUTE


def spec_of_schedule(schedule):
    clauses = {"only": schedule.constraints.only, "avoid": schedule.constraints.avoid}
    parameters = distribution_parameters(schedule)
    return {
        "schedule": write_cron(schedule.cron),
        "timezone": schedule.zone.name,
        "window": {"mode": str(schedule.window.mode), "duration": write_window(schedule.window).partition(",")[2]},
        "distribution": {"name": schedule.distribution.name, "params": {k: str(v) for k, v in parameters.items()}},
        "seed": {"strategy": str(schedule.seed.strategy), "salt": schedule.seed.salt},
        "constraints": {name: write_clauses(each).split(";") for name, each in clauses.items() if each},
        "policy": {
            "concurrency": NAMES[schedule.policy.overlap],
            "deadline": f"{schedule.policy.deadline}ns",
            "suspend": schedule.policy.suspend,
        },
        "jobTemplate": TEMPLATE,
    }


@pytest.mark.req("KSYN-SCOPE-CRD")
@given(texts.schedules)
def test_spec_of_any_schedule_gives_that_schedule(schedule):
    assert define({"identity": "a", **fields_of(spec_of_schedule(schedule))}).schedule == schedule


@pytest.mark.req("KSYN-SCOPE-CRD")
def test_line_and_fields_give_equal_schedules():
    assert define({"identity": "a", **fields_of(spec_of(LONG_FIELDS))}).schedule == kron(LONG_LINE)
    assert defined(LONG_FIELDS).schedule == defined({"schedule": LONG_LINE}).schedule


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(["after", "1h", "normal", "stable", "hours=8", "queue", "latest", "0 3 * * *", "UTC", ""])
NAMED = st.sampled_from([name for part in (GOOD | {n: b[1] for n, b in BAD.items()}).values() for name in part])
INNER = st.sampled_from(
    ["mode", "duration", "name", "params", "strategy", "salt", "only", "avoid", "concurrency", "catchup"]
)
VALUES = st.one_of(WORDS, JSON, st.dictionaries(INNER, WORDS | JSON, max_size=3), st.lists(WORDS, max_size=2))

CHANGES = st.dictionaries(NAMED, VALUES, max_size=4)


@given(CHANGES)
def test_any_spec_gives_a_job_or_an_error_with_a_code(changes):
    try:
        job = job_of_kronjob(PLACE, {**MINIMAL, **changes}, OperatorDefaults())
    except KronError as error:
        assert error.code
    else:
        assert job.target == "kronjob:shop/report"
