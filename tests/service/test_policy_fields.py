"""Policy fields of definitions: each sets one axis, is shown again, and is rejected where it has no effect."""

from dataclasses import replace

import pytest

from kron.apps.service.config import Config
from kron.apps.service.schemas.definition import described, job_of, of_document, stated
from kron.apps.service.schemas.policy_field import POLICY_FIELDS
from kron.apps.service.schemas.requests import Definition, Patch, PolicyFields, Upsert
from kron.errors import InvalidInput
from kron.timing.schedule.policy import SERVICE, Overlap

CONFIG = Config(webhook_secret="whsec_" + "a" * 44)
BODY = {"schedule": "0 9 * * *", "timezone": "UTC", "workflow_id": "w", "version": 1, "user_id": "u"}
GIVEN = {
    "jitter_ms": 7,
    "overlap_policy": "allow",
    "overlap_limit": 3,
    "catchup_policy": "spread",
    "completion": "reported",
    "deadline_ms": 60_000,
    "launch_attempts": 4,
    "launch_backoff_ms": 250,
    "launch_factor": 3,
    "launch_max_delay_ms": 9_000,
    "launch_jitter_percent": 0,
    "retry_delay_ms": 0,
    "retry_attempts": 5,
    "retry_factor": 2,
    "retry_max_delay_ms": 30_000,
    "retry_jitter_percent": 50,
    "timeout_ms": 600_000,
    "max_runs": 12,
    "pause_on_failure": 3,
    "after_end": "delete",
}


def job(**fields):
    return job_of(Definition(**{**BODY, **fields}), "a", CONFIG, 0)[0]


def test_each_field_sets_one_axis_and_is_described_again():
    assert set(GIVEN) == set(POLICY_FIELDS) == set(PolicyFields.model_fields)
    made = job(**GIVEN)
    assert {name: described(made, CONFIG)[name] for name in GIVEN} == GIVEN
    assert set(made.schedule.policy.given) == {field.axis for field in POLICY_FIELDS.values()}
    again = job_of(Definition(**stated(made, CONFIG)), "a", CONFIG, 0)[0]
    assert again.schedule == made.schedule


@pytest.mark.parametrize("name", sorted(set(GIVEN) - {"overlap_limit"}))
def test_definition_states_only_the_fields_that_its_author_gave(name):
    needed = {"retry_delay_ms": 1} if name.startswith("retry_") else {}
    made = job(**{**needed, name: GIVEN[name]})
    assert set(stated(made, CONFIG)) & set(POLICY_FIELDS) == {name, *needed}


def test_definition_without_policy_fields_has_the_policy_of_the_service():
    policy = job().schedule.policy
    assert policy.given == ()
    assert replace(policy, preset="") == replace(SERVICE, run_lease=policy.run_lease)


@pytest.mark.parametrize(
    ("name", "overlap"),
    [
        ("Skip", Overlap.SKIP),
        ("BufferOne", Overlap.COALESCE),
        ("BufferAll", Overlap.QUEUE),
        ("CancelOther", Overlap.REPLACE),
        ("TerminateOther", Overlap.REPLACE),
        ("AllowAll", Overlap.ALLOW),
        ("replace", Overlap.REPLACE),
    ],
)
def test_names_of_temporal_are_aliases_and_are_shown_as_krons_own(name, overlap):
    made = job(overlap_policy=name)
    assert made.schedule.policy.overlap is overlap
    assert described(made, CONFIG)["overlap_policy"] == overlap.value


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"overlap_limit": 2}, "overlap_limit"),
        ({"overlap_limit": 2, "overlap_policy": "queue"}, "overlap_limit"),
        ({"retry_attempts": 2}, "retry_attempts"),
        ({"retry_max_delay_ms": 2}, "retry_max_delay_ms"),
    ],
)
def test_field_that_has_no_effect_is_rejected(fields, name):
    with pytest.raises(InvalidInput) as rejected:
        job(**fields)
    assert rejected.value.details == {"field": name}


def test_the_document_has_none_of_the_later_fields():
    later = set(POLICY_FIELDS) - {"jitter_ms", "overlap_policy", "catchup_policy", "completion"}
    assert not later & set(Upsert.model_fields)
    assert later <= set(Patch.model_fields)
    upsert = Upsert(**{name: BODY[name] for name in BODY if name != "schedule"}, cron_expr="0 9 * * *")
    assert job_of(of_document(upsert), "a", CONFIG, 0)[0].schedule.policy.given == ()
    with pytest.raises(ValueError, match="overlap_policy"):
        Upsert(
            **{name: BODY[name] for name in BODY if name != "schedule"}, cron_expr="* * * * *", overlap_policy="Skip"
        )
