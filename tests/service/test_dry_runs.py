"""Dry runs of a pause and of a backfill: what they would do, and that nothing is written."""

import asyncio

import pytest

from kron.client import AsyncClient, Client
from tests.service.http import serving
from tests.service.tokens import settings, token

HOOK = "http://127.0.0.1:9/hook"
DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": HOOK}
RANGE = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2026-01-04T00:00:00Z"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(**settings(tmp_path_factory.mktemp("keys"))) as service:
        yield service


def all_of(service, name):
    paths = (f"/v1/schedules/{name}", f"/v1/schedules/{name}/history", f"/v1/schedules/{name}/runs")
    return [service.get(path).json for path in paths]


def test_dry_run_of_a_pause_lists_periods_and_writes_nothing(plain):
    plain.put("/v1/schedules/d1", DEFINITION)
    before = all_of(plain, "d1")
    coming = [run["period"] for run in plain.get("/v1/schedules/d1/upcoming?n=4").json["runs"]]
    told = plain.post("/v1/schedules/d1/pause?dry_run=true", {"until": coming[3].replace("09:00:00", "08:59:59")}).json
    assert [run["period"] for run in told["periods"]] == coming[:3]
    assert (told["first_after"]["period"], told["has_more"], told["resume"]) == (coming[3], False, "drop")
    endless = plain.post("/v1/schedules/d1/pause?dry_run=true", {}).json
    assert (len(endless["periods"]), endless["has_more"], endless["first_after"]) == (100, True, None)
    assert all_of(plain, "d1") == before
    assert plain.post("/v1/schedules/d1/pause", {}).json["paused"] is True


def test_dry_run_of_a_pause_is_refused_as_the_pause_would_be(plain):
    plain.put("/v1/schedules/d2", DEFINITION)
    path = "/v1/schedules/{}/pause?dry_run=true"
    assert plain.post(path.format("absent"), {}).status == 404
    assert plain.post(path.format("d2"), {"until": "2020-01-01T00:00:00Z"}).json["code"] == "PAST"
    assert plain.post(path.format("d2"), {}, If_Match='"7"').status == 412


def test_dry_run_of_a_backfill_says_which_periods_ran(plain):
    plain.put("/v1/schedules/d3", DEFINITION)
    path = "/v1/schedules/d3/backfill"
    first = plain.post(path + "?dry_run=true", RANGE)
    assert first.status == 200
    assert [(each["period"], each["ran"], each["outcome"]) for each in first.json["periods"]] == [
        (f"2026-01-0{day}T09:00:00Z", False, None) for day in (1, 2, 3)
    ]
    before = all_of(plain, "d3")
    assert before[2]["runs"] == []
    made = plain.post(path, {**RANGE, "end_at": "2026-01-02T00:00:00Z"})
    assert made.status == 202
    (run,) = made.json["runs"]
    again = plain.post(path + "?dry_run=true", RANGE).json
    assert [each["key"] for each in again["periods"]] == [run["key"], None, None]
    assert (again["periods"][0]["state"], again["ran"]) == ("pending", 0)
    too_long = plain.post(path + "?dry_run=true", {**RANGE, "end_at": "2036-01-01T00:00:00Z"})
    assert too_long.status == 422


def test_dry_runs_spend_no_quota_and_need_the_scope_of_the_act(tmp_path):
    with serving(**settings(tmp_path), max_triggers_per_minute=3) as service:
        acme = service.bearing(token("acme"))
        acme.put("/v1/schedules/own", DEFINITION)
        for _ in range(5):
            assert acme.post("/v1/schedules/own/backfill?dry_run=true", RANGE).status == 200
        assert acme.post("/v1/schedules/own/backfill", RANGE).status == 202, "the quota is still whole"
        assert acme.post("/v1/schedules/own/backfill", RANGE).status == 429
        assert acme.post("/v1/schedules/own/backfill?dry_run=true", RANGE).status == 200
        reader = service.bearing(token("acme", scope="schedules:read"))
        assert reader.post("/v1/schedules/own/backfill?dry_run=true", RANGE).status == 403
        assert reader.post("/v1/schedules/own/pause?dry_run=true", {}).status == 403
        beta = service.bearing(token("beta"))
        assert beta.post("/v1/schedules/own/backfill?dry_run=true", RANGE).status == 404
        assert beta.post("/v1/schedules/own/pause?dry_run=true", {}).status == 404


def test_both_clients_plan(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("gamma"))
    client.apply("own", DEFINITION)
    assert len(client.plan_pause("own")["periods"]) == 100
    assert len(client.plan_backfill("own", *RANGE.values())["periods"]) == 3
    assert client.get("own")["paused"] is False
    asynchronous = AsyncClient(f"http://127.0.0.1:{guarded.port}", token("gamma"))
    assert asyncio.run(asynchronous.plan_pause("own", until="2999-01-01T00:00:00Z"))["first_after"]
