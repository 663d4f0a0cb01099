"""Requests to the Kubernetes API: what is sent, what comes back unchanged, and what a failure says."""

import asyncio
import socket

import httpx2
import pytest

from kron.kube import api as module
from kron.kube.api import Api
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import EVENT, JOB, KRONJOB, Place
from tests.kube.conftest import connected
from tests.kube.server import Fault

PLACE = Place("shop", "report")
NEWER = {  # fields that no released model knows, and texts that a line splitter could cut
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "report", "annotations": {"note": "a\u0085b\u2028c"}},
    "spec": {"brandNewField": [1, 2.5, None], "template": {"spec": {"containers": [{"newThing": {"deep": "é"}}]}}},
}


def asked(server, use):
    """What a coroutine returns that is given a client of the server."""

    async def main():
        async with connected(server.url) as api:
            return await use(api)

    return asyncio.run(main())


def failed(server, use):
    with pytest.raises((Refusal, NoAnswer)) as caught:
        asked(server, use)
    return caught.value


def test_paths_name_group_namespace_and_subresource():
    assert KRONJOB.path() == "/apis/kron.io/v1alpha1/kronjobs"
    assert KRONJOB.path("shop", "report", "status") == "/apis/kron.io/v1alpha1/namespaces/shop/kronjobs/report/status"
    assert JOB.path("shop") == "/apis/batch/v1/namespaces/shop/jobs"
    assert EVENT.path("shop") == "/apis/events.k8s.io/v1/namespaces/shop/events"


def test_objects_pass_unchanged_in_both_directions(server):
    async def use(api):
        made = await api.create(JOB, "shop", NEWER)
        return made, await api.get(JOB, PLACE)

    made, found = asked(server, use)
    assert server.bodies[0] == ("application/json", NEWER)
    for body in (made, found):
        assert body["spec"] == NEWER["spec"]
        assert body["metadata"]["annotations"] == NEWER["metadata"]["annotations"]


def test_dry_run_creates_nothing(server):
    asked(server, lambda api: api.create(JOB, "shop", NEWER, dry_run=True))
    assert server.requests[0][2] == {"dryRun": "All"}
    assert server.of("jobs") == {}


def test_missing_object_is_none_and_another_refusal_is_raised(server):
    assert asked(server, lambda api: api.get(JOB, PLACE)) is None
    server.fail("GET", "jobs", Fault(403, reason="Forbidden"))
    assert failed(server, lambda api: api.get(JOB, PLACE)).status == 403


def test_list_reads_all_pages_of_one_version(server):
    server.page_size = 3
    for number in range(7):
        server.put("kronjobs", "shop", f"k{number}")

    async def use(api):
        pages = []
        async for page in api.pages(KRONJOB):
            server.put("kronjobs", "shop", f"late{len(pages)}")
            pages.append(page)
        return pages

    pages = asked(server, use)
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert {page.version for page in pages} == {"8"}
    assert [body["metadata"]["name"] for page in pages for body in page.items] == [f"k{each}" for each in range(7)]
    assert all(query["limit"] == "500" for _, _, query in server.requests)


def test_list_waits_longer_than_other_requests():
    seconds = []

    async def answer(request):
        seconds.append(request.extensions["timeout"]["read"])
        return httpx2.Response(200, json={"items": []})

    async def use():
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), base_url="http://server/prefix", timeout=5)
        api = Api(http)
        assert [page.items async for page in api.pages(JOB)] == [[]]
        await api.get(JOB, PLACE)
        await api.close()

    asyncio.run(use())
    assert seconds == [60.0, 5]


def test_list_is_restricted_to_namespace_and_selector(server):
    server.put("jobs", "shop", "a", labels={"kron.io/kronjob": "x"})
    server.put("jobs", "shop", "b")
    server.put("jobs", "other", "c", labels={"kron.io/kronjob": "x"})

    async def use(api):
        return [page async for page in api.pages(JOB, "shop", selector="kron.io/kronjob", not_older_than="2")]

    (page,) = asked(server, use)
    assert [body["metadata"]["name"] for body in page.items] == ["a"]
    assert server.requests[0][2]["resourceVersionMatch"] == "NotOlderThan"


def test_watch_tells_changes_after_the_version_and_bookmarks(server):
    server.put("jobs", "shop", "old")
    start = str(server.version)
    server.put("jobs", "shop", "report", NEWER)
    server.put("kronjobs", "shop", "of another kind")
    server.remove("jobs", "shop", "report")

    async def use(api):
        return [event async for event in api.watch(JOB, version=start, seconds=1)]

    events = asked(server, use)
    assert [event.type for event in events] == ["ADDED", "DELETED", "BOOKMARK"]
    assert events[0].body["spec"] == NEWER["spec"]
    assert events[0].body["metadata"]["annotations"] == NEWER["metadata"]["annotations"]
    assert events[2].body["metadata"]["resourceVersion"] == str(server.version)
    assert server.requests[0][2]["allowWatchBookmarks"] == "true"


