"""The Job of a run: one name per run, the template's spec untouched, and what tells whose Job it is."""

import copy
import re

from hypothesis import given
from hypothesis import strategies as st

from kron.kube.kind import Place
from kron.kube.names import Mark, Owner, job_name, job_of, job_place, mark_of, owner_uid, period_label
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of

NOMINAL = 1_772_323_200  # 2026-03-01T00:00:00Z
TEMPLATE = {
    "metadata": {
        "labels": {"app": "x", "kron.io/period": "forged"},
        "annotations": {"a": "b", "kron.io/key": "forged"},
    },
    "spec": {"brandNew": 1, "template": {"spec": {"containers": [{"name": "c"}]}}},
}
OWNER = Owner(Place("shop", "report"), "u-1", 7, TEMPLATE)
KEY = key_of("shop/report", NOMINAL)
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def a_run(nominal=NOMINAL, trigger=""):
    key = key_of("shop/report", nominal, trigger)
    return Run(key, "shop/report", nominal, 3, nominal * 1000 + 65_000, State.LAUNCHING, trigger=trigger)


def test_job_has_labels_annotations_and_owner_of_its_run():
    job = job_of(OWNER, a_run(), "5eed")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["metadata"] == {
        "name": f"report-{KEY[:10]}",
        "namespace": "shop",
        "labels": {"app": "x", "kron.io/kronjob": "report", "kron.io/period": "20260301T000000Z"},
        "annotations": {
            "a": "b",
            "kron.io/key": KEY,
            "kron.io/period-id": "2026-03-01T00:00:00Z",
            "kron.io/chosen": "2026-03-01T00:01:05Z",
            "kron.io/seed-hash": "5eed",
            "kron.io/revision": "3",
            "kron.io/generation": "7",
            "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-01T00:00:00Z",
        },
        "ownerReferences": [
            {
                "apiVersion": "kron.io/v1alpha1",
                "kind": "KronJob",
                "name": "report",
                "uid": "u-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_job_has_the_spec_of_the_template_and_leaves_the_template_alone():
    before = copy.deepcopy(TEMPLATE)
    assert job_of(OWNER, a_run())["spec"] == before["spec"]
    assert before == TEMPLATE


def test_template_without_metadata_is_enough():
    job = job_of(OWNER._replace(template={"spec": {}}), a_run(trigger="by-hand"))
    assert job["metadata"]["annotations"]["kron.io/trigger"] == "by-hand"
    assert "kron.io/seed-hash" not in job["metadata"]["annotations"]


@given(st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?\Z"), st.integers(0, 2**33), st.text(max_size=5))
def test_name_is_a_dns_label_and_follows_from_the_key_alone(name, nominal, trigger):
    key = key_of(f"shop/{name}", nominal, trigger)
    assert DNS_LABEL.fullmatch(job_name(name, key))
    assert job_name(name, key) == job_name(name, key_of(f"shop/{name}", nominal, trigger))
    assert re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", period_label(nominal))


def test_place_is_that_of_the_job():
    metadata = job_of(OWNER, a_run())["metadata"]
    assert job_place(OWNER, a_run()) == (metadata["namespace"], metadata["name"])


def test_mark_tells_runs_and_owners_apart():
    mark = mark_of(job_of(OWNER, a_run()))
    assert mark == Mark("u-1", KEY, "2026-03-01T00:00:00Z")
    assert mark_of(job_of(OWNER._replace(uid="u-2"), a_run())) != mark
    assert mark_of(job_of(OWNER, a_run(NOMINAL + 60))) != mark
    assert mark_of(job_of(OWNER, a_run(trigger="again"))) != mark
    assert mark_of({"metadata": {"name": "by hand"}}) == Mark("", "", "")


def test_owner_is_the_kronjob_that_controls_the_job():
    def owned(**change):
        job = job_of(OWNER, a_run())
        job["metadata"]["ownerReferences"][0].update(change)
        return owner_uid(job)

    assert owned() == "u-1"
    assert owned(apiVersion="kron.io/v1beta1") == "u-1"
    assert owned(controller=False) == ""
    assert owned(kind="CronJob") == ""
    assert owned(apiVersion="other.io/v1") == ""
