"""Comparing a definition with the stored one: what would change, and that nothing is stored."""

import pytest

from kron.client import Client
from tests.service.http import serving
from tests.service.tokens import settings, token

HOOK = "http://127.0.0.1:9/hook"
DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": HOOK}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(**settings(tmp_path_factory.mktemp("keys"))) as service:
        yield service


def test_compare_names_added_moved_and_lost_runs_and_stores_nothing(plain):
    assert plain.put("/v1/schedules/c1", {**DEFINITION, "schedule": "0 9 * * MON"}).status == 200
    told = plain.post("/v1/schedules/c1/compare", DEFINITION).json
    assert 25 <= len(told["added"]) <= 27
    assert (told["moved"], told["lost"], told["revision"]) == ([], [], 1)
    assert told["changes"] == ["schedule: 0 9 * * MON -> 0 9 * * *"]
    back = plain.post("/v1/schedules/c1/compare", {**DEFINITION, "schedule": "0 10 * * MON"}).json
    assert len(back["added"]) == len(back["lost"])
    jittered = plain.post(
        "/v1/schedules/c1/compare", {**DEFINITION, "schedule": "0 9 * * MON", "jitter_ms": 60_000}
    ).json
    assert {run["period"] for run in jittered["moved"]} == {run["period"] for run in back["lost"]}
    assert plain.get("/v1/schedules/c1").json["revision"] == 1


def test_compare_with_nothing_adds_everything_up_to_the_end(plain):
    told = plain.post("/v1/schedules/c2/compare?until=2999-01-01T00:00:00Z", DEFINITION).json
    assert (len(told["added"]), told["revision"], told["changes"]) == (1_000, 0, [])
    assert told["until"] == told["added"][-1]["at"]
    assert plain.get("/v1/schedules/c2").status == 404
    never = plain.post("/v1/schedules/c2/compare", {**DEFINITION, "end_at": "2020-01-01T00:00:00Z"}).json
    assert never["added"] == []
    assert "ended at 2020" in never["reason"]


def test_compare_says_the_place_of_an_error(plain):
    reply = plain.post("/v1/schedules/c3/compare", {**DEFINITION, "schedule": "0 25 * * *"})
    assert (reply.status, reply.json["code"]) == (422, "OUT_OF_RANGE")


def test_another_tenant_compares_with_nothing(guarded):
    acme, beta = (guarded.bearing(token(name)) for name in ("acme", "beta"))
    acme.put("/v1/schedules/own", DEFINITION)
    assert acme.post("/v1/schedules/own/compare", DEFINITION).json["revision"] == 1
    told = beta.post("/v1/schedules/own/compare", DEFINITION).json
    assert told["revision"] == 0
    assert len(told["added"]) >= 29


def test_client_compares(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("gamma"))
    told = client.compare("new", DEFINITION, until="2999-01-01T00:00:00Z")
    assert len(told["added"]) == 1_000