def test_watch_may_be_silent_until_its_time_is_over(server, monkeypatch):
    """A server sends no bookmark while nothing changes in its database."""
    monkeypatch.setattr(module, "END_SECONDS", 0.3)
    server.bookmarks = False

    async def use(api):
        return [event async for event in api.watch(JOB, version=str(server.version), seconds=1)]

    assert asked(server, use) == []


def test_watch_that_does_not_end_in_time_is_cut(server, monkeypatch):
    monkeypatch.setattr(module, "END_SECONDS", 0.3)
    server.faults["WATCH", "jobs"] = [Fault(cut="stall")]

    async def use(api):
        return [event async for event in api.watch(JOB, version="1", seconds=1)]

    assert isinstance(failed(server, use), NoAnswer)


def test_watch_of_a_compacted_version_is_refused_with_410(server):
    server.put("jobs", "shop", "a")
    server.compact()

    async def use(api):
        return [event async for event in api.watch(JOB, version="1", seconds=5)]

    assert failed(server, use).status == 410


@pytest.mark.parametrize("cut_at", [0, 1, 60])
def test_watch_cut_within_a_line_tells_no_half_event(server, cut_at):
    server.put("jobs", "shop", "a")
    server.watch_cut_at = cut_at

    async def use(api):
        events = []
        try:
            async for event in api.watch(JOB, version="1", seconds=5):
                events.append(event)  # noqa: PERF401  those before the cut count, too
        except NoAnswer:
            pass
        return events

    assert asked(server, use) == []


def test_status_patch_changes_the_status_alone(server):
    server.put("kronjobs", "shop", "report", {"spec": {"schedule": "* * * * *"}, "status": {"active": 1, "gone": "x"}})
    asked(server, lambda api: api.patch_status(KRONJOB, PLACE, {"active": 2, "gone": None}))
    body = server.objects["kronjobs", "shop", "report"]
    assert body["status"] == {"active": 2}
    assert body["spec"] == {"schedule": "* * * * *"}
    assert server.requests[0][1].endswith("/kronjobs/report/status")
    assert server.bodies[0][0] == "application/merge-patch+json"


def test_delete_leaves_another_object_of_the_name_alone(server):
    uid = server.put("jobs", "shop", "report")["metadata"]["uid"]
    assert failed(server, lambda api: api.delete(JOB, PLACE, uid="another")).status == 409
    assert asked(server, lambda api: api.delete(JOB, PLACE, uid=uid, propagation="Foreground")) is True
    assert server.bodies[-1][1]["propagationPolicy"] == "Foreground"
    assert asked(server, lambda api: api.delete(JOB, PLACE, uid=uid)) is False


def test_refusal_has_reason_causes_and_time_to_wait(server):
    server.fail("POST", "jobs", Fault(403, reason="Forbidden", causes=["NamespaceTerminating"], retry_after="7"))
    refusal = failed(server, lambda api: api.create(JOB, "shop", NEWER))
    assert (refusal.status, refusal.reason, refusal.causes) == (403, "Forbidden", {"NamespaceTerminating"})
    assert (refusal.message, refusal.retry_after) == ("as the test asks", 7.0)


@pytest.mark.parametrize(("header", "seconds"), [("", 0), ("0", 0), ("3600", 60), ("soon", 0), ("-1", 0), ("²", 0)])
def test_time_to_wait_is_bounded_and_numeric(server, header, seconds):
    server.fail("GET", "jobs", Fault(429, retry_after=header.encode("utf-8").decode("latin-1")))
    assert failed(server, lambda api: api.get(JOB, PLACE)).retry_after == seconds


@pytest.mark.parametrize(("cut", "made"), [("before", 0), ("after", 1)])
def test_request_with_a_cut_line_may_have_arrived(server, cut, made):
    server.fail("POST", "jobs", Fault(cut=cut))
    assert failed(server, lambda api: api.create(JOB, "shop", NEWER)).may_have_arrived
    assert len(server.of("jobs")) == made
    assert server.count("POST", "/jobs") == 1


def test_request_without_a_connection_did_not_arrive():
    async def use():
        async with connected(f"http://127.0.0.1:{port}") as api:
            await api.create(JOB, "shop", NEWER)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(NoAnswer) as caught:
            asyncio.run(use())
    assert not caught.value.may_have_arrived
