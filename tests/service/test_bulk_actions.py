"""Actions on many schedules over HTTP: batches, dry runs, quotas, tenants, and the same request twice."""

import asyncio

import pytest

from kron.client import AsyncClient, Client
from kron.errors import InvalidInput
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from tests.service.http import NDJSON, serving
from tests.service.tokens import settings, token
from tests.stores.making import a_run

HOOK = "http://127.0.0.1:9/hook"
DEFINITION = {"schedule": "0 * * * *", "timezone": "UTC", "target": HOOK}


@pytest.fixture
def service(tmp_path):
    with serving(**settings(tmp_path)) as service:
        yield service


def client_of(service, tenant="acme"):
    return Client(f"http://127.0.0.1:{service.port}", token(tenant))


def define(client, count, prefix="s", **more):
    list(client.bulk({"id": f"{prefix}{n:04d}", **DEFINITION, **more} for n in range(count)))


def test_pause_and_resume_by_ids_and_by_filter(service):
    acme = service.bearing(token("acme"))
    client = client_of(service)
    define(client, 3)
    define(client, 2, "t", labels={"team": "web"})
    body = {"ids": ["s0000", "s0002", "absent"], "note": "holiday"}
    first = acme.post("/v1/schedules:pause", body).json
    assert (first["done"], first["unchanged"], first["next_page_token"]) == (2, 0, None)
    assert [(each["id"], each["code"]) for each in first["problems"]] == [("absent", "NOT_FOUND")]
    again = acme.post("/v1/schedules:pause", body).json
    assert (again["done"], again["unchanged"]) == (0, 2)
    changes = acme.get("/v1/schedules/s0000/history").json["changes"]
    assert [each["note"] for each in changes if each["note"]] == ["holiday"]
    labelled = acme.post("/v1/schedules:pause", {"filter": {"labels": ["team=web"]}}).json
    assert labelled["done"] == 2
    assert [each["id"] for each in client.schedules(paused=True)] == ["s0000", "s0002", "t0000", "t0001"]
    resumed = acme.post("/v1/schedules:resume", {"filter": {"prefix": "s", "paused": True}}).json
    assert (resumed["done"], resumed["unchanged"]) == (2, 0)
    assert [each["id"] for each in client.schedules(paused=True)] == ["t0000", "t0001"]


def test_batches_of_500_follow_each_other_by_their_token(service):
    client = client_of(service)
    define(client, 1_100)
    first = client.request("POST", "/v1/schedules:pause", {"filter": {}})
    assert (first["done"], first["next_page_token"]) == (500, "s0499")
    result = client.pause_all(note="rest")
    assert result == {"done": 600, "unchanged": 500, "problems": [], "next_page_token": None}
    assert client.resume_all("s00")["done"] == 100


def test_dry_run_counts_and_writes_nothing(service):
    client = client_of(service)
    define(client, 4)
    client.pause("s0001")
    plan = client.plan_bulk("pause")
    assert (plan["count"], plan["has_more"], plan["changed"], plan["periods"]) == (4, False, 3, 72)
    assert client.plan_bulk("resume", "s")["changed"] == 1
    assert client.plan_bulk("trigger", "s000")["changed"] == 4
    assert client.plan_bulk("redrive")["count"] == 0
    assert [each["id"] for each in client.schedules(paused=True)] == ["s0001"]
    assert list(client.runs("s0000")) == []
    with pytest.raises(InvalidInput, match="PAST"):
        client.plan_bulk("pause", until="2020-01-01T00:00:00Z")
    with pytest.raises(InvalidInput, match="PAST"):
        client.pause_all(until="2020-01-01T00:00:00Z")


def test_trigger_with_one_key_gives_one_run_of_each(service):
    client = client_of(service)
    define(client, 3)
    for done, unchanged in ((3, 0), (0, 3)):
        result = client.trigger_all("s", key="k1")
        assert (result["done"], result["unchanged"]) == (done, unchanged)
    assert [len(list(client.runs(f"s000{n}"))) for n in range(3)] == [1, 1, 1]


