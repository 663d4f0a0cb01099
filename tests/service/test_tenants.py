"""Scopes and tenants: the matrix of routes, and that nobody sees, lists, guesses or infers another's."""

import itertools
import json

import pytest

from kron.apps.service.app import make_app
from kron.apps.service.auth.caller import PUBLIC_PATHS, SCOPES, scope_of
from tests.service.http import SECRET, config, serving, workflow
from tests.service.tokens import settings, token

HOOK = "http://127.0.0.1:9/hook"
DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": HOOK}
BODIES = {
    "/schedules/upsert": workflow(schedule_id="own"),
    "/schedules/pause": {"schedule_id": "own", "paused": True},
    "/run-launcher/start": {
        "workflow_id": "wf",
        "version": 1,
        "user_id": "u",
        "scheduled_for": "2026-03-01T00:00:00Z",
        "idempotency_key": "0" * 64,
    },
    "/v1/schedules": DEFINITION,
    "/v1/schedules/{schedule_id}": DEFINITION,
    "/v1/schedules/{schedule_id}/pause": {},
    "/v1/schedules/{schedule_id}/resume": {},
    "/v1/schedules/{schedule_id}/compare": DEFINITION,
    "/v1/schedules/{schedule_id}/backfill": {"start_at": "2026-01-01T00:00:00Z", "end_at": "2026-01-02T00:00:00Z"},
    "/v1/runs/{key}/report": {"status": "success"},
    "/v1/preview": {"definition": DEFINITION},
    "/v1/workflows/{workflow_id}/{version}": {"user_id": "u", "dag": {}},
}
ROUTES = [
    (method, route.path, scope_of(route))
    for route in make_app(config()).routes
    if hasattr(route, "dependant") and route.path not in PUBLIC_PATHS
    for method in sorted(route.methods)
]


def filled(path, **names):
    names = {"schedule_id": "own", "key": "0" * 64, "workflow_id": "wf", "version": "1", **names}
    for name, value in names.items():
        path = path.replace("{" + name + "}", value)
    return path + ("?seconds=0" if path == "/v1/events" else "")  # what there is, and no more


def body_of(method, path):
    if method == "GET" or path.endswith(":bulk"):
        return b"" if path.endswith(":bulk") else None
    return {} if method == "PATCH" else BODIES.get(path)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A service of two tenants: acme has schedules, runs and pauses; beta comes to look."""
    folder = tmp_path_factory.mktemp("house")
    more = {"workflow_store": str(folder / "workflows"), "executor_url": HOOK, "audit_log": str(folder / "audit")}
    with serving(**settings(folder), **more) as service:
        service.folder = folder
        acme = service.bearing(token("acme"))
        acme.put("/v1/schedules/own", {**DEFINITION, "description": "canary-acme", "note": "canary-acme"})
        service.key = acme.post("/v1/schedules/own/trigger", Idempotency_Key="canary-acme").json["key"]
        acme.put("/v1/workflows/wf/1", {"user_id": "canary-acme", "dag": {"nodes": ["canary-acme"]}})
        yield service


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_a_route_is_open_to_its_scope_and_to_no_other(house, method, path, scope):
    """Every scope but the one is not enough; the one alone is."""
    assert scope in SCOPES
    body, where = body_of(method, path), filled(path, schedule_id="absent")
    others = token("gamma", scope=" ".join(set(SCOPES) - {scope}) + f" {scope}x {scope.upper()} *")
    refused = house.bearing(others).call(method, where, body)
    assert (refused.status, refused.json["code"]) == (403, "FORBIDDEN")
    assert house.bearing(token("gamma", scope=scope)).call(method, where, body).status not in (401, 403)
    assert house.bearing(token("gamma", scope="")).call(method, where, body).status == 403


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_to_another_tenant_what_is_there_is_as_if_it_were_not(house, method, path, scope):
    """On every route, beta gets for acme's names what it gets for names that nobody has, to the byte."""
    if path == "/metrics":
        pytest.skip("the metrics of the whole service name nobody")
    newcomer = f"beta-{ROUTES.index((method, path, scope))}"  # who has nothing of his own yet
    beta, body = house.bearing(token(newcomer)), body_of(method, path)
    there = beta.call(method, filled(path, key=house.key), body)
    if ("{" in path and method in ("GET", "DELETE")) or "{key}" in path:
        absent = beta.call(method, filled(path, schedule_id="nobody", key="f" * 64), body)
        assert (there.status, there.body) == (absent.status, absent.body) and there.status == 404
    assert b"canary" not in there.body
    assert house.key.encode() not in there.body
    acme = house.bearing(token("acme")).get("/v1/schedules/own").json
    assert (acme["description"], acme["revision"], acme["paused"]) == ("canary-acme", 1, False)


