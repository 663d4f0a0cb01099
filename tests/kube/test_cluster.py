"""Requests of `kron.kube` to a real API server: verbs, refusals and their reasons, lists by pages, and watches."""

import pytest

from kron.kube import api as api_module
from kron.kube.failure import Refusal
from kron.kube.kind import EVENT, JOB, KRONJOB, Place
from kron.kube.names import Owner, job_of, job_place, mark_of
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.kube.cluster.control_plane import MERGE_PATCH
from tests.kube.cluster.objects import asked, job, kronjob, refused
from tests.kube.cluster.pods import ending_pods, template
from tests.operator.specs import spec_of

pytestmark = pytest.mark.slow
NOMINAL = 1_772_323_200  # 2026-03-01T00:00:00Z


def a_run(name):
    return Run(key_of(name, NOMINAL), name, NOMINAL, 1, NOMINAL * 1000, State.LAUNCHING)


def test_job_is_created_once_and_found_by_its_key(cluster, namespace):
    name = "n" * 52
    owner_body = cluster.do("POST", KRONJOB.path(namespace), kronjob(name, spec_of({"jobTemplate": template()})))
    metadata, place = owner_body["metadata"], Place(namespace, name)
    owner = Owner(place, metadata["uid"], metadata["generation"], owner_body["spec"]["jobTemplate"])
    run = a_run(f"{namespace}/{name}")

    async def use(api):
        await api.create(JOB, namespace, job_of(owner, run), dry_run=True)
        assert await api.get(JOB, job_place(owner, run)) is None
        made = await api.create(JOB, namespace, job_of(owner, run))
        with pytest.raises(Refusal) as caught:
            await api.create(JOB, namespace, job_of(owner, run))
        assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")
        assert not caught.value.may_have_arrived
        found = await api.get(JOB, job_place(owner, run))
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        return found

    mark = mark_of(asked(cluster, use))
    assert (mark.owner_uid, mark.key, mark.period_id) == (metadata["uid"], run.key, "2026-03-01T00:00:00Z")


@pytest.mark.parametrize(("end", "condition"), [("success", "Complete"), ("failed", "Failed")])
def test_job_ends_as_its_pod_does(cluster, namespace, end, condition):
    def conditions():
        found = cluster.do("GET", JOB.path(namespace, "one"))["status"].get("conditions") or ()
        return {each["type"] for each in found if each["status"] == "True"}

    cluster.do("POST", JOB.path(namespace), job("one", template(end)))
    with ending_pods(cluster, namespace):
        cluster.processes.until(lambda: condition in conditions(), 60, f"the Job is {condition}")


def test_refusals_have_the_reasons_that_the_launcher_reads(cluster, namespace):
    good = job("one", template())
    broken = {**good, "spec": {"template": {"spec": {"containers": []}}}}
    for body, where, status, reason in [(broken, namespace, 422, "Invalid"), (good, "nowhere", 404, "NotFound")]:
        refusal = refused(cluster, lambda api, body=body, where=where: api.create(JOB, where, body))
        assert (refusal.status, refusal.reason, refusal.may_have_arrived) == (status, reason, False)
        assert refusal.message
    hold_namespace(cluster, namespace)
    cluster.do("DELETE", f"/api/v1/namespaces/{namespace}")
    refusal = refused(cluster, lambda api: api.create(JOB, namespace, good))
    assert (refusal.status, refusal.causes) == (403, {"NamespaceTerminating"})
    release_namespace(cluster, namespace)


def hold_namespace(cluster, namespace):
    """Keep a namespace in its end: an object of it has a finalizer."""
    metadata = {"name": "hold", "finalizers": ["test/hold"]}
    cluster.do("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": metadata})


def release_namespace(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/hold"
    cluster.do("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)


def test_quota_refuses_a_job(cluster, namespace):
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}}
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    cluster.do("POST", path, quota)
    body = job("one", template())

    def is_refused():
        return cluster.request("POST", f"{JOB.path(namespace)}?dryRun=All", body).status_code == 403

    cluster.processes.until(is_refused, 60, "the quota holds")
    refusal = refused(cluster, lambda api: api.create(JOB, namespace, body))
    assert refusal.status == 403
    assert "exceeded quota" in refusal.message