def test_trigger_spends_the_quota_of_manual_runs(tmp_path):
    with serving(**settings(tmp_path), max_triggers_per_minute=5) as service:
        acme = service.bearing(token("acme"))
        define(client_of(service), 3)
        assert acme.post("/v1/schedules:trigger?dry_run=true", {"filter": {}}).status == 200
        assert acme.post("/v1/schedules:trigger", {"filter": {}}).status == 200
        assert acme.post("/v1/schedules:trigger", {"filter": {}}).status == 429


def dead_letter(service, identity):
    """Write a dead letter of a schedule, and return its key."""
    store = service.app.state.parts.store

    async def write():
        (state,) = await store.get([identity])
        dead = a_run(State.FAILED, identity=identity, reason=Reason.LAUNCH_FAILED)._replace(outcome=Outcome.MISSED)
        assert await store.commit([ScheduleUpdate(state, state, (dead,))], state.effective_from) == [True]
        return dead.key

    return asyncio.run(write())


def test_dead_letters_are_redriven_once_and_only_by_their_tenant(service):
    client, beta = client_of(service), service.bearing(token("beta"))
    define(client, 2)
    keys = [dead_letter(service, f"acme/s000{n}") for n in range(2)]
    assert beta.post("/v1/dead-letters:redrive", {"keys": keys}).status == 404
    assert beta.post("/v1/dead-letters:redrive", {"filter": {}}).json["done"] == 0
    assert beta.post("/v1/dead-letters:redrive", {"filter": {}, "page_token": keys[0]}).status == 422
    acme = service.bearing(token("acme"))
    assert acme.post("/v1/dead-letters:redrive", {"keys": keys[:1]}).json["done"] == 1
    assert client.plan_bulk("redrive")["changed"] == 1
    for done, unchanged in ((1, 1), (0, 2)):
        result = client.redrive_all()
        assert (result["done"], result["unchanged"]) == (done, unchanged)
    assert len([each for each in client.dead_letters() if each["redriven_by"]]) == 2


def test_tenant_reaches_only_its_own_schedules(service):
    define(client_of(service), 2)
    define(client_of(service, "beta"), 2)
    assert client_of(service, "beta").pause_all()["done"] == 2
    assert list(client_of(service).schedules(paused=True)) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": ["a"], "filter": {}},
        {"ids": []},
        {"ids": ["a"] * 501},
        {"filter": {"labels": ["odd"]}},
        {"filter": {"prefix": 5}},
        {"filter": {}, "page_token": "../x"},
    ],
)
def test_request_that_does_not_name_its_schedules_is_refused(service, body):
    acme = service.bearing(token("acme"))
    for action in ("pause", "resume", "trigger"):
        for query in ("", "?dry_run=true"):
            assert acme.post(f"/v1/schedules:{action}{query}", body).status == 422, (action, query)


def test_scope_of_the_single_action_is_needed(service):
    reader = service.bearing(token("acme", scope="schedules:read"))
    for path in ("schedules:pause", "schedules:resume", "schedules:trigger", "dead-letters:redrive"):
        assert reader.post(f"/v1/{path}", {"filter": {}}).status == 403
        assert reader.post(f"/v1/{path}?dry_run=true", {"filter": {}}).status == 403


def test_async_client_does_the_same(service):
    define(client_of(service), 2)

    async def script():
        client = AsyncClient(f"http://127.0.0.1:{service.port}", token("acme"))
        assert (await client.plan_bulk("pause", labels={}))["count"] == 2
        assert (await client.pause_all("s"))["done"] == 2

    asyncio.run(script())


def test_names_of_many_schedules_are_in_the_audit_log(tmp_path):
    log = tmp_path / "audit.log"
    with serving(**settings(tmp_path), audit_log=str(log)) as service:
        acme = service.bearing(token("acme"))
        acme.call(
            "POST",
            "/v1/schedules:bulk",
            b'{"id": "a", "schedule": "0 9 * * *", "target": "%s"}' % HOOK.encode(),
            **NDJSON,
        )
        acme.post("/v1/schedules:pause", {"filter": {"prefix": "a"}, "note": "holiday"})
    assert '"route":"/v1/schedules:pause"' in log.read_text().replace('": "', '":"')
    assert "holiday" in log.read_text()