def test_lists_pages_and_prefixes_stay_inside(house):
    beta = house.bearing(token("looker"))
    beta.put("/v1/schedules/mine", DEFINITION)
    for query in (
        "",
        "prefix=",
        "prefix=own",
        "prefix=../acme/",
        "page_token=",
        "page_token=zzz",
        "deleted=true",
    ):
        found = beta.get(f"/v1/schedules?{query}").json["schedules"]
        assert {each["id"] for each in found} <= {"mine"}
        assert "canary" not in json.dumps(found)
    for wrong in ("~~~", "../acme/", "acme/own", "%F0%9F%92%A9"):
        assert beta.get(f"/v1/schedules?page_token={wrong}").status == 422
    assert beta.get("/v1/schedules?page_token=%00").status == 400
    for name in (
        "acme/own",
        "acme%2Fown",
        "..%2Facme%2Fown",
        "%2e%2e/acme/own",
        "own%00",
        "ac%20me",
        "a" * 300,
        "own/",
    ):
        assert beta.get(f"/v1/schedules/{name}").status in (400, 404, 422)
    beta.call("DELETE", "/v1/schedules/mine")


def test_a_tenant_cannot_be_said_by_anything_but_the_token(house):
    beta = house.bearing(token("beta"))
    for headers in ({"X_Tenant": "acme"}, {"X_Tenant_Id": "acme"}, {"Tenant": "acme"}, {"X_Forwarded_User": "acme"}):
        assert beta.get("/v1/schedules/own", **headers).status == 404
    assert beta.get("/v1/schedules/own?tenant=acme").status == 404
    assert beta.put("/v1/schedules/x", {**DEFINITION, "tenant": "acme"}).status == 422


def test_the_same_name_and_request_of_two_tenants_are_two(house):
    acme, beta = house.bearing(token("acme")), house.bearing(token("beta"))
    made = [each.post("/v1/schedules", DEFINITION, Idempotency_Key="same").json["id"] for each in (acme, beta)]
    assert made[0] != made[1]
    beta.put("/v1/schedules/own", {**DEFINITION, "schedule": "1 1 * * *"})
    keys = [each.post("/v1/schedules/own/trigger", Idempotency_Key="once").json["key"] for each in (acme, beta)]
    assert keys[0] != keys[1]
    assert acme.get("/v1/schedules/own").json["schedule"] == "0 9 * * *"
    beta.call("DELETE", "/v1/schedules/own")
    assert acme.get("/v1/schedules/own").status == 200
    secrets = [each.get("/v1/webhook-secrets").json["secrets"] for each in (acme, beta)]
    assert secrets[0] != secrets[1]
    assert [SECRET] not in secrets


def test_the_workflow_of_another_is_not_started(house):
    asked = BODIES["/run-launcher/start"]
    assert house.bearing(token("beta")).post("/run-launcher/start", {**asked, "workflow_id": "wf"}).json == {
        "started": False
    }
    for name in ("acme/wf", "../acme/wf"):
        reply = house.bearing(token("beta")).post("/run-launcher/start", {**asked, "workflow_id": name})
        assert reply.json == {"started": False}


def test_quotas_are_each_tenants_own(tmp_path):
    with serving(**settings(tmp_path), max_schedules_per_tenant=2, max_triggers_per_minute=1) as service:
        acme, beta = service.bearing(token("acme")), service.bearing(token("beta"))
        assert [acme.put(f"/v1/schedules/{n}", DEFINITION).status for n in "abc"] == [200, 200, 429]
        assert [beta.put(f"/v1/schedules/{n}", DEFINITION).status for n in "abc"] == [200, 200, 429]
        assert [acme.post("/v1/schedules/a/trigger").status for _ in range(2)] == [202, 429]
        assert beta.post("/v1/schedules/a/trigger").status == 202


def test_who_changed_what_is_in_the_history_too(house):
    house.bearing(token("acme", sub="ada")).put("/v1/schedules/hist", DEFINITION)
    house.bearing(token("acme", sub="bob")).call("DELETE", "/v1/schedules/hist?note=done")
    changes = house.bearing(token("acme")).get("/v1/schedules/hist/history").json["changes"]
    assert [(c["action"], c["actor"], c["note"]) for c in changes] == [
        ("defined", "ada", ""),
        ("deleted", "bob", "done"),
    ]


def test_the_secret_and_tokens_are_in_no_answer_no_log_and_no_metric(house, capfd):
    acme = house.bearing(token("acme"))
    pages = [
        acme.get(path).body for path in ("/metrics", "/v1/schedules", "/openapi.json", "/v1/schedules/own", "/readyz")
    ]
    pages.append(acme.post("/v1/schedules", {"schedule": "x"}).body)
    pages.append((house.folder / "audit").read_bytes())
    out = capfd.readouterr()
    pages += [out.out.encode(), out.err.encode()]
    for page, word in itertools.product(pages, (SECRET, SECRET.removeprefix("whsec_"), token().split(".")[1][:40])):
        assert word.encode() not in page