def test_status_patch_leaves_the_spec_and_removes_fields(cluster, namespace):
    cluster.do("POST", KRONJOB.path(namespace), kronjob("report"))
    place = Place(namespace, "report")

    async def use(api):
        await api.patch_status(KRONJOB, place, {"active": 1, "lastReason": "overlap"})
        return await api.patch_status(KRONJOB, place, {"active": 2, "lastReason": None})

    body = asked(cluster, use)
    assert body["status"] == {"active": 2}
    assert body["metadata"]["generation"] == 1
    refusal = refused(cluster, lambda api: api.patch_status(KRONJOB, place, {"lastOutcome": "done"}))
    assert (refusal.status, refusal.reason) == (422, "Invalid")


def test_delete_leaves_another_object_of_the_name_alone(cluster, namespace):
    body = cluster.do("POST", KRONJOB.path(namespace), kronjob("report"))
    place, uid = Place(namespace, "report"), body["metadata"]["uid"]
    assert refused(cluster, lambda api: api.delete(KRONJOB, place, uid="another")).status == 409
    assert refused(cluster, lambda api: api.delete(KRONJOB, place, uid=uid, version="1")).status == 409
    assert asked(cluster, lambda api: api.delete(KRONJOB, place, uid=uid)) is True
    assert asked(cluster, lambda api: api.delete(KRONJOB, place, uid=uid)) is False


def test_list_reads_all_pages_of_one_version(cluster, namespace, monkeypatch):
    monkeypatch.setattr(api_module, "PAGE_SIZE", 3)
    for number in range(7):
        cluster.do("POST", KRONJOB.path(namespace), kronjob(f"k{number}"))

    async def use(api):
        pages = []
        async for page in api.pages(KRONJOB, namespace):
            cluster.do("POST", KRONJOB.path(namespace), kronjob(f"late{len(pages)}"))
            pages.append(page)
        return pages

    pages = asked(cluster, use)
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert len({page.version for page in pages}) == 1


def test_page_of_a_compacted_list_is_refused_with_410(cluster, namespace, monkeypatch):
    monkeypatch.setattr(api_module, "PAGE_SIZE", 1)
    for number in range(3):
        cluster.do("POST", KRONJOB.path(namespace), kronjob(f"k{number}"))

    async def use(api):
        async for _ in api.pages(KRONJOB, namespace):
            cluster.do("POST", KRONJOB.path(namespace), kronjob("later"))
            cluster.compact()

    assert refused(cluster, use).status == 410


def test_watch_tells_changes_and_a_bookmark(cluster, namespace):
    first = cluster.do("POST", KRONJOB.path(namespace), kronjob("a"))

    async def use(api):
        events = []
        async for event in api.watch(KRONJOB, namespace, version=first["metadata"]["resourceVersion"], seconds=5):
            events.append(event)
            if len(events) == 1:
                cluster.do("DELETE", KRONJOB.path(namespace, "b"))
        return events

    cluster.do("POST", KRONJOB.path(namespace), kronjob("b"))
    events = asked(cluster, use)
    assert [event.type for event in events[:2]] == ["ADDED", "DELETED"]
    assert {event.type for event in events[2:]} <= {"BOOKMARK"}
    assert "BOOKMARK" in [event.type for event in events]
    versions = [int(event.body["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(versions)


def test_event_is_created(cluster, namespace):
    body = {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {"name": "one", "namespace": namespace},
        "eventTime": "2026-03-01T00:00:00.000000Z",
        "reportingController": "kron-operator",
        "reportingInstance": "one",
        "action": "Launch",
        "reason": "Skipped",
        "type": "Normal",
        "note": "the previous run was still active",
        "regarding": {"apiVersion": KRONJOB.api_version, "kind": KRONJOB.name, "name": "a", "namespace": namespace},
    }
    assert asked(cluster, lambda api: api.create(EVENT, namespace, body))["reason"] == "Skipped"
